#include "controllers/evacuation/phases/decide.hpp"

#include <gtest/gtest.h>

#include "test/unit/controllers/evacuation/phases/life.hpp"

namespace evacuation_decide_test {

using namespace evacuation_test;
using base::seconds;
using Phase = EvacuationPhase;

/// Returns a Life that waits for the answer to its first PostEviction.
Life posted(api::Evacuation evacuation = make_evacuation(), api::Pod pod = make_pod()) {
  Life life(std::move(evacuation), std::move(pod));
  life.tick();
  EXPECT_EQ(life.action(), "PostEviction");
  return life;
}

// --- successful eviction

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

// --- Pending

TEST(DecidePending, FillsInOmittedFields) {
  auto evacuation = make_evacuation();
  evacuation.spec.pod_ref.uid = {};
  evacuation.spec.node_name = {};
  Life life(evacuation);
  life.tick();
  EXPECT_EQ(life.spec().pod_ref.uid.value, kPodUid);
  EXPECT_EQ(life.spec().node_name.value, "node-a");
  EXPECT_EQ(life.action(), "PostEviction");
}

struct EndCase {
  const char* name;
  std::function<void(Life&)> given;
  Phase phase;
  const char* reason;
};

class PendingEnds : public testing::TestWithParam<EndCase> {};

TEST_P(PendingEnds, WithoutACall) {
  Life life;
  life.slot = Slot::State::kWaiting;
  GetParam().given(life);
  life.tick();
  EXPECT_EQ(life.phase(), GetParam().phase);
  EXPECT_EQ(life.status().reason, GetParam().reason) << life.status().message;
  EXPECT_EQ(life.action(), "");
  EXPECT_EQ(life.condition_reason("Complete"), GetParam().reason);
}

INSTANTIATE_TEST_SUITE_P(
    Decide, PendingEnds,
    testing::Values(
        EndCase{"PodGone", [](Life& l) { l.pod_vanishes(); }, Phase::kCancelled, "TargetGone"},
        EndCase{"PodReplaced", [](Life& l) { l.set_pod(make_pod({}, "other")); }, Phase::kCancelled, "TargetGone"},
        EndCase{"PodTerminating", [](Life& l) { l.pod_terminates(); }, Phase::kCancelled, "TargetGone"},
        EndCase{"NoSuchPod",
                [](Life& l) {
                  l.spec().pod_ref.uid = {};
                  l.pod_vanishes();
                },
                Phase::kCancelled, "TargetGone"},
        EndCase{"Cancelled", [](Life& l) { l.cancel(); }, Phase::kCancelled, "UserCancelled"},
        EndCase{"PolicyDeleted",
                [](Life& l) {
                  l.spec().cancel = {true, "PolicyDeleted"};
                },
                Phase::kCancelled, "PolicyDeleted"},
        EndCase{"Deleted", [](Life& l) { l.seen.evacuation.meta.deletion_timestamp = kNoon; }, Phase::kCancelled,
                "ObjectDeleted"},
        EndCase{"PolicyOfItDeleted",
                [](Life& l) {
                  l.seen.evacuation.meta.deletion_timestamp = kNoon;
                  l.seen.policy_gone = true;
                },
                Phase::kCancelled, "PolicyDeleted"},
        EndCase{"DecisionExpired", [](Life& l) { l.advance(seconds(600)); }, Phase::kCancelled, "DecisionExpired"},
        EndCase{"InvalidSpec", [](Life& l) { l.seen.spec_problem = "spec.x: bad"; }, Phase::kFailed, "InvalidSpec"},
        EndCase{"Duplicate", [](Life& l) { l.seen.duplicate_of = "first"; }, Phase::kFailed, "DuplicateRequest"},
        EndCase{"WrongNode", [](Life& l) { l.spec().node_name = {"node-z"}; }, Phase::kFailed, "InvalidSpec"},
        EndCase{"MirrorPod", [](Life& l) { l.annotate("kubernetes.io/config.mirror", "x"); }, Phase::kFailed,
                "InvalidSpec"},
        EndCase{"DaemonSetPod",
                [](Life& l) {
                  api::Pod pod = make_pod();
                  pod.meta.owner_references[0].kind = "DaemonSet";
                  l.set_pod(pod);
                },
                Phase::kFailed, "InvalidSpec"}),
    [](const auto& info) { return info.param.name; });

TEST(DecidePending, NamesTheFirstOfTwo) {
  Life life;
  life.seen.duplicate_of = "web-1-first";
  life.tick();
  EXPECT_NE(life.status().message.find("web-1-first"), std::string::npos);
}

TEST(DecidePending, SaysWhichLimitItWaitsFor) {
  Life life;
  life.slot = Slot::State::kWaiting;
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kPending);
  EXPECT_EQ(life.condition_reason("SlotAcquired"), "WaitingNode");
  ASSERT_EQ(life.status().blocked_by.size(), 1u);
  EXPECT_EQ(life.status().blocked_by[0].kind, "Limit");
  EXPECT_EQ(life.status().blocked_by[0].since, kNoon);
  EXPECT_LE(*life.last.requeue.after, base::Duration(seconds(600)));
  life.advance(seconds(30));
  life.tick();
  EXPECT_EQ(life.status().blocked_by[0].since, kNoon) << "the same limit all along";
  life.slot = Slot::State::kGranted;
  life.tick();
  EXPECT_EQ(life.action(), "PostEviction");
  EXPECT_TRUE(life.status().blocked_by.empty());
}

