#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include "test/unit/controllers/evacuation/phases/decide_fixture.hpp"

/// decide() in phases Evicting and Verifying.
namespace evacuation_evicting_test {

using namespace evacuation_decide_fixture;

TEST(DecideEvicting, IgnoresAGrantWithoutDeletion) {
  Life life = posted();
  for (int i = 1; i <= 3; ++i) {
    life.answer(201);
    ASSERT_EQ(life.phase(), Phase::kEvicting);
    life.advance(seconds(30));
    life.tick();
    EXPECT_EQ(life.status().granted_without_delete, i);
    EXPECT_EQ(life.action(), i < 3 ? "PostEviction" : "");
  }
  EXPECT_EQ(life.phase(), Phase::kFailed);
  EXPECT_EQ(life.status().reason, "BlockedTimeout");
}

TEST(DecideEvicting, NamesTheFinalizersThatHoldThePod) {
  Life life = posted();
  api::Pod pod = make_pod();
  pod.meta.finalizers = {"example.com/backup"};
  pod.meta.deletion_timestamp = life.now;
  life.set_pod(pod);
  life.answer(201);
  life.advance(seconds(150));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kFailed);
  EXPECT_EQ(life.status().reason, "TerminationTimeout");
  EXPECT_EQ(life.condition_reason("TargetGone"), "TerminationStuck");
  EXPECT_NE(life.condition("TargetGone")->message.find("example.com/backup"), std::string::npos);
}

TEST(DecideEvicting, NamesTheNodeOfADeadKubelet) {
  Life life = posted();
  life.answer(201);
  life.pod_terminates();
  life.tick();
  life.advance(seconds(150));
  life.tick();
  EXPECT_EQ(life.status().reason, "TerminationTimeout");
  EXPECT_NE(life.status().message.find("node-a"), std::string::npos);
}

TEST(DecideEvicting, RefusesACancelOnceAndForAll) {
  Life life = posted();
  life.answer(201);
  life.cancel();
  life.tick();
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kEvicting);
  EXPECT_EQ(std::count(life.events.begin(), life.events.end(), "CancelRefused"), 1);
}

TEST(DecideEvicting, GivesAnExpiredDeadlineAGraceAfterALeaderChange) {
  Life life = posted();
  life.answer(201);
  life.pod_terminates();
  life.tick();
  life.advance(seconds(1000));
  life.seen.resumed_at = life.now;
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kEvicting);
  life.advance(seconds(30));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kFailed);
}

Life verifying(std::function<void(Life&)> before = {}) {
  Life life = posted();
  if (before) before(life);
  life.answer(201);
  life.advance(seconds(1));
  life.pod_vanishes();
  life.tick();
  return life;
}

TEST(DecideVerifying, ExpectsNoReplacementOfABarePod) {
  Life life;
  api::Pod pod = make_pod();
  pod.meta.owner_references.clear();
  life.set_pod(pod);
  life.tick();
  life.answer(201);
  life.pod_vanishes();
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kSucceeded);
  EXPECT_EQ(life.condition_reason("ReplacementReady"), "NotExpected");
}

TEST(DecideVerifying, ExpectsNoneWhenTheWorkloadWasScaledDown) {
  Life life = verifying();
  api::Pod other = make_pod({}, "older", "web-0");
  life.seen.siblings = {{std::make_shared<const api::Pod>(other), false}};
  life.seen.desired_replicas = 1;
  life.tick();
  EXPECT_EQ(life.condition_reason("ReplacementReady"), "NotExpected");
  EXPECT_EQ(life.phase(), Phase::kSucceeded);
}

TEST(DecideVerifying, DoesNotCountOlderOrClaimedPods) {
  Life life = verifying();
  api::Pod older = make_pod({}, "older", "web-0");
  api::Pod claimed = make_pod({}, "claimed", "web-3");
  claimed.meta.creation_timestamp = life.now;
  life.seen.siblings = {{std::make_shared<const api::Pod>(older), false},
                        {std::make_shared<const api::Pod>(claimed), true}};
  life.seen.desired_replicas = 3;
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kVerifying);
}

TEST(DecideVerifying, DoesNotCountTheLeavingPodThatALaggingCacheStillShows) {
  Life life = verifying();
  life.seen.siblings = {{std::make_shared<const api::Pod>(make_pod()), false},
                        {std::make_shared<const api::Pod>(make_pod({}, "older", "web-0")), false}};
  life.seen.desired_replicas = 2;
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kVerifying) << life.status().message;
  EXPECT_EQ(life.condition_reason("ReplacementReady"), "Waiting");
}

struct SkewCase {
  const char* name;
  seconds server_behind;  ///< operator's clock minus the API server's clock
  std::optional<std::int64_t> grace;
  bool owner_deletes;
};
class SkewedClocks : public testing::TestWithParam<SkewCase> {};

