#include "controllers/evacuation/eviction_request/responder.hpp"

#include <gmock/gmock.h>

namespace controllers {
namespace native_responder_test {

using api::EvacuationPhase;
using api::ResponderState;
using base::minutes;
using base::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const base::TimePoint kTurnBegan = *base::parse_time("2026-11-21T12:00:00Z");
constexpr const char* kTarget = "7c1a8c1e-0000-4000-8000-000000000001";

std::shared_ptr<const api::Pod> target_pod(const char* owner_kind = "ReplicaSet") {
  auto pod = std::make_shared<api::Pod>();
  pod->meta.ns = "shop";
  pod->meta.name = "web-1";
  pod->meta.uid = kTarget;
  pod->meta.owner_references = {{"apps/v1", owner_kind, "web", "o-1", true}};
  pod->node_name = {"node-a"};
  pod->phase = api::PodPhase::kRunning;
  return pod;
}

api::NativeEviction eviction(ResponderState state = ResponderState::kActive) {
  api::NativeEviction result;
  result.meta.ns = "shop";
  result.meta.name = "pod-1-web-1";
  result.meta.uid = "e-1";
  result.pod_name = "web-1";
  result.pod_uid = {kTarget};
  result.requesters = {{"acme.io/gone", true}, {"acme.io/drain", false}};
  api::NativeResponder ours;
  ours.name = "evacuator.dev/responder";
  ours.state = state;
  ours.start_time = kTurnBegan;
  result.responders = {ours};
  return result;
}

api::Evacuation evacuation(EvacuationPhase phase, bool for_this_eviction = true) {
  api::Evacuation result;
  result.meta.ns = "shop";
  result.meta.name = "web-1-7c1a8c1e";
  if (for_this_eviction)
    result.meta.annotations =
        api::StringMap{{"evacuator.dev/native-eviction", "pod-1-web-1"}, {"evacuator.dev/native-eviction-uid", "e-1"}};
  result.spec.pod_ref = {"web-1", {kTarget}};
  result.status.phase = phase;
  result.status.evictor = "eviction-api";
  return result;
}

ResponderInput turn(std::optional<api::NativeEviction> of = eviction(), std::vector<api::Evacuation> evacuations = {}) {
  ResponderInput seen{{"shop", "pod-1-web-1"}, std::move(of), target_pod(), {}};
  for (auto& each : evacuations) seen.evacuations.push_back(std::make_shared<const api::Evacuation>(std::move(each)));
  return seen;
}

bool does_nothing(const ResponderDecision& decision) {
  return !decision.create && !decision.report && decision.cancel.empty();
}

TEST(NativeResponder, MakesAnEvacuationWhenItsTurnBegins) {
  const auto got = decide_response(turn(), kTurnBegan + seconds(1));
  ASSERT_TRUE(got.create);
  EXPECT_EQ(got.create->meta.name, "web-1-7c1a8c1e");
  EXPECT_EQ(got.create->meta.annotations.value("evacuator.dev/native-eviction"), "pod-1-web-1");
  EXPECT_EQ(got.create->meta.annotations.value("evacuator.dev/native-eviction-uid"), "e-1");
  EXPECT_EQ(got.create->spec.pod_ref.uid.value, kTarget);
  EXPECT_EQ(got.create->spec.source.requester, "acme.io/drain");
  ASSERT_TRUE(got.report);
  EXPECT_EQ(got.report->heartbeat, kTurnBegan + seconds(1));
  EXPECT_FALSE(got.report->completion);
}

struct StillCase {
  const char* name;
  ResponderState state;
};
class NativeResponderStill : public testing::TestWithParam<StillCase> {};
TEST_P(NativeResponderStill, WithoutATurn) {
  EXPECT_TRUE(does_nothing(decide_response(turn(eviction(GetParam().state)), kTurnBegan)));
}
INSTANTIATE_TEST_SUITE_P(Table, NativeResponderStill,
                         testing::Values(StillCase{"Inactive", ResponderState::kInactive},
                                         StillCase{"Completed", ResponderState::kCompleted},
                                         StillCase{"Canceled", ResponderState::kCanceled},
                                         StillCase{"Interrupted", ResponderState::kInterrupted}),
                         [](const auto& test) { return test.param.name; });

TEST(NativeResponder, IsSilentWhereItIsNotNamed) {
  auto of = eviction();
  of.responders[0].name = "acme.io/db";
  EXPECT_TRUE(does_nothing(decide_response(turn(of), kTurnBegan)));
}

TEST(NativeResponder, AdoptsAnEvacuationInProgress) {
  auto running = evacuation(EvacuationPhase::kInProgress, false);
  running.status.message = "hand-over";
  running.status.expected_completion_at = kTurnBegan + minutes(10);
  const auto got = decide_response(turn(eviction(), {running}), kTurnBegan + seconds(1));
  EXPECT_FALSE(got.create);
  ASSERT_TRUE(got.report);
  EXPECT_EQ(got.report->message, "Evacuation web-1-7c1a8c1e: InProgress, evictor eviction-api, hand-over");
  EXPECT_EQ(got.report->expected_completion, kTurnBegan + minutes(10));
}

TEST(NativeResponder, SendsHeartbeatsEveryThreeMinutesAndChangesSooner) {
  auto of = eviction();
  of.responders[0].heartbeat_time = kTurnBegan;
  of.responders[0].message = "Evacuation web-1-7c1a8c1e: InProgress, evictor eviction-api";
  const auto at = [&](seconds after, EvacuationPhase phase) {
    return decide_response(turn(of, {evacuation(phase)}), kTurnBegan + after);
  };
  EXPECT_FALSE(at(seconds(179), EvacuationPhase::kInProgress).report);
  EXPECT_EQ(at(seconds(179), EvacuationPhase::kInProgress).requeue, kube::Requeue::in(seconds(1)));
  EXPECT_TRUE(at(seconds(180), EvacuationPhase::kInProgress).report);
  EXPECT_FALSE(at(seconds(19), EvacuationPhase::kAborting).report);
  EXPECT_TRUE(at(seconds(20), EvacuationPhase::kAborting).report);
}

TEST(NativeResponder, NeverWritesATimeBeforeItsStart) {
  auto of = eviction();
  of.responders[0].start_time = kTurnBegan + seconds(10);  // the server's clock is ahead
  auto late = evacuation(EvacuationPhase::kInProgress);
  late.status.expected_completion_at = kTurnBegan - seconds(5);
  const auto got = decide_response(turn(of, {late}), kTurnBegan);
  ASSERT_TRUE(got.report);
  EXPECT_EQ(got.report->heartbeat, kTurnBegan + seconds(10));
  EXPECT_FALSE(got.report->expected_completion);
}

/// The API stores whole seconds. A completion time with a fraction would look changed at every comparison.
TEST(NativeResponder, WritesWholeSecondsAndIgnoresItsOwnReports) {
  auto of = eviction();
  auto running = evacuation(EvacuationPhase::kInProgress);
  running.status.expected_completion_at = kTurnBegan + minutes(10) + std::chrono::milliseconds(300);
  const base::TimePoint now = kTurnBegan + seconds(1) + std::chrono::milliseconds(700);
  const auto first = decide_response(turn(of, {running}), now);
  ASSERT_TRUE(first.report);
  EXPECT_EQ(first.report->heartbeat, kTurnBegan + seconds(1));
  EXPECT_EQ(first.report->expected_completion, kTurnBegan + minutes(10) + seconds(1));
  of.responders[0].heartbeat_time = first.report->heartbeat;
  of.responders[0].expected_completion_time = first.report->expected_completion;
  of.responders[0].message = first.report->message;
  EXPECT_FALSE(decide_response(turn(of, {running}), now + seconds(30)).report);
}

TEST(NativeResponder, LeavesDisksToTheirMachine) {
  ResponderInput seen = turn();
  auto disks = std::make_shared<api::Pod>(*seen.pod);
  disks->meta.labels = api::StringMap{{"kubevirt.io", "hotplug-disk"}};
  seen.pod = disks;
  const auto got = decide_response(seen, kTurnBegan + seconds(1));
  EXPECT_FALSE(got.create);
  ASSERT_TRUE(got.report);
  EXPECT_TRUE(got.report->message.starts_with("declined: ")) << got.report->message;
}

TEST(NativeResponder, CompletesOnceThePodHasLeft) {
  for (const bool terminal : {false, true}) {
    ResponderInput seen = turn(eviction(), {evacuation(EvacuationPhase::kVerifying)});
    auto ended = std::make_shared<api::Pod>(*seen.pod);
    ended->phase = api::PodPhase::kSucceeded;
    seen.pod = terminal ? ended : nullptr;
    const auto got = decide_response(seen, kTurnBegan + minutes(1));
    ASSERT_TRUE(got.report);
    EXPECT_EQ(got.report->completion, kTurnBegan + minutes(1));
    seen.eviction->responders[0].completion_time = kTurnBegan + minutes(1);
    EXPECT_FALSE(decide_response(seen, kTurnBegan + minutes(2)).report) << "once";
  }
}

struct DeclineCase {
  const char* name;
  std::optional<api::Evacuation> evacuation;
  const char* owner;
  const char* message;
};
class NativeResponderDeclines : public testing::TestWithParam<DeclineCase> {};
TEST_P(NativeResponderDeclines, WithAReason) {
  ResponderInput seen = turn();
  if (GetParam().evacuation) seen.evacuations = {std::make_shared<const api::Evacuation>(*GetParam().evacuation)};
  seen.pod = target_pod(GetParam().owner);
  const auto got = decide_response(seen, kTurnBegan + seconds(5));
  EXPECT_FALSE(got.create);
  ASSERT_TRUE(got.report && got.report->completion);
  EXPECT_THAT(got.report->message, HasSubstr(GetParam().message));
}

api::Evacuation failed() {
  auto result = evacuation(EvacuationPhase::kFailed);
  result.status.reason = "BlockedTimeout";
  result.status.message = "blocked by a PDB";
  return result;
}

api::Evacuation requesting() {
  auto result = evacuation(EvacuationPhase::kInProgress, false);
  result.status.evictor = "eviction-request";
  return result;
}

INSTANTIATE_TEST_SUITE_P(
    Table, NativeResponderDeclines,
    testing::Values(DeclineCase{"AFailedEvacuation", failed(), "ReplicaSet", "Failed/BlockedTimeout: blocked by a PDB"},
                    DeclineCase{"ACancelledOne", evacuation(EvacuationPhase::kCancelled), "ReplicaSet", "Cancelled"},
                    DeclineCase{"AnOlderOneWithinItsTimeToLive", evacuation(EvacuationPhase::kFailed, false),
                                "ReplicaSet", "Failed"},
                    DeclineCase{"ItsOwnRequest", requesting(), "ReplicaSet", "itself"},
                    DeclineCase{"DaemonSets", std::nullopt, "DaemonSet", "DaemonSets"}),
    [](const auto& test) { return test.param.name; });

TEST(NativeResponder, SendsNoHeartbeatWithoutProgress) {
  auto suspended = evacuation(EvacuationPhase::kPending);
  suspended.spec.suspend = true;
  EXPECT_TRUE(does_nothing(decide_response(turn(eviction(), {suspended}), kTurnBegan + minutes(5))));
}

TEST(NativeResponder, LeavesASuccessorsEvacuationAlone) {
  auto of_successor = evacuation(EvacuationPhase::kInProgress, false);
  of_successor.spec.pod_ref.uid = {"another"};
  EXPECT_TRUE(decide_response(turn(eviction(), {of_successor}), kTurnBegan).create);
}

struct StopCase {
  const char* name;
  std::optional<api::NativeEviction> eviction;
  api::Evacuation evacuation;
  bool cancels;
};
class NativeResponderStops : public testing::TestWithParam<StopCase> {};
TEST_P(NativeResponderStops, EvacuationsOfTheEviction) {
  const auto got = decide_response(turn(GetParam().eviction, {GetParam().evacuation}), kTurnBegan);
  EXPECT_FALSE(got.report || got.create);
  if (GetParam().cancels) {
    EXPECT_THAT(got.cancel, ElementsAre(api::ObjectKey{"shop", "web-1-7c1a8c1e"}));
  } else {
    EXPECT_THAT(got.cancel, IsEmpty());
  }
}

api::NativeEviction final_eviction() {
  auto result = eviction();
  result.conditions = {{"Failed", api::ConditionStatus::kTrue, "CanceledDueToNoRequesters", "", 0, kTurnBegan}};
  return result;
}

INSTANTIATE_TEST_SUITE_P(
    Table, NativeResponderStops,
    testing::Values(
        StopCase{"Canceled", eviction(ResponderState::kCanceled), evacuation(EvacuationPhase::kRequesting), true},
        StopCase{"Interrupted", eviction(ResponderState::kInterrupted), evacuation(EvacuationPhase::kInProgress), true},
        StopCase{"Gone", std::nullopt, evacuation(EvacuationPhase::kPending), true},
        StopCase{"Final", final_eviction(), evacuation(EvacuationPhase::kInProgress), true},
        StopCase{"NotWhatLeavesAlready", final_eviction(), evacuation(EvacuationPhase::kEvicting), false},
        StopCase{"NotWhatHasEnded", std::nullopt, evacuation(EvacuationPhase::kFailed), false},
        StopCase{"NotWhatOthersMade", eviction(ResponderState::kCanceled),
                 evacuation(EvacuationPhase::kInProgress, false), false}),
    [](const auto& test) { return test.param.name; });

}  // namespace native_responder_test
}  // namespace controllers