TEST(DecidePending, WaitsForApprovalWithoutLimitWhenSuspended) {
  Life life;
  life.spec().suspend = true;
  life.tick();
  EXPECT_EQ(life.condition_reason("SlotAcquired"), "Paused");
  life.advance(seconds(86400));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kPending);
  life.spec().suspend = false;
  life.slot = Slot::State::kWaiting;
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kPending) << "its time starts when it is released";
  life.advance(seconds(600));
  life.tick();
  EXPECT_EQ(life.status().reason, "DecisionExpired");
}

TEST(DecidePending, AnExplicitDecisionTtlCountsWhileSuspended) {
  Life life;
  life.spec().suspend = true;
  life.spec().timeouts.decision_ttl = seconds(100);
  life.tick();
  EXPECT_EQ(life.condition_reason("Accepted"), "Valid");
  life.advance(seconds(100));
  life.tick();
  EXPECT_EQ(life.status().reason, "DecisionExpired");
  EXPECT_EQ(life.condition_reason("Accepted"), "DecisionExpired");
}

TEST(DecidePending, WritesNothingWhenNothingChanged) {
  Life life;
  life.slot = Slot::State::kWaiting;
  life.tick();
  life.advance(seconds(1));
  const auto before = life.status();
  life.tick();
  EXPECT_EQ(life.status(), before);
}

// --- Requesting: every class of answer

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

/// Evicts like eviction-api, but needs free capacity for a surge pod first.
class CapaciousEvictor final : public evictors::Evictor, public evictors::Undoer, public evictors::TermsProvider {
 public:
  explicit CapaciousEvictor(const evictors::Evictor& inner) : inner_(inner) {}
  std::string_view name() const override { return "needs-capacity"; }
  api::FieldErrors validate(const std::vector<std::pair<std::string, std::string>>&,
                            const api::FieldPath&) const override {
    return {};
  }
  evictors::Probe probe(const evictors::EvictorContext& context) const override { return inner_.probe(context); }
  evictors::EvictionStep plan(const evictors::EvictorContext& context) const override { return inner_.plan(context); }
  evictors::Observation observe(const evictors::EvictorContext& context) const override {
    return inner_.observe(context);
  }
  evictors::Classification classify(const evictors::EvictorContext& context, const evictors::Action& action,
                                    const evictors::CallResult& answer) const override {
    return inner_.classify(context, action, answer);
  }
  bool needs_capacity(const evictors::EvictorContext&) const override { return true; }
  std::vector<evictors::Action> undo(const evictors::EvictorContext&) const override { return {}; }
  evictors::Rollback undone(const evictors::EvictorContext&) const override { return evictors::Rollback::kNothingToDo; }
  std::vector<evictors::Action> cleanup(const evictors::EvictorContext&) const override { return {}; }

 private:
  const evictors::Evictor& inner_;
};

Life capacious() {
  Life life;
  life.registry().add(std::make_unique<CapaciousEvictor>(*life.registry().find("eviction-api")));
  life.spec().evictors = {{"needs-capacity", {}}};
  return life;
}

TEST(DecidePending, NamesTheLimitThatHoldsIt) {
  const std::vector<std::pair<std::string, std::string>> cases = {{"total", "WaitingTotal"},
                                                                  {"node", "WaitingNode"},
                                                                  {"targetNode", "WaitingTargetNode"},
                                                                  {"policy web targetNode", "WaitingTargetNode"},
                                                                  {"policy node zone", "WaitingZone"},
                                                                  {"namespace", "WaitingNamespace"},
                                                                  {"workload", "WaitingWorkload"},
                                                                  {"policy web workload", "WaitingWorkload"},
                                                                  {"rate", "WaitingRate"},
                                                                  {"cooldown", "CoolingDown"}};
  for (const auto& [name, reason] : cases) {
    Life life;
    life.slot = Slot::State::kWaiting;
    life.limit = {"Limit", name, "is full", {}, {}, {}, {}};
    life.tick();
    EXPECT_EQ(life.condition_reason("SlotAcquired"), reason) << name;
  }
}

TEST(DecidePending, AsksForCapacityIfItsEvictorNeedsSome) {
  Life plain;
  plain.tick();
  EXPECT_FALSE(plain.asked_for_capacity);
  EXPECT_EQ(plain.condition_reason("SlotAcquired"), "Acquired");
  Life life = capacious();
  life.reserved_node = "node-b";
  life.tick();
  EXPECT_TRUE(life.asked_for_capacity);
  EXPECT_EQ(life.condition_reason("SlotAcquired"), "CapacityReserved");
  EXPECT_EQ(life.status().target_node.value, "node-b");
  EXPECT_EQ(life.action(), "PostEviction");
}

TEST(DecidePending, WaitsForCapacityAndSaysWithWhichNumbers) {
  Life life = capacious();
  life.slot = Slot::State::kWaiting;
  life.limit = {"Capacity", "", "needs 3000m cpu", {}, {}, {}, {}};
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kPending);
  EXPECT_EQ(life.condition_reason("SlotAcquired"), "WaitingCapacity");
  ASSERT_EQ(life.status().blocked_by.size(), 1u);
  EXPECT_EQ(life.status().blocked_by[0].message, "needs 3000m cpu");
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
    [](const auto& info) { return info.param.name; });

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

// --- Evicting and Verifying

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
                         [](const auto& info) { return info.param.name; });

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

TEST(DecidePending, IsCancelledWhenItsPlanHasNoCapacityLeft) {
  Life life;
  life.seen.no_destination = "no node has enough free capacity any more";
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kCancelled);
  EXPECT_EQ(life.status().reason, "DecisionExpired");
  EXPECT_EQ(life.status().message, "no node has enough free capacity any more");
  EXPECT_EQ(life.action(), "");
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

// --- spec that can no longer be decoded

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
    [](const auto& info) { return info.param.name; });

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
