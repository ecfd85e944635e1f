#include <gtest/gtest.h>

#include <functional>

#include "test/unit/controllers/evacuation/phases/decide_fixture.hpp"

/// decide() from Pending to the end, and what counts in each phase.
namespace evacuation_decide_test {

using namespace evacuation_decide_fixture;

TEST(Decide, RunsFromPendingToSucceeded) {
  Life life;
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kRequesting);
  EXPECT_EQ(life.action(), "PostEviction");
  EXPECT_EQ(life.status().token, "e5b3.1");
  EXPECT_EQ(life.status().evictor, "eviction-api");
  EXPECT_EQ(life.status().workload_group, "rs-uid");
  ASSERT_TRUE(life.status().intent);
  EXPECT_FALSE(life.status().intent->resolved);
  EXPECT_EQ(life.status().intent->pre_state, "podResourceVersion=41");

  life.answer(201);
  EXPECT_EQ(life.phase(), Phase::kEvicting);
  EXPECT_EQ(life.last.requeue, kube::Requeue::in(seconds(30)));
  life.pod_terminates();
  life.tick();
  EXPECT_EQ(life.status().deadline, life.now + seconds(150));

  life.advance(seconds(5));
  life.pod_vanishes();
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kVerifying);
  EXPECT_EQ(life.condition_reason("TargetGone"), "PodDeleted");

  life.replacement(false);
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kVerifying);
  life.replacement(true);
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kSucceeded);
  EXPECT_EQ(life.status().reason, "Evicted");
  EXPECT_EQ(life.status().outcome->replacement->node.value, "node-b");
  EXPECT_EQ(life.condition_reason("ReplacementReady"), "Ready");
  EXPECT_TRUE(api::is_true(life.status().conditions, "Complete"));
  EXPECT_TRUE(life.seen.evacuation.meta.finalizers.empty());
}

TEST(Decide, KeepsTheFinalizerFromAdmissionToTheEnd) {
  Life life = posted();
  EXPECT_EQ(life.seen.evacuation.meta.finalizers, (std::vector<std::string>{"evacuator.dev/evacuation"}));
}

TEST(Decide, RemovesItselfAfterItsTimeToLive) {
  Life life = posted();
  life.spec().ttl_after_finished = seconds(60);
  life.pod_vanishes();
  life.answer(404, status_body(404, "pods web-1 not found"));
  life.replacement(true);
  life.tick();
  ASSERT_EQ(life.phase(), Phase::kSucceeded);
  EXPECT_FALSE(life.last.remove_object);
  EXPECT_EQ(life.last.requeue, kube::Requeue::in(seconds(60)));
  life.advance(seconds(60));
  life.tick();
  EXPECT_TRUE(life.last.remove_object);
}

struct UnreadableCase {
  const char* name;
  std::function<void(Life&)> reach;  ///< reaches `phase` from Requesting with its answer pending
  Phase phase;
  Phase end;
  const char* reason;
  const char* finally = "";  ///< call that is made before the end, empty if none
};
class UnreadableSpec : public testing::TestWithParam<UnreadableCase> {};

TEST_P(UnreadableSpec, EndsInEachPhase) {
  const auto& c = GetParam();
  Life life = posted();
  c.reach(life);
  ASSERT_EQ(life.phase(), c.phase);
  life.seen.spec_problem = "spec.surprise: unknown field";
  life.tick();
  EXPECT_EQ(life.phase(), c.end);
  EXPECT_EQ(life.status().reason, c.reason) << life.status().message;
  EXPECT_EQ(life.action(), c.finally);
  if (!api::is_terminal(c.end)) return;
  EXPECT_NE(life.status().message.find("spec.surprise"), std::string::npos) << life.status().message;
  EXPECT_TRUE(life.seen.evacuation.meta.finalizers.empty());
}
void block(Life& life) { life.answer(429, pdb_body()); }
void back_off(Life& life) {
  block(life);
  life.advance(seconds(900));
  life.tick();
}
INSTANTIATE_TEST_SUITE_P(
    Decide, UnreadableSpec,
    testing::Values(UnreadableCase{"Requesting", block, Phase::kRequesting, Phase::kFailed, "InvalidSpec"},
                    UnreadableCase{"WhileTheAnswerIsOpen", [](Life& l) { l.lose_answer(); }, Phase::kRequesting,
                                   Phase::kRequesting, "Prepared"},
                    UnreadableCase{"Backoff", back_off, Phase::kBackoff, Phase::kFailed, "InvalidSpec"},
                    UnreadableCase{"CancelledInBackoff",
                                   [](Life& l) {
                                     back_off(l);
                                     l.spec().cancel = {true, "spec.surprise"};
                                   },
                                   Phase::kBackoff, Phase::kCancelled, "UserCancelled"},
                    UnreadableCase{"Evicting", [](Life& l) { l.answer(201); }, Phase::kEvicting, Phase::kEvicting,
                                   "EvictionGranted"},
                    UnreadableCase{"EvictingNobodyKnowsWhichPod",
                                   [](Life& l) {
                                     l.answer(201);
                                     l.spec().pod_ref = {};
                                   },
                                   Phase::kEvicting, Phase::kFailed, "InvalidSpec"}),
    [](const auto& test) { return test.param.name; });

