#include "evictors/handoff/annotation.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "evictors/handoff/protocol.hpp"
#include "test/unit/evictors/objects.hpp"

namespace annotation_test {

using namespace evictors_test;
using api::EvacuationPhase;
using evictors::NextMove;
using evictors::ResponseClass;
using evictors::Rollback;
using evictors::Support;
using evictors::handoff::AnnotationEvictor;

using Annotations = std::vector<std::pair<std::string, std::string>>;

const std::string kEvictOnly = "descheduler.alpha.kubernetes.io/request-evict-only";
const std::string kMark = "descheduler.alpha.kubernetes.io/eviction-in-progress";

/// Pod with mode=required and the annotations in `more`.
api::Pod required(Annotations more = {}) {
  more.push_back(handoff("mode", "required"));
  return pod(std::move(more));
}

api::Evacuation generic(EvacuationPhase phase) {
  auto of = evacuation(phase);
  of.status.adapter = "generic";
  return of;
}

api::Evacuation background(EvacuationPhase phase) {
  auto of = evacuation(phase);
  of.status.adapter = "background";
  return of;
}

void acknowledge_timed_out(api::Evacuation& of) {
  of.status.conditions.push_back(
      {"HandoffAcknowledged", api::ConditionStatus::kFalse, "AcknowledgeTimeout", "", 0, kNoon});
}

// --- capability and state annotations of the owner

TEST(HandoffCapability, HasTheDefaultsOfTheProtocol) {
  const auto got = evictors::handoff::read_capability(required());
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, (evictors::handoff::Capability{.required = true,
                                                 .pre = false,
                                                 .migrate = true,
                                                 .post = false,
                                                 .owner_evicts = false,
                                                 .strict = false,
                                                 .timeout = {}}));
  EXPECT_FALSE(evictors::handoff::read_capability(pod()));
}

TEST(HandoffCapability, ReadsEveryKey) {
  const auto got = evictors::handoff::read_capability(
      pod({handoff("mode", "optional"), handoff("phases", " pre, migrate ,post,dance"), handoff("evict-by", "owner"),
           handoff("timeout", "2h"), handoff("strict", "true")}));
  ASSERT_TRUE(got);
  EXPECT_FALSE(got->required);
  EXPECT_TRUE(got->pre && got->migrate && got->post && got->owner_evicts && got->strict);
  EXPECT_EQ(got->timeout, base::seconds(7200));
}

TEST(HandoffCapability, FailsClosed) {
  EXPECT_TRUE(evictors::handoff::read_capability(pod({handoff("mode", "")}))->required);
  EXPECT_TRUE(evictors::handoff::read_capability(pod({handoff("mode", "Optional")}))->required);
  EXPECT_TRUE(evictors::handoff::read_capability(required({handoff("phases", "pre")}))->migrate)
      << "required needs the ready word";
  EXPECT_EQ(evictors::handoff::read_capability(required({handoff("timeout", "1000h")}))->timeout, base::seconds(86400));
  for (const char* nonsense : {"-5s", "0", "soon", "99999999999999h"}) {
    EXPECT_EQ(evictors::handoff::read_capability(required({handoff("timeout", nonsense)}))->timeout, std::nullopt)
        << nonsense;
  }
}

TEST(HandoffState, ReadsOnlyItsOwnToken) {
  const auto target = required({handoff("request", "e5b3.1"), handoff("request-phase", "migrate"),
                                handoff("ack", "e5b3.1@2026-11-21T12:00:01Z"), handoff("heartbeat", "e5b3.1@x"),
                                handoff("progress", "e5b3.1@40"), handoff("ready-to-evict", "e5b3.1"),
                                handoff("expected-completion", "e5b3.1@2026-11-21T12:30:00Z")});
  const auto got = evictors::handoff::read_signs(target, "e5b3.1");
  EXPECT_TRUE(got.requested && got.acknowledged && got.ready);
  EXPECT_EQ(got.request_phase, "migrate");
  EXPECT_EQ(got.progress, 40);
  EXPECT_EQ(got.expected_completion, *base::parse_time("2026-11-21T12:30:00Z"));
  EXPECT_EQ(got.alive, "2026-11-21T12:00:01Z|x|40");
  EXPECT_EQ(evictors::handoff::read_signs(target, "e5b3.2"), evictors::handoff::Signs{});
  EXPECT_EQ(evictors::handoff::read_signs(target, ""), evictors::handoff::Signs{});
}