TEST_P(SkewedClocks, StillFindTheReplacement) {
  Life life = posted();
  const auto& c = GetParam();
  const base::TimePoint server_now = life.now - c.server_behind;
  life.spec().grace_period_seconds = c.grace;
  if (!c.owner_deletes) life.answer(201);
  api::Pod pod = make_pod();
  pod.meta.deletion_timestamp = server_now + seconds(c.grace.value_or(30));
  life.set_pod(pod);
  life.tick();
  ASSERT_EQ(life.phase(), Phase::kEvicting);
  life.pod_vanishes();
  life.replacement(true);
  api::Pod replacement = *life.seen.siblings[0].pod;
  replacement.meta.creation_timestamp = server_now;
  life.seen.siblings[0].pod = std::make_shared<const api::Pod>(replacement);
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kSucceeded);
  ASSERT_TRUE(life.status().outcome->replacement);
  EXPECT_EQ(life.status().outcome->replacement->uid, "new-uid");
}
INSTANTIATE_TEST_SUITE_P(DecideVerifying, SkewedClocks,
                         testing::Values(SkewCase{"Equal", seconds(0), {}, false},
                                         SkewCase{"ServerBehind", seconds(5), {}, false},
                                         SkewCase{"ServerTenMinutesBehind", seconds(600), {}, false},
                                         SkewCase{"ServerBehindWithAGraceOfOurs", seconds(5), 3600, false},
                                         SkewCase{"ServerAhead", seconds(-600), {}, false},
                                         SkewCase{"ServerBehindAndTheAnswerLost", seconds(60), {}, true}),
                         [](const auto& test) { return test.param.name; });

TEST(DecideVerifying, RefusesACancelOnce) {
  Life life = verifying();
  ASSERT_EQ(life.phase(), Phase::kVerifying);
  life.cancel();
  life.tick();
  life.advance(seconds(1));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kVerifying);
  EXPECT_EQ(life.condition_reason("CancelAccepted"), "PointOfNoReturn");
  EXPECT_EQ(std::count(life.events.begin(), life.events.end(), "CancelRefused"), 1);
}

TEST(DecideVerifying, SaysWhenTheReplacementIsBackOnTheSameNode) {
  Life life = verifying();
  life.replacement(true, "node-a");
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kSucceeded);
  EXPECT_EQ(life.condition_reason("ReplacementReady"), "SameNode");
}

TEST(DecideVerifying, FailsAReplacementOnANodeThatIsEmptiedAsWell) {
  Life life = verifying();
  life.seen.emptied_nodes = {"node-a", "node-b"};
  life.replacement(true, "node-b");
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kSucceeded) << "the pod has left";
  EXPECT_EQ(life.condition_reason("ReplacementReady"), "SameNode");
  EXPECT_EQ(life.condition("ReplacementReady")->message, "web-2 on node node-b, which is to be emptied as well");
}

// An extender leaves no mark on a pod, so only the node shows that the hint was used.
TEST(DecideVerifying, ANewPodOnTheHintedNodeTookTheHintOfAnExtender) {
  for (const bool extender : {true, false}) {
    Life life = verifying();
    life.spec().placement = api::PlacementHint{.node_name = {"node-b"}};
    life.seen.rules.extender_serves_hints = extender;
    life.replacement(true, "node-b");
    life.tick();
    EXPECT_EQ(life.phase(), Phase::kSucceeded);
    EXPECT_EQ(life.condition_reason("PlacementHinted"), extender ? "HintTaken" : "HintUnused");
    EXPECT_EQ(life.status().placement.has_value(), extender);
  }
}

TEST(DecideVerifying, OthersTookNoHintOfAnExtender) {
  Life life = verifying();
  life.spec().placement = api::PlacementHint{.node_name = {"node-b"}};
  life.seen.rules.extender_serves_hints = true;
  life.replacement(true, "node-b", "claimed-uid");
  controllers::evacuation::Sibling claimed = life.seen.siblings[0];
  claimed.claimed = true;
  life.replacement(true, "node-c");
  life.seen.siblings.push_back(claimed);
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kSucceeded);
  EXPECT_EQ(life.status().outcome->replacement->uid, "new-uid");
  EXPECT_EQ(life.condition_reason("PlacementHinted"), "HintUnused");
}

TEST(DecideVerifying, SucceedsWithoutAReplacementUnlessOneIsRequired) {
  Life life = verifying();
  life.advance(seconds(600));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kSucceeded);
  EXPECT_EQ(life.condition_reason("ReplacementReady"), "ReplacementTimeout");

  Life strict = verifying([](Life& l) { l.spec().require_replacement = true; });
  strict.advance(seconds(600));
  strict.tick();
  EXPECT_EQ(strict.phase(), Phase::kFailed);
  EXPECT_EQ(strict.status().reason, "ReplacementTimeout");
}

TEST(DecideVerifying, TakesATerminalPodAsGone) {
  Life life = posted();
  life.answer(201);
  api::Pod pod = make_pod();
  pod.phase = api::PodPhase::kSucceeded;
  life.set_pod(pod);
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kVerifying);
  EXPECT_EQ(life.condition_reason("TargetGone"), "PodTerminal");
}

}  // namespace evacuation_evicting_test
