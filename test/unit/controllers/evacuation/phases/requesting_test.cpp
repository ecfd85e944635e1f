#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "test/unit/controllers/evacuation/phases/decide_fixture.hpp"

/// decide() in phase Requesting: budgets, every class of answer, and what follows a lost one.
namespace evacuation_requesting_test {

using namespace evacuation_decide_fixture;

TEST(DecideRequesting, NamesTheBudgetWithItsNumbers) {
  Life life = posted();
  auto pdb = std::make_shared<api::PodDisruptionBudget>();
  pdb->meta.name = "web";
  pdb->disruptions_allowed = 0;
  life.seen.pdbs = {pdb};
  life.answer(429, pdb_body());
  EXPECT_EQ(life.phase(), Phase::kRequesting);
  EXPECT_EQ(life.action(), "");
  ASSERT_EQ(life.status().blocked_by.size(), 1u);
  const auto& blocker = life.status().blocked_by[0];
  EXPECT_EQ(blocker.kind, "PodDisruptionBudget");
  EXPECT_EQ(blocker.name, "web");
  EXPECT_EQ(blocker.disruptions_allowed, 0);
  EXPECT_EQ(blocker.current_healthy, 3);
  EXPECT_EQ(blocker.desired_healthy, 3);
  EXPECT_EQ(life.condition_reason("Progressing"), "PDBBlocked");
  EXPECT_EQ(life.condition_reason("EvictionGranted"), "PDBBlocked");
  EXPECT_EQ(life.status().last_response->code, 429);
  EXPECT_TRUE(life.status().intent->resolved);
}

TEST(DecideRequesting, ReportsTheBlockInReasonAndMessage) {
  Life life = posted();
  EXPECT_EQ(life.status().reason, "Prepared");
  life.answer(429, pdb_body());
  EXPECT_EQ(life.status().reason, "PDBBlocked");
  EXPECT_EQ(life.status().message, "The disruption budget web needs 3 healthy pods and has 3 currently");
  EXPECT_EQ(life.status().history.back().reason, "Prepared") << "no transition";
  life.advance(*life.last.requeue.after);
  life.tick();
  EXPECT_EQ(life.status().reason, "PDBBlocked") << "until something else is known";
  life.answer(201);
  EXPECT_EQ(life.phase(), Phase::kEvicting);
  EXPECT_EQ(life.status().reason, "EvictionGranted");
}

TEST(DecideRequesting, NamesABudgetThatCountsOnPodsThatHaveEnded) {
  for (const std::int64_t ended : {0, 2}) {
    Life life = posted();
    auto pdb = std::make_shared<api::PodDisruptionBudget>();
    pdb->meta.name = "web";
    pdb->min_available = api::IntOrPercent{3, false};
    pdb->expected_pods = 5;
    life.seen.pdbs = {pdb};
    life.seen.ended = {ended};
    life.answer(429, pdb_body());
    EXPECT_EQ(life.condition_reason("Progressing"), ended == 0 ? "PDBBlocked" : "PDBNeverAllows");
  }
}

TEST(DecideRequesting, NamesABudgetThatNeverAllowsAndTheFix) {
  Life life = posted();
  auto pdb = std::make_shared<api::PodDisruptionBudget>();
  pdb->meta.name = "web";
  pdb->max_unavailable = api::IntOrPercent{0, false};
  life.seen.pdbs = {pdb};
  life.answer(429, pdb_body());
  const std::string fix =
      "PodDisruptionBudget web has maxUnavailable 0 and never allows a disruption: raise it to 1 or more";
  EXPECT_EQ(life.condition_reason("Progressing"), "PDBNeverAllows");
  EXPECT_EQ(life.status().reason, "PDBNeverAllows");
  EXPECT_EQ(life.status().message, fix);
  EXPECT_EQ(life.condition_reason("EvictionGranted"), "PDBBlocked");
  ASSERT_EQ(life.status().blocked_by.size(), 1u);
  EXPECT_EQ(life.status().blocked_by[0].message, fix);
  EXPECT_EQ(life.status().blocked_count, 1);
  life.advance(*life.last.requeue.after);
  life.tick();
  life.answer(429, pdb_body());
  EXPECT_EQ(life.status().blocked_count, 2) << "asked less and less often, too: it may be fixed";
  EXPECT_EQ(std::count(life.events.begin(), life.events.end(), "EvictionBlocked"), 1);
}

TEST(DecideRequesting, AsksABlockingBudgetLessAndLessOften) {
  Life life = posted();
  life.answer(429, pdb_body());
  std::vector<std::int64_t> waits;
  for (int i = 0; i < 6; ++i) {
    waits.push_back(life.last.requeue.after->count() / 1'000'000);
    life.advance(*life.last.requeue.after - base::milliseconds(1));
    life.tick();
    EXPECT_EQ(life.action(), "") << "too early";
    life.advance(base::milliseconds(1));
    life.tick();
    ASSERT_EQ(life.action(), "PostEviction");
    EXPECT_FALSE(life.status().intent->resolved) << "written ahead again";
    life.answer(429, pdb_body());
  }
  EXPECT_GE(waits[0], 5);
  EXPECT_LE(waits[0], 6);
  EXPECT_GE(waits[2], 20);
  EXPECT_GE(waits[5], 60);
  EXPECT_LE(waits[5], 72);
  EXPECT_EQ(std::count(life.events.begin(), life.events.end(), "EvictionBlocked"), 1) << "told once";
}

TEST(DecideRequesting, AsksAtOnceWhenTheBudgetOpens) {
  Life life = posted();
  life.answer(429, pdb_body());
  life.advance(seconds(1));
  life.tick();
  EXPECT_EQ(life.action(), "");
  life.seen.woken = true;
  life.tick();
  EXPECT_EQ(life.action(), "PostEviction");
}

/// Returns a Life whose first of two attempts reached its blocked timeout.
Life blocked_for_too_long() {
  auto evacuation = make_evacuation();
  evacuation.spec.retry.max_attempts = 2;
  Life life = posted(evacuation);
  life.answer(429, pdb_body());
  life.advance(seconds(900));
  life.tick();
  return life;
}

TEST(DecideRequesting, EndsABlockedAttemptAndRetries) {
  Life life = blocked_for_too_long();
  EXPECT_EQ(life.phase(), Phase::kBackoff);
  EXPECT_EQ(life.status().reason, "BlockedTimeout");
  EXPECT_EQ(life.condition_reason("SlotAcquired"), "Released");
  EXPECT_EQ(life.last.requeue, kube::Requeue::in(seconds(60)));
  life.advance(seconds(60));
  life.tick();
  EXPECT_EQ(life.action(), "PostEviction");
  EXPECT_EQ(life.status().token, "e5b3.2");
  EXPECT_FALSE(life.status().blocked_since) << "a new attempt, a new clock";
  life.answer(429, pdb_body());
  life.advance(seconds(900));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kFailed);
  EXPECT_EQ(life.status().reason, "BlockedTimeout");
}