TEST(HandoffState, RejectsATokenWithACommonPrefix) {
  const auto target = required({handoff("ready-to-evict", "e5b3.10"), handoff("ack", "e5b3.10@x")});
  EXPECT_EQ(evictors::handoff::read_signs(target, "e5b3.1"), evictors::handoff::Signs{});
}

TEST(HandoffState, TakesNonsenseAsAbsent) {
  for (const char* progress : {"e5b3.1@101", "e5b3.1@-1", "e5b3.1@", "e5b3.1@4x", "e5b3.1", "40"}) {
    EXPECT_EQ(evictors::handoff::read_signs(required({handoff("progress", progress)}), kToken).progress, std::nullopt)
        << progress;
  }
  const auto huge = required({handoff("heartbeat", "e5b3.1@" + std::string(300'000, 'x'))});
  EXPECT_EQ(evictors::handoff::read_signs(huge, kToken).alive, "");
  EXPECT_FALSE(evictors::handoff::read_signs(required({handoff("ready-to-evict", "e5b3.1@no")}), kToken).ready);
}

TEST(HandoffState, ReadsFailures) {
  const auto failed = [](const std::string& value) {
    return evictors::handoff::read_signs(required({handoff("failed", value)}), kToken).failed;
  };
  EXPECT_EQ(failed("e5b3.1:RetryableNoReplica:replica b: not in sync"),
            (evictors::RemoteFailure{"RetryableNoReplica", "replica b: not in sync", true}));
  EXPECT_EQ(failed("e5b3.1:DiskFull"), (evictors::RemoteFailure{"DiskFull", "", false}));
  EXPECT_EQ(failed("e5b3.1:not camel:x"), (evictors::RemoteFailure{"HandoffFailed", "x", false}));
  EXPECT_EQ(failed("e5b3.1"), (evictors::RemoteFailure{"HandoffFailed", "", false}));
  EXPECT_EQ(failed("e5b3.0:DiskFull:x"), std::nullopt);
  const auto long_story = failed("e5b3.1:Broken:" + std::string(300'000, 'x'));
  ASSERT_TRUE(long_story) << "a failure is heard however long it is told";
  EXPECT_EQ(*long_story, (evictors::RemoteFailure{"Broken", std::string(1024, 'x'), false}));
  const auto no_story = failed("e5b3.1:" + std::string(300'000, 'x'));
  EXPECT_EQ(no_story, (evictors::RemoteFailure{"HandoffFailed", "", false}));
  EXPECT_EQ(failed("e5b3.10:Broken:" + std::string(300'000, 'x')), std::nullopt);
}

// --- probe

TEST(AnnotationProbe, ChoosesTheProtocolByThePodsAnnotations) {
  const auto of = evacuation(EvacuationPhase::kPreparing);
  const auto handed = AnnotationEvictor().probe(context(of, required({{kEvictOnly, ""}})));
  EXPECT_EQ(handed.adapter, "generic");
  EXPECT_TRUE(handed.acknowledges && handed.required);
  const auto plain = AnnotationEvictor().probe(context(of, pod({{kEvictOnly, ""}})));
  EXPECT_EQ(plain.adapter, "background");
  EXPECT_FALSE(plain.acknowledges);
  EXPECT_EQ(AnnotationEvictor().probe(context(of, pod())).support, Support::kUnsupported);
}

TEST(AnnotationProbe, ClampsTheOwnersTimeoutToThatOfThePolicy) {
  auto of = evacuation(EvacuationPhase::kPreparing);
  const auto total = [&](const api::Pod& target) { return AnnotationEvictor().probe(context(of, target)).total; };
  EXPECT_EQ(total(required()), base::seconds(1800));
  EXPECT_EQ(total(required({handoff("timeout", "3h")})), base::seconds(3 * 3600));
  of.spec.timeouts.total = base::seconds(600);
  EXPECT_EQ(total(required({handoff("timeout", "3h")})), base::seconds(600));
  EXPECT_EQ(total(required({handoff("timeout", "1m")})), base::seconds(60));
  EXPECT_EQ(total(required()), base::seconds(600));
}

// --- plan: one row per situation

struct PlanCase {
  const char* name;
  EvacuationPhase phase;
  Annotations annotations;
  NextMove want;
  const char* action = "";
  bool ack_timed_out = false;
};

class HandoffPlan : public testing::TestWithParam<PlanCase> {};

TEST_P(HandoffPlan, TakesTheNextStep) {
  const PlanCase& c = GetParam();
  auto of = generic(c.phase);
  if (c.ack_timed_out) acknowledge_timed_out(of);
  const auto target = pod(c.annotations);
  const auto got = AnnotationEvictor().plan(context(of, target));
  EXPECT_EQ(got.next, c.want);
  EXPECT_EQ(got.action ? got.action->name : "", c.action);
}

const auto kMode = handoff("mode", "required");
const auto kOptional = handoff("mode", "optional");
const auto kAllPhases = handoff("phases", "pre,migrate,post");
const auto kRequested = handoff("request", kToken);
const auto kPrePhase = handoff("request-phase", "pre");
const auto kMigratePhase = handoff("request-phase", "migrate");
const auto kReady = handoff("ready-to-evict", kToken);
constexpr auto kPreparing = EvacuationPhase::kPreparing;
constexpr auto kRequesting = EvacuationPhase::kRequesting;
constexpr auto kInProgress = EvacuationPhase::kInProgress;

INSTANTIATE_TEST_SUITE_P(
    AnnotationEvictor, HandoffPlan,
    testing::Values(
        PlanCase{"SkipsPreWhenNotListed", kPreparing, {kMode}, NextMove::kProceed},
        PlanCase{"AsksForPre", kPreparing, {kMode, kAllPhases}, NextMove::kAct, "RequestPre"},
        PlanCase{"WaitsForPreDone", kPreparing, {kMode, kAllPhases, kRequested, kPrePhase}, NextMove::kWait},
        PlanCase{"GoesOnAfterPreDone",
                 kPreparing,
                 {kMode, kAllPhases, kRequested, kPrePhase, handoff("pre-done", kToken)},
                 NextMove::kProceed},
        PlanCase{"IgnoresAStalePreDone",
                 kPreparing,
                 {kMode, kAllPhases, kRequested, kPrePhase, handoff("pre-done", "e5b3.0")},
                 NextMove::kWait},
        PlanCase{"OptionalGoesOnAfterAckTimeout",
                 kPreparing,
                 {kOptional, kAllPhases, kRequested, kPrePhase},
                 NextMove::kProceed,
                 "",
                 true},
        PlanCase{"AsksForMigrate", kRequesting, {kMode}, NextMove::kAct, "RequestMigrate"},
        PlanCase{"AsksForMigrateAfterPre",
                 kRequesting,
                 {kMode, kAllPhases, kRequested, kPrePhase},
                 NextMove::kAct,
                 "RequestMigrate"},
        PlanCase{"FindsItsRequestInEffect", kRequesting, {kMode, kRequested, kMigratePhase}, NextMove::kWait},
        PlanCase{
            "EvictsWhenReady", kRequesting, {kMode, kRequested, kMigratePhase, kReady}, NextMove::kAct, "PostEviction"},
        PlanCase{"FailedBeatsReady",
                 kRequesting,
                 {kMode, kRequested, kMigratePhase, kReady, handoff("failed", "e5b3.1:DiskFull:")},
                 NextMove::kWait},
        PlanCase{"NeverEvictsOnAStaleReady",
                 kRequesting,
                 {kMode, kRequested, kMigratePhase, handoff("ready-to-evict", "e5b3.0")},
                 NextMove::kWait},
        PlanCase{"NeverEvictsAfterAbort",
                 kInProgress,
                 {kMode, kRequested, kMigratePhase, kReady, handoff("abort", kToken)},
                 NextMove::kWait},
        PlanCase{"WaitsInProgress", kInProgress, {kMode, kRequested, kMigratePhase}, NextMove::kWait},
        PlanCase{"EvictsFromInProgress",
                 kInProgress,
                 {kMode, kRequested, kMigratePhase, kReady},
                 NextMove::kAct,
                 "PostEviction"},
        PlanCase{"LeavesItToTheOwner",
                 kInProgress,
                 {kMode, handoff("evict-by", "owner"), kRequested, kMigratePhase, kReady},
                 NextMove::kWait},
        PlanCase{"OptionalEvictsAloneAfterAckTimeout",
                 kInProgress,
                 {kOptional, kRequested, kMigratePhase},
                 NextMove::kAct,
                 "PostEviction",
                 true},
        PlanCase{
            "RequiredNeverEvictsAlone", kInProgress, {kMode, kRequested, kMigratePhase}, NextMove::kWait, "", true},
        PlanCase{"OptionalWithoutMigrateEvicts",
                 kRequesting,
                 {kOptional, handoff("phases", "pre")},
                 NextMove::kAct,
                 "PostEviction"},
        PlanCase{"WaitsOnceTheOwnerTookItOver",
                 kInProgress,
                 {kMode, kRequested, kMigratePhase, kReady, {kEvictOnly, ""}, {kMark, "true"}},
                 NextMove::kWait}),
    [](const auto& test) { return test.param.name; });

TEST(HandoffPlan, StopsIfTheModeIsRemoved) {
  const auto of = generic(EvacuationPhase::kInProgress);
  const auto target = pod({kRequested, kMigratePhase, kReady});
  EXPECT_EQ(AnnotationEvictor().plan(context(of, target)).next, NextMove::kWait);
}

TEST(HandoffRequest, IsAGuardedMergePatch) {
  auto of = generic(EvacuationPhase::kRequesting);
  of.spec.reason = "rebalancing";
  const auto target = required({handoff("timeout", "10m")});
  const auto action = *AnnotationEvictor().plan(context(of, target)).action;
  EXPECT_EQ(action.request.method, "PATCH");
  EXPECT_EQ(action.request.path, "/api/v1/namespaces/shop/pods/web-1");
  EXPECT_EQ(action.request.content_type, "application/merge-patch+json");
  EXPECT_EQ(nlohmann::json::parse(action.request.body), nlohmann::json::parse(R"({"metadata":{
    "uid":"7c1a8c1e-0000-4000-8000-000000000001","resourceVersion":"41","annotations":{
    "handoff.evacuator.dev/request":"e5b3.1","handoff.evacuator.dev/request-phase":"migrate",
    "handoff.evacuator.dev/request-deadline":"2026-11-21T12:10:00Z","handoff.evacuator.dev/request-reason":"rebalancing",
    "handoff.evacuator.dev/abort":null}}})"));
}

TEST(HandoffEviction, AddsTheResourceVersionWhenStrict) {
  auto of = generic(EvacuationPhase::kRequesting);
  const auto preconditions = [&](const api::Pod& target, Annotations parameters) {
    auto seen = context(of, target);
    seen.parameters = std::move(parameters);
    return nlohmann::json::parse(AnnotationEvictor().plan(seen).action->request.body)["deleteOptions"]["preconditions"];
  };
  const auto loose = required({kRequested, kMigratePhase, kReady});
  const auto tight = required({kRequested, kMigratePhase, kReady, handoff("strict", "true")});
  EXPECT_FALSE(preconditions(loose, {}).contains("resourceVersion"));
  EXPECT_EQ(preconditions(tight, {})["resourceVersion"], "41");
  EXPECT_EQ(preconditions(loose, {{"strict", "true"}})["resourceVersion"], "41");
}

TEST(HandoffDryRun, SendsNoRequestAndPatchesNothing) {
  auto of = generic(EvacuationPhase::kPreparing);
  of.spec.dry_run = true;
  const auto target = required({kAllPhases});
  EXPECT_EQ(AnnotationEvictor().plan(context(of, target)).next, NextMove::kProceed);
  of.status.phase = EvacuationPhase::kRequesting;
  const auto plan = AnnotationEvictor().plan(context(of, target));
  ASSERT_EQ(plan.next, NextMove::kAct);
  EXPECT_EQ(plan.action->name, "PostEviction");
  EXPECT_EQ(plan.action->request.query, "dryRun=All");
}

// --- undo and cleanup

TEST(HandoffUndo, WritesTheAbortOnceAndWaits) {
  auto of = generic(EvacuationPhase::kAborting);
  of.status.abort = api::EvacuationAbort{"UserCancelled", EvacuationPhase::kCancelled, kNoon};
  const auto asked = required({kRequested, handoff("ack", "e5b3.1@x")});
  const auto actions = AnnotationEvictor().undo(context(of, asked));
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(actions[0].name, "Abort");
  EXPECT_EQ(nlohmann::json::parse(actions[0].request.body)["metadata"]["annotations"],
            (nlohmann::json{{"handoff.evacuator.dev/abort", "e5b3.1"}}));

  const auto told = required({kRequested, handoff("ack", "e5b3.1@x"), handoff("abort", kToken)});
  EXPECT_TRUE(AnnotationEvictor().undo(context(of, told)).empty());
  EXPECT_EQ(AnnotationEvictor().undone(context(of, told)), Rollback::kPending);
  EXPECT_EQ(AnnotationEvictor().undone(context(of, told, kNoon + base::seconds(299))), Rollback::kPending);

  const auto stale =
      required({kRequested, handoff("ack", "e5b3.1@x"), handoff("abort", kToken), handoff("aborted", "e5b3.0")});
  EXPECT_EQ(AnnotationEvictor().undone(context(of, stale)), Rollback::kPending);
  const auto done =
      required({kRequested, handoff("ack", "e5b3.1@x"), handoff("abort", kToken), handoff("aborted", kToken)});
  EXPECT_EQ(AnnotationEvictor().undone(context(of, done)), Rollback::kComplete);
}

TEST(HandoffUndo, WaitsBrieflyForAnOperatorThatNeverAnswered) {
  auto of = generic(EvacuationPhase::kAborting);
  of.status.abort = api::EvacuationAbort{"AcknowledgeTimeout", EvacuationPhase::kFailed, kNoon};
  const auto told = required({kRequested, handoff("abort", kToken)});
  EXPECT_EQ(AnnotationEvictor().undone(context(of, told, kNoon + base::seconds(59))), Rollback::kPending);
  EXPECT_EQ(AnnotationEvictor().undone(context(of, told, kNoon + base::seconds(60))), Rollback::kNothingToDo);
}

TEST(HandoffUndo, TreatsAFailureAsAlreadyUndone) {
  auto of = generic(EvacuationPhase::kAborting);
  of.status.abort = api::EvacuationAbort{"HandoffFailed", EvacuationPhase::kBackoff, kNoon};
  const auto failed = required({kRequested, handoff("ack", "e5b3.1@x"), handoff("failed", "e5b3.1:DiskFull:")});
  EXPECT_TRUE(AnnotationEvictor().undo(context(of, failed)).empty());
  EXPECT_EQ(AnnotationEvictor().undone(context(of, failed)), Rollback::kComplete);
}

TEST(HandoffCleanUp, RemovesOnlyOurAnnotations) {
  const auto of = generic(EvacuationPhase::kFailed);
  const auto keys = [&](const api::Pod& target) {
    const auto actions = AnnotationEvictor().cleanup(context(of, target));
    return actions.empty() ? nlohmann::json()
                           : nlohmann::json::parse(actions[0].request.body)["metadata"]["annotations"];
  };
  EXPECT_TRUE(keys(required()).is_null());
  EXPECT_TRUE(keys(required({handoff("request", "other.1"), handoff("abort", "e5b33.1")})).is_null());
  const auto mine = keys(required({kRequested, kMigratePhase, handoff("abort", kToken), handoff("ack", "e5b3.1@x")}));
  EXPECT_EQ(mine.size(), 5u);
  for (const auto& [key, value] : mine.items()) EXPECT_TRUE(value.is_null()) << key;
  EXPECT_FALSE(mine.contains("handoff.evacuator.dev/ack")) << "operator keys are left to the operator";
  EXPECT_EQ(keys(required({handoff("request", "other.1"), handoff("abort", kToken)})).size(), 1u);
}

TEST(HandoffObserve, DetectsThatItsRequestWasRemoved) {
  auto of = generic(EvacuationPhase::kInProgress);
  of.status.intent = api::EvacuationIntent{"RequestMigrate", kToken, kNoon, true, "Applied", ""};
  EXPECT_FALSE(AnnotationEvictor().observe(context(of, required({kRequested, kMigratePhase}))).vanished);
  EXPECT_TRUE(AnnotationEvictor().observe(context(of, required())).vanished);
}

TEST(HandoffObserve, DoesNotMistakeAnotherCallForItsRequest) {
  auto of = generic(EvacuationPhase::kPreparing);
  of.status.intent = api::EvacuationIntent{"CallHookPre", kToken, kNoon, true, "Applied", ""};
  EXPECT_FALSE(AnnotationEvictor().observe(context(of, required())).vanished)
      << "a hook was called, nobody was asked yet";
}

// --- upstream's background protocol

TEST(BackgroundPlan, AsksOnceAndThenWatches) {
  const auto plan = [](EvacuationPhase phase, const api::Pod& target) {
    const auto of = background(phase);
    return AnnotationEvictor().plan(context(of, target)).next;
  };
  EXPECT_EQ(plan(kPreparing, pod({{kEvictOnly, ""}})), NextMove::kProceed);
  EXPECT_EQ(plan(kRequesting, pod({{kEvictOnly, ""}})), NextMove::kAct);
  EXPECT_EQ(plan(kRequesting, pod({{kEvictOnly, ""}, {kMark, ""}})), NextMove::kWait)
      << "already under way: never ask again";
  EXPECT_EQ(plan(kInProgress, pod({{kEvictOnly, ""}})), NextMove::kWait);
}

TEST(BackgroundObserve, SeesTheMarkComeAndGo) {
  auto of = background(EvacuationPhase::kInProgress);
  of.status.in_progress_since = kNoon;
  const auto see = [&](const api::Pod& target, base::TimePoint now) {
    return AnnotationEvictor().observe(context(of, target, now));
  };
  EXPECT_TRUE(see(pod({{kEvictOnly, ""}, {kMark, "true"}}), kNoon).acknowledged);
  EXPECT_FALSE(see(pod({{kEvictOnly, ""}}), kNoon + base::seconds(599)).vanished) << "the mark may still come";
  EXPECT_TRUE(see(pod({{kEvictOnly, ""}}), kNoon + base::seconds(600)).vanished);
  EXPECT_TRUE(see(pod(), kNoon).vanished) << "capability withdrawn";
  of.status.conditions.push_back({"HandoffAcknowledged", api::ConditionStatus::kTrue, "Acknowledged", "", 0, kNoon});
  EXPECT_TRUE(see(pod({{kEvictOnly, ""}}), kNoon + base::seconds(1)).vanished);
}

TEST(BackgroundClassify, TrustsTheTextOnlyWithTheCapability) {
  const auto of = background(EvacuationPhase::kRequesting);
  const auto able = pod({{kEvictOnly, ""}});
  const auto unable = pod();
  const evictors::Action action = *AnnotationEvictor().plan(context(of, able)).action;
  const evictors::CallResult answer = kube::Response{
      429,
      R"({"kind":"Status","status":"Failure","code":429,"message":"admission webhook \"v\" denied the request: Eviction triggered evacuation of VMI \"a/b\""})",
      {},
      ""};
  EXPECT_EQ(AnnotationEvictor().classify(context(of, able), action, answer).answer,
            ResponseClass::kAcceptedInBackground);
  EXPECT_EQ(AnnotationEvictor().classify(context(of, unable), action, answer).answer, ResponseClass::kRefusedByWebhook);
}

TEST(BackgroundUndo, CannotRemoveTheMark) {
  auto of = background(EvacuationPhase::kAborting);
  const auto marked = pod({{kEvictOnly, ""}, {kMark, "true"}});
  EXPECT_TRUE(AnnotationEvictor().undo(context(of, marked)).empty());
  EXPECT_EQ(AnnotationEvictor().undone(context(of, marked)), Rollback::kNothingToDo) << "the mark was not ours";
  of.status.request_sent_at = kNoon;
  EXPECT_EQ(AnnotationEvictor().undone(context(of, marked)), Rollback::kRemoteMarkRemains);
  EXPECT_EQ(AnnotationEvictor().undone(context(of, pod({{kEvictOnly, ""}}))), Rollback::kNothingToDo);
}

}  // namespace annotation_test
