#include "controllers/policy/cycle/unused_hints.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace unused_hints_test {

using api::EvacuationPhase;
using base::minutes;
using controllers::placement::newest_unused_hint;

const base::TimePoint kNoon = *base::parse_time("2026-11-23T12:00:00Z");

enum class Hint { kUnused, kTaken, kNone, kRunning, kRunningTaken, kNobodyCame, kCancelled, kDryRun };

/// Returns an Evacuation of pod "<minute>" that ended at that minute.
api::Evacuation evacuation(Hint hint, int minute) {
  api::Evacuation made;
  made.meta.ns = "shop";
  made.spec.pod_ref.uid.value = std::to_string(minute);
  if (hint != Hint::kNone) made.spec.placement = api::PlacementHint{{"node-b"}};
  const bool runs = hint == Hint::kRunning || hint == Hint::kRunningTaken;
  made.status.phase = runs ? EvacuationPhase::kVerifying : EvacuationPhase::kSucceeded;
  if (!runs) made.status.finished_at = kNoon + minutes(minute);
  made.status.outcome.emplace();
  made.status.outcome->replacement = api::EvacuationReplacement{"web-2", "uid-2", {"node-c"}, {}};
  if (hint == Hint::kTaken || hint == Hint::kRunningTaken) made.status.placement = api::PlacedPod{"web-2", "uid-2"};
  if (hint == Hint::kNobodyCame) made.status.outcome->replacement.reset();
  if (hint == Hint::kDryRun) made.spec.dry_run = true;
  if (hint == Hint::kCancelled) {
    made.status.phase = EvacuationPhase::kCancelled;
    made.status.outcome.reset();
  }
  return made;
}

struct Case {
  const char* name;
  std::vector<Hint> hints;   ///< consecutive Evacuations end one minute apart
  std::vector<int> planned;  ///< end minutes of the Evacuations in the last plan
  std::optional<int> want;   ///< end minute
};

class UnusedHints : public testing::TestWithParam<Case> {};

TEST_P(UnusedHints, AreDistinguishedFromOthers) {
  std::vector<std::shared_ptr<const api::Evacuation>> all;
  for (const Hint each : GetParam().hints)
    all.push_back(std::make_shared<api::Evacuation>(evacuation(each, static_cast<int>(all.size()))));
  std::vector<api::PlannedMove> plan;
  for (const int each : GetParam().planned) {
    plan.push_back({.ns = "shop", .pod = "web", .uid = std::to_string(each), .hint = "Preferred"});
  }
  plan.push_back({.ns = "shop", .pod = "plain", .uid = "0"});  // a planned move without a hint
  const auto want = GetParam().want ? std::optional(kNoon + minutes(*GetParam().want)) : std::nullopt;
  EXPECT_EQ(newest_unused_hint(all, plan), want);
  std::ranges::reverse(all);
  EXPECT_EQ(newest_unused_hint(all, plan), want) << "in any order";
}

constexpr Hint kUnused = Hint::kUnused;
constexpr Hint kTaken = Hint::kTaken;

INSTANTIATE_TEST_SUITE_P(
    Cases, UnusedHints,
    testing::Values(
        Case{"Nothing", {}, {}, {}}, Case{"FiveInARow", {kUnused, kUnused, kUnused, kUnused, kUnused}, {}, 4},
        Case{"FourOfAnOldPlan", {kUnused, kUnused, kUnused, kUnused}, {}, {}},
        Case{"AllOfTheLastPlan", {kTaken, kUnused, kUnused}, {1, 2}, 2},
        Case{"ThePlanGoesOn", {kUnused, kUnused, Hint::kRunning}, {0, 1, 2}, {}},
        Case{"FiveThoughThePlanGoesOn", {kUnused, kUnused, kUnused, kUnused, kUnused, Hint::kRunning}, {0, 5}, 4},
        Case{"AnotherPlanGoesOn", {Hint::kRunning, kUnused}, {1}, 1},
        Case{"OneOfThePlanIsTaken", {kUnused, kTaken}, {0, 1}, {}},
        Case{"TheNewestIsTaken", {kUnused, kUnused, kUnused, kUnused, kUnused, kTaken}, {}, {}},
        Case{"TakenJustNow", {kUnused, kUnused, kUnused, kUnused, kUnused, Hint::kRunningTaken}, {}, {}},
        Case{"TakenBeforeThem", {kTaken, kUnused, kUnused, kUnused, kUnused, kUnused}, {}, 5},
        Case{"NoPodCame", {Hint::kNobodyCame, Hint::kNobodyCame, Hint::kCancelled}, {0, 1, 2}, {}},
        Case{"NoPodCameForOneOfThePlan", {Hint::kNobodyCame, kUnused}, {0, 1}, 1},
        Case{"WithoutHints", {Hint::kNone, Hint::kNone, Hint::kNone, Hint::kNone, Hint::kNone}, {}, {}},
        Case{"DryRuns", {Hint::kDryRun, Hint::kDryRun, Hint::kDryRun, Hint::kDryRun, Hint::kDryRun}, {0}, {}}),
    [](const auto& test) { return test.param.name; });

class RestingHintsTest : public testing::Test {
 protected:
  void look(Hint hint, int ended, base::TimePoint now) {
    resting.look("uid", {std::make_shared<api::Evacuation>(evacuation(hint, ended))},
                 {{.ns = "shop", .uid = std::to_string(ended), .hint = "Preferred"}}, now);
  }
  bool rest(base::TimePoint now) const { return !resting.why("uid", now).empty(); }

  controllers::placement::HintBackoff resting;
};

TEST_F(RestingHintsTest, RestForAnHourAndAreThenTriedAgain) {
  look(kUnused, 0, kNoon);
  EXPECT_THAT(resting.why("uid", kNoon), testing::HasSubstr("do not rely on hints until 2026-11-23T13:00:00Z"));
  EXPECT_EQ(resting.why("another", kNoon), "");
  EXPECT_TRUE(rest(kNoon + minutes(59)));
  look(kUnused, 0, kNoon + minutes(61));
  EXPECT_FALSE(rest(kNoon + minutes(61))) << "the old ones prove nothing any more";
  look(kUnused, 70, kNoon + minutes(70));
  EXPECT_TRUE(rest(kNoon + minutes(129)));
}

TEST_F(RestingHintsTest, RestThoughTheEvacuationsAreDeletedBefore) {
  look(kUnused, 0, kNoon);
  resting.look("uid", {}, {}, kNoon + minutes(5));
  EXPECT_TRUE(rest(kNoon + minutes(5)));
  resting.forget("uid");
  EXPECT_FALSE(rest(kNoon + minutes(5)));
}

TEST_F(RestingHintsTest, DoNotRestForDaysBecauseAClockWasWrong) {
  look(kUnused, 60 * 24 * 7, kNoon);
  EXPECT_FALSE(rest(kNoon + minutes(61)));
}

}  // namespace unused_hints_test