TEST(DecideBackoff, EndsWhenAnotherEvacuationMovesThePod) {
  Life life = blocked_for_too_long();
  ASSERT_EQ(life.phase(), Phase::kBackoff);
  life.seen.duplicate_of = "second";
  life.slot = Slot::State::kNotAsked;
  life.advance(seconds(60));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kFailed);
  EXPECT_EQ(life.status().reason, "DuplicateRequest");
}

TEST(DecideRequesting, FailsAtTheFirstBlockIfConfigured) {
  auto evacuation = make_evacuation();
  evacuation.spec.timeouts.blocked = seconds(0);
  evacuation.spec.retry.max_attempts = 1;
  Life life = posted(evacuation);
  life.answer(429, pdb_body());
  EXPECT_EQ(life.phase(), Phase::kFailed);
  EXPECT_EQ(life.status().reason, "BlockedTimeout");
}

TEST(DecideRequesting, WaitsForAnOpenOutcomeWithoutALoop) {
  auto evacuation = make_evacuation();
  evacuation.spec.timeouts.blocked = seconds(0);
  Life life = posted(evacuation);
  life.answer(evictors::CallResult(base::Error{base::ErrorCode::kOutcomeUnknown, "reset"}));
  ASSERT_EQ(life.phase(), Phase::kRequesting) << "the server may still carry it out";
  ASSERT_TRUE(life.last.requeue.after);
  EXPECT_GT(*life.last.requeue.after, seconds(1));
}

