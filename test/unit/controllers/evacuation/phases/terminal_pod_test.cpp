#include <gtest/gtest.h>

#include "test/builders/origin.hpp"
#include "test/unit/controllers/evacuation/phases/life.hpp"

/// Evacuations of pods in phase Succeeded or Failed end at once, without a handoff.
namespace evacuation_ended_pod_test {

using namespace evacuation_test;
using base::seconds;
using Phase = EvacuationPhase;

struct EndedCase {
  const char* name;
  const char* policy;                        ///< empty for a manual Evacuation
  std::optional<base::seconds> ended_after;  ///< relative to the Evacuation's creation; nullopt if the pod does not
                                             ///< contain the time
  Annotations annotations;
  std::vector<std::string> evictors;
  bool removed;  ///< true if an eviction removed the pod, false if it counts as gone
};

class TerminalPod : public testing::TestWithParam<EndedCase> {};

Life ended(const EndedCase& c) {
  api::Pod pod = make_pod(c.annotations);
  pod.phase = api::PodPhase::kFailed;
  if (c.ended_after) {
    api::ContainerStatus container;
    container.name = "main";
    container.finished_at = kNoon + *c.ended_after;
    pod.container_statuses = {container};
  }
  Life life(make_evacuation(), std::move(pod));
  builders::set_policy(life.seen.evacuation, c.policy);
  for (const auto& name : c.evictors) life.spec().evictors.push_back({name, {}});
  return life;
}

TEST_P(TerminalPod, EndsAtOnce) {
  Life life = ended(GetParam());
  life.tick();
  if (!GetParam().removed) {
    EXPECT_EQ(life.phase(), Phase::kCancelled);
    EXPECT_EQ(life.status().reason, "TargetGone");
    EXPECT_EQ(life.condition_reason("TargetGone"), "PodTerminal");
    EXPECT_NE(life.status().message.find("has terminated (Failed)"), std::string::npos) << life.status().message;
    return;
  }
  EXPECT_EQ(life.action(), "PostEviction");
  EXPECT_EQ(life.status().evictor, "eviction-api");
  EXPECT_EQ(life.status().adapter, "terminal-pod");
  life.answer(201);
  EXPECT_EQ(life.phase(), Phase::kEvicting);
  life.pod_vanishes();
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kSucceeded) << "no replacement is waited for";
  EXPECT_EQ(life.status().reason, "Evicted");
  EXPECT_EQ(life.status().message, "the terminal pod was removed");
}

INSTANTIATE_TEST_SUITE_P(
    Pods, TerminalPod,
    testing::Values(
        EndedCase{"OfAPerson", "", -seconds(60), {}, {}, false},
        EndedCase{"OfAPolicyThatNominatedItEnded", "old-jobs", -seconds(60), {}, {}, true},
        EndedCase{"OfAPolicyAndSilentAboutItsEnd", "old-jobs", std::nullopt, {}, {}, true},
        EndedCase{"OfAPolicyThatNominatedItRunning", "old-jobs", seconds(1), {}, {}, false},
        EndedCase{"ThatWouldHaveRequiredAHandoff", "old-jobs", -seconds(60), {handoff("mode", "required")}, {}, true},
        EndedCase{"WithAChainOfHandoffsOnly",
                  "old-jobs",
                  -seconds(60),
                  {handoff("mode", "required")},
                  {"annotation", "stateful-handoff"},
                  true}),
    [](const auto& test) { return test.param.name; });

TEST(TerminalPodRetry, GoesOnAfterABlockedAttempt) {
  Life life = ended({"", "old-jobs", -seconds(60), {}, {}, true});
  life.spec().timeouts.blocked = seconds(0);
  life.tick();
  life.answer(429, pdb_body());
  EXPECT_EQ(life.phase(), Phase::kBackoff);
  life.advance(seconds(3600));
  life.spec().timeouts.decision_ttl = seconds(7200);
  life.tick();
  EXPECT_EQ(life.action(), "PostEviction");
  EXPECT_EQ(life.status().attempt, 2);
  life.answer(201);
  life.pod_vanishes();
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kSucceeded);
}

TEST(TerminalPodInTheMiddle, HasLeftOnceItEnds) {
  Life life(make_evacuation(), make_pod({handoff("mode", "required")}));
  builders::set_policy(life.seen.evacuation, "balance");
  life.tick();
  ASSERT_EQ(life.action(), "RequestMigrate");
  life.accept_patch();
  api::Pod pod = *life.seen.pod;
  pod.phase = api::PodPhase::kSucceeded;
  life.set_pod(std::move(pod));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kVerifying);
  EXPECT_EQ(life.condition_reason("TargetGone"), "PodTerminal");
}

}  // namespace evacuation_ended_pod_test
