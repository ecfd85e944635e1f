#include "cmd/drain/progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/session/io.hpp"
#include "test/builders/cluster.hpp"

namespace cmd::plugin {
namespace plugin_progress_test {

using api::EvacuationPhase;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

api::Evacuation evacuation(const std::string& name, EvacuationPhase phase) {
  api::Evacuation made;
  made.meta.ns = "shop";
  made.meta.name = name;
  made.meta.creation_timestamp = builders::kNoon;
  made.spec.pod_ref = {name, {"uid-" + name}};
  made.status.phase = phase;
  made.status.observed_generation = 1;
  return made;
}

api::Evacuation blocked(const std::string& name) {
  api::Evacuation made = evacuation(name, EvacuationPhase::kRequesting);
  made.status.blocked_by.resize(1);
  made.status.blocked_by[0] = {"PodDisruptionBudget", "api", "", 0, 3, 3, {}};
  return made;
}

api::Evacuation suspended(const std::string& name) {
  api::Evacuation made = evacuation(name, EvacuationPhase::kPending);
  made.spec.suspend = true;
  return made;
}

struct StandingCase {
  const char* name;
  api::Evacuation evacuation;
  PodProgress want;
};
void PrintTo(const StandingCase& c, std::ostream* out) { *out << c.name; }
class StandingTest : public testing::TestWithParam<StandingCase> {};

TEST_P(StandingTest, IsOneWord) { EXPECT_EQ(progress_state_of(GetParam().evacuation), GetParam().want); }

INSTANTIATE_TEST_SUITE_P(
    Evacuation, StandingTest,
    testing::Values(
        StandingCase{"QueuedIsWaiting", evacuation("a", EvacuationPhase::kPending), PodProgress::kWaiting},
        StandingCase{"UnapprovedIsSuspended", suspended("a"), PodProgress::kSuspended},
        StandingCase{"BetweenAttemptsIsWaiting", evacuation("a", EvacuationPhase::kBackoff), PodProgress::kWaiting},
        StandingCase{"BlockedIsWaiting", blocked("a"), PodProgress::kWaiting},
        StandingCase{"RequestingIsMoving", evacuation("a", EvacuationPhase::kRequesting), PodProgress::kMoving},
        StandingCase{"VerifyingIsMoving", evacuation("a", EvacuationPhase::kVerifying), PodProgress::kMoving},
        StandingCase{"SucceededIsGone", evacuation("a", EvacuationPhase::kSucceeded), PodProgress::kGone},
        StandingCase{"FailedIsFailed", evacuation("a", EvacuationPhase::kFailed), PodProgress::kFailed},
        StandingCase{"CancelledIsCancelled", evacuation("a", EvacuationPhase::kCancelled), PodProgress::kCancelled}),
    [](const auto& test) { return test.param.name; });

TEST(Progress, CountsAndGroupsBlockers) {
  const Progress progress =
      progress_of({evacuation("a", EvacuationPhase::kSucceeded), evacuation("b", EvacuationPhase::kEvicting),
                   blocked("c"), blocked("d"), suspended("e"), evacuation("f", EvacuationPhase::kFailed)});
  EXPECT_EQ(summary(progress), "1 of 6 pods gone, 1 moving, 2 waiting, 1 waiting for approval, 1 failed");
  EXPECT_THAT(progress.blockers, ElementsAre(SharedBlocker{"PDB api (needs 3, has 3)", 2}));
  EXPECT_FALSE(progress.settled());
}

TEST(Progress, IsSettledWhenNothingMovesAnyMore) {
  const Progress mixed =
      progress_of({evacuation("a", EvacuationPhase::kSucceeded), evacuation("b", EvacuationPhase::kCancelled)});
  EXPECT_TRUE(mixed.settled());
  EXPECT_FALSE(mixed.all_gone());
  EXPECT_TRUE(progress_of({}).all_gone());
}

TEST(NewestPerPod, PrefersTheUnfinishedThenTheYounger) {
  api::Evacuation failed = evacuation("web", EvacuationPhase::kFailed);
  api::Evacuation again = evacuation("web-2", EvacuationPhase::kPending);
  again.spec.pod_ref = failed.spec.pod_ref;
  again.meta.creation_timestamp = failed.meta.creation_timestamp - base::seconds(1);
  const auto one = newest_per_pod({again, failed});
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].meta.name, "web-2");
  again.status.phase = EvacuationPhase::kCancelled;
  EXPECT_EQ(newest_per_pod({again, failed})[0].meta.name, "web");
}

TEST(SortForPeople, PutsRunningAndFailedFirstAndKeepsTheOrderOfTheQueue) {
  api::Evacuation early = evacuation("z-early", EvacuationPhase::kPending);
  early.spec.priority = 1000;
  std::vector<api::Evacuation> all = {
      evacuation("gone", EvacuationPhase::kSucceeded), evacuation("a-late", EvacuationPhase::kPending), early,
      evacuation("failed", EvacuationPhase::kFailed), evacuation("moving", EvacuationPhase::kEvicting)};
  sort_for_display(all);
  std::vector<std::string> names;
  for (const auto& each : all) names.push_back(each.meta.name);
  EXPECT_THAT(names, ElementsAre("moving", "failed", "z-early", "a-late", "gone"));
}

TEST(Detail, ReportsWhatItWaitsFor) {
  EXPECT_EQ(detail_of(suspended("a")), "waits for approval");
  EXPECT_EQ(detail_of(blocked("a")), "PDB api (needs 3, has 3)");
  api::Evacuation unseen = evacuation("a", EvacuationPhase::kPending);
  unseen.status.observed_generation = 0;
  EXPECT_EQ(detail_of(unseen), "not yet seen by the operator");
  api::Evacuation failed = evacuation("a", EvacuationPhase::kFailed);
  failed.status.message = "all attempts are used up";
  EXPECT_EQ(detail_of(failed), "all attempts are used up");
}

TEST(EvacuationTable, IsAlignedWithAndWithoutColours) {
  const auto rows = std::vector{evacuation("web-1", EvacuationPhase::kSucceeded), blocked("api-0")};
  const std::string plain = evacuation_table(rows, true, builders::kNoon + base::seconds(5), false);
  const std::string coloured = evacuation_table(rows, true, builders::kNoon + base::seconds(5), true);
  EXPECT_THAT(plain, HasSubstr("shop        web-1"));
  EXPECT_THAT(plain, Not(HasSubstr("\033")));
  EXPECT_THAT(coloured, HasSubstr("\033[32mSucceeded\033[0m"));
  // Without its escape sequences the colored table equals the plain one.
  std::string stripped;
  for (std::size_t i = 0; i < coloured.size(); ++i) {
    if (coloured[i] == '\033')
      i = coloured.find('m', i);
    else
      stripped += coloured[i];
  }
  EXPECT_EQ(stripped, plain);
}

TEST(Clip, CutsByColumnsNotBytes) {
  EXPECT_EQ(clip("hello", 3), "hel");
  EXPECT_EQ(clip("\u2588\u2588\u2588", 2), "\u2588\u2588");
  EXPECT_EQ(clip("\033[32mgreen\033[0m!", 3), "\033[32mgre\033[0m");
  EXPECT_EQ(clip("ok", 80), "ok");
}

}  // namespace plugin_progress_test
}  // namespace cmd::plugin