// --- events

TEST(DecideEvents, APlainEvictionReportsOnlyItsEnd) {
  Life life = posted();
  life.answer(201);
  life.pod_terminates();
  life.tick();
  life.pod_vanishes();
  life.tick();
  life.replacement(true);
  life.tick();
  EXPECT_EQ(life.events, std::vector<std::string>{"Evicted"});
}

TEST(DecideEvents, APlainEvictionReportsItsBlocker) {
  Life life = posted();
  life.answer(429, pdb_body());
  EXPECT_EQ(life.events, std::vector<std::string>{"EvictionBlocked"});
}

// --- dry run

TEST(DecideDryRun, SendsADryRunAndEnds) {
  auto evacuation = make_evacuation();
  evacuation.spec.dry_run = true;
  Life life = posted(evacuation);
  EXPECT_EQ(life.last.action->request.query, "dryRun=All");
  life.answer(201);
  EXPECT_EQ(life.phase(), Phase::kSucceeded);
  EXPECT_EQ(life.status().reason, "DryRun");
  EXPECT_FALSE(life.status().request_sent_at);
}

TEST(DecideDryRun, DoesNotCountAsTheMoverOfAPodThatLeft) {
  for (const bool lost : {false, true}) {
    auto evacuation = make_evacuation();
    evacuation.spec.dry_run = true;
    Life life = posted(evacuation);
    if (lost) {
      life.lose_answer();
    } else {
      life.answer(429, pdb_body());
    }
    ASSERT_EQ(life.phase(), Phase::kRequesting);
    life.pod_terminates();
    life.tick();
    EXPECT_EQ(life.phase(), Phase::kCancelled);
    EXPECT_EQ(life.status().reason, "TargetGone");
    EXPECT_EQ(life.condition_reason("SlotAcquired"), "Released");
    EXPECT_EQ(life.status().outcome->kind, api::OutcomeKind::kTargetGone);
  }
}

// --- evictors

TEST(DecideEvictor, UsesTheFirstAvailableEvictor) {
  auto evacuation = make_evacuation();
  evacuation.spec.evictors = {{"annotation", {}}, {"eviction-api", {}}};
  Life life = posted(evacuation);
  EXPECT_EQ(life.status().evictor, "eviction-api");
  EXPECT_EQ(life.status().evictor_index, 1);
}

TEST(DecideEvictor, ReportsWhyNoEvictorIsAvailable) {
  auto evacuation = make_evacuation();
  evacuation.spec.evictors = {{"annotation", {}}};
  Life life(evacuation);
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kFailed);
  EXPECT_EQ(life.status().reason, "NotEvictable");
  EXPECT_NE(life.status().message.find("handoff.evacuator.dev/mode"), std::string::npos);
}

TEST(DecideEvictor, NeverEvictsARequiredHandoffWithoutAHandoff) {
  auto evacuation = make_evacuation();
  evacuation.spec.evictors = {{"eviction-api", {}}};
  Life life(evacuation, make_pod({handoff("mode", "required")}));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kFailed);
  EXPECT_EQ(life.action(), "");
}

TEST(DecideEvictor, EndsWhenThisVersionDoesNotKnowTheEvictor) {
  Life life = posted();
  life.status().evictor = "teleport";
  life.crash_before_answer(false);
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kFailed);
  EXPECT_NE(life.status().message.find("teleport"), std::string::npos);
}

TEST(DecideHistory, KeepsTheFirstTwoAndTheNewestEighteen) {
  auto evacuation = make_evacuation();
  evacuation.spec.retry.max_attempts = 20;
  evacuation.spec.timeouts.blocked = seconds(1);
  Life life(evacuation);
  life.tick();
  for (int i = 0; i < 12; ++i) {
    ASSERT_EQ(life.action(), "PostEviction");
    life.answer(429, pdb_body());
    life.advance(seconds(1));
    life.tick();
    ASSERT_EQ(life.phase(), Phase::kBackoff);
    life.advance(*life.last.requeue.after);
    life.tick();
  }
  const auto& history = life.status().history;
  ASSERT_EQ(history.size(), 20u);
  EXPECT_EQ(history[0].from, "Pending");
  EXPECT_EQ(history[0].attempt, 1);
  EXPECT_GT(history[2].attempt, 2);
  EXPECT_EQ(history.back().actor, "me");
}

}  // namespace evacuation_decide_test