struct AnswerEnd {
  const char* name;
  int code;
  std::string body;
  Phase phase;
  const char* reason;
};
class RequestingAnswer : public testing::TestWithParam<AnswerEnd> {};
TEST_P(RequestingAnswer, LeadsTo) {
  Life life = posted();
  life.answer(GetParam().code, GetParam().body);
  EXPECT_EQ(life.phase(), GetParam().phase);
  const bool ended = api::is_terminal(life.phase());
  EXPECT_EQ(ended ? life.status().reason : life.condition_reason("Progressing"), GetParam().reason);
}
INSTANTIATE_TEST_SUITE_P(
    Decide, RequestingAnswer,
    testing::Values(
        AnswerEnd{"Rbac", 403, status_body(403, "cannot create resource pods/eviction"), Phase::kFailed, "Forbidden"},
        AnswerEnd{"BadRequest", 400, status_body(400, "no"), Phase::kFailed, "NotEvictable"},
        AnswerEnd{"MultiPdb", 500, status_body(500, "This pod has more than one PodDisruptionBudget, which"),
                  Phase::kRequesting, "MultiPDB"},
        AnswerEnd{"WebhookDown", 500, status_body(500, "failed calling webhook x"), Phase::kRequesting, "WebhookDown"},
        AnswerEnd{"Throttled", 429, "Too many requests", Phase::kRequesting, "Throttled"},
        AnswerEnd{"Unknown", 500, status_body(500, "oops"), Phase::kRequesting, "OutcomeUnknown"},
        AnswerEnd{"NotFoundButThere", 404, status_body(404, "not found"), Phase::kRequesting, "GoneMaybe"},
        AnswerEnd{"NamespaceTerminating", 403,
                  status_body(403, "forbidden", R"([{"reason":"NamespaceTerminating","message":"x"}])"),
                  Phase::kRequesting, "NamespaceTerminating"}),
    [](const auto& test) { return test.param.name; });

TEST(DecideRequesting, LooksBeforeAskingAgainAfterALostAnswer) {
  Life life = posted();
  const evictors::Action action = *life.last.action;
  const auto answer = controllers::evacuation::decide_answer(
      life.seen, life.registry(), action, base::Error{base::ErrorCode::kOutcomeUnknown, "reset"}, life.now);
  EXPECT_TRUE(answer.look_again);
  EXPECT_FALSE(answer.status.intent->resolved);
  EXPECT_EQ(api::find_condition(answer.status.conditions, "EvictionGranted")->status, api::ConditionStatus::kUnknown);
}

TEST(DecideRequesting, TakesATerminatingPodAfterALostAnswerAsItsOwnWork) {
  Life life = posted();
  life.pod_terminates();
  life.lose_answer();
  EXPECT_EQ(life.phase(), Phase::kEvicting);
  EXPECT_EQ(life.status().outcome->kind, api::OutcomeKind::kEvicted);
  EXPECT_TRUE(life.status().intent->resolved);
}

TEST(DecideRequesting, RepeatsTheVerySameCallAfterACrash) {
  Life life = posted();
  const auto intent = life.status().intent;
  life.crash_before_answer(false);
  life.advance(seconds(3));
  life.tick();
  EXPECT_EQ(life.action(), "PostEviction");
  auto now = life.status().intent;
  ASSERT_TRUE(now);
  EXPECT_GE(now->time, intent->time + seconds(3)) << "what is on its way is counted from this sending";
  now->time = intent->time;
  EXPECT_EQ(now, intent) << "the durable intent stands";
}

TEST(DecideRequesting, CountsAForeignDeletionAsExternal) {
  Life life = posted();
  life.answer(429, pdb_body());
  life.pod_vanishes();
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kVerifying);
  EXPECT_EQ(life.status().outcome->kind, api::OutcomeKind::kGoneExternally);
}

TEST(DecideRequesting, NeverTouchesASuccessorOfTheSameName) {
  Life life = posted();
  life.set_pod(make_pod({}, "successor"));
  life.answer(409, status_body(409, "the UID in the precondition does not match"));
  EXPECT_EQ(life.phase(), Phase::kVerifying);
  EXPECT_EQ(life.condition_reason("TargetGone"), "UIDChanged");
  EXPECT_EQ(life.action(), "");
}

TEST(DecideRequesting, CancelsWhileBlocked) {
  Life life = posted();
  life.answer(429, pdb_body());
  life.cancel();
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kCancelled);
  EXPECT_EQ(life.status().reason, "UserCancelled");
  EXPECT_EQ(life.condition_reason("RollbackComplete"), "NothingToDo");
}

TEST(DecideRequesting, CancelsOnlyOnceTheOutcomeIsKnown) {
  Life life = posted();
  life.crash_before_answer(true);
  life.cancel();
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kRequesting) << "the call may still be carried out";
  life.advance(seconds(34));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kCancelled);
}

TEST(DecideRequesting, SuccessWinsOverACancelThatCameTooLate) {
  Life life = posted();
  life.cancel();
  life.answer(201);
  EXPECT_EQ(life.phase(), Phase::kEvicting);
  EXPECT_EQ(life.condition_reason("CancelAccepted"), "PointOfNoReturn");
  life.pod_vanishes();
  life.replacement(true);
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kSucceeded);
}

}  // namespace evacuation_requesting_test
