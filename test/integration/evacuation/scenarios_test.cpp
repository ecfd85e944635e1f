#include <nlohmann/json.hpp>

#include "api/meta/well_known.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/objects.hpp"
#include "test/integration/rig/rig.hpp"

/// The scenarios of the eviction API and of the annotation evictor, by number.
namespace evacuation_scenarios_test {

using api::Json;
using base::seconds;
using integration::Rig;
using Phase = api::EvacuationPhase;
using simulator::FaultEffect;

class Scenario : public Rig {
 protected:
  /// Creates cluster and operator. Returns the name of the first web pod.
  std::string begin(std::vector<std::pair<std::string, std::string>> annotations = {}, int replicas = 3) {
    stage(replicas, std::move(annotations));
    start_operator();
    return pods().front();
  }

  void fault(FaultEffect effect, std::int64_t count, const char* verb = "create", const char* resource = "pods",
             const char* subresource = "eviction") {
    simulator::FaultRule rule;
    rule.effect = effect;
    rule.verb = verb;
    rule.resource = resource;
    rule.subresource = subresource;
    rule.count = count;
    server->faults().add(rule);
  }

  /// Installs a webhook that denies the first `times` evictions.
  void webhook(simulator::Denial denial, int times) {
    auto left = std::make_shared<int>(times);
    simulator::Webhook hook;
    hook.name = "guard.example.com";
    hook.review = [denial, left](const simulator::AdmissionRequest& request) -> std::optional<simulator::Denial> {
      if (request.subresource != "eviction" || *left == 0) return std::nullopt;
      --*left;
      return denial;
    };
    server->add_webhook(hook);
  }

  void expect_end(const std::string& name, Phase phase, const std::string& why) {
    ASSERT_TRUE(run_to_end(name)) << api::to_string(this->phase(name)) << " " << get(name).status.message;
    EXPECT_EQ(this->phase(name), phase) << get(name).status.message;
    EXPECT_EQ(reason(name), why) << get(name).status.message;
  }
};

const std::string kRequest = "handoff.evacuator.dev/request";
const std::string kMode = "handoff.evacuator.dev/mode";
const std::string kScript = "simulator.evacuator.dev/handoff";

TEST_F(Scenario, S01_PlainSuccess) {
  const std::string pod = begin();
  const std::string name = evacuate(pod);
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_FALSE(pod_exists(pod));
  EXPECT_EQ(evictions().size(), 1u);
  const auto status = get(name).status;
  ASSERT_TRUE(status.outcome && status.outcome->replacement);
  EXPECT_TRUE(pod_exists(status.outcome->replacement->name));
  EXPECT_EQ(condition(name, "ReplacementReady") == "Ready" || condition(name, "ReplacementReady") == "SameNode", true);
  EXPECT_TRUE(has_event("Evicted"));
}

TEST_F(Scenario, S01_ManualWithoutUidAndNode) {
  const std::string pod = begin();
  const std::string name = evacuate(pod, [](Json& spec) { spec["podRef"].erase("uid"); });
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_FALSE(get(name).spec.pod_ref.uid.empty());
  EXPECT_FALSE(get(name).spec.node_name.empty());
}

TEST_F(Scenario, S02_BudgetBlocksThenFrees) {
  const std::string pod = begin();
  budget("web", "web", 3);
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return condition(name, "Progressing").starts_with("PDB"); }, seconds(30)));
  const auto blocked = get(name).status.blocked_by;
  ASSERT_EQ(blocked.size(), 1u);
  EXPECT_EQ(blocked[0].name, "web");
  EXPECT_EQ(blocked[0].disruptions_allowed, 0);
  EXPECT_EQ(blocked[0].desired_healthy, 3);
  run_for(seconds(100));
  EXPECT_EQ(phase(name), Phase::kRequesting);
  const auto freed = clock.now();
  edit(kube::kPdbs, "web", [](Json& pdb) { pdb["spec"]["minAvailable"] = 1; });
  ASSERT_TRUE(run_until([&] { return !pod_exists(pod) || granted() == 1; }, seconds(60)));
  EXPECT_LE(clock.now() - freed, base::Duration(seconds(1))) << "the eviction follows within a second";
  expect_end(name, Phase::kSucceeded, "Evicted");
}

TEST_F(Scenario, S03_BudgetBlocksToTheEnd) {
  const std::string pod = begin();
  budget("web", "web", 3);
  const std::string name = evacuate(pod, [](Json& spec) {
    spec["retry"] = {{"maxAttempts", 2}};
    spec["timeouts"] = {{"blockedSeconds", 300}};
  });
  expect_end(name, Phase::kFailed, "BlockedTimeout");
  EXPECT_TRUE(pod_exists(pod));
  EXPECT_EQ(get(name).status.attempt, 2);
  EXPECT_LT(evictions().size(), 2u * 16) << "backs off";
}

TEST_F(Scenario, S04_MultiPdbTransientAndPermanent) {
  const std::string pod = begin();
  budget("one", "web", 1);
  budget("two", "web", 1);
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return condition(name, "Progressing") == "MultiPDB"; }, seconds(30)));
  ASSERT_TRUE(cluster->store().remove(kube::kPdbs, {"shop", "two"}));
  expect_end(name, Phase::kSucceeded, "Evicted");

  budget("three", "web", 1);
  const std::string again = evacuate(pods().front(), [](Json& spec) { spec["retry"] = {{"maxAttempts", 1}}; });
  expect_end(again, Phase::kFailed, "BlockedTimeout");
}

TEST_F(Scenario, S05_UidChangedBeforeThePost) {
  stage();
  Json set = simulator::objects::stateful_set("shop", "db", 1, "100m", "64Mi");
  add(set);
  ASSERT_TRUE(run_until([&] { return pods("db").size() == 1; }, seconds(120)));
  start_operator();
  const std::string old_uid = pod_uid("db-0");
  const std::string name = evacuate("db-0");
  // The pod is replaced under its name between the operator's live read and its call.
  bool done = false;
  replica->transport.before_each_call = [&](const kube::Request& request) {
    if (done || request.method != "POST" || request.path.find("/eviction") == std::string::npos) return;
    done = true;
    ASSERT_TRUE(cluster->store().remove(kube::kPods, {"shop", "db-0"}, {}, 0));
    cluster->run_until_quiet();
    ASSERT_NE(pod_uid("db-0"), old_uid);
  };
  ASSERT_TRUE(run_to_end(name));
  EXPECT_TRUE(done);
  EXPECT_EQ(reason(name), "GoneExternally");
  EXPECT_EQ(condition(name, "TargetGone"), "UIDChanged");
  EXPECT_TRUE(pod_exists("db-0")) << "the successor was not touched";
  EXPECT_EQ(granted(), 0u);
}

TEST_F(Scenario, S06_NotFoundWhileThePodLives) {
  const std::string pod = begin();
  webhook({404, "Pod has been rescheduled", "", false}, 2);
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return condition(name, "Progressing") == "GoneMaybe"; }, seconds(30)));
  EXPECT_TRUE(pod_exists(pod));
  expect_end(name, Phase::kSucceeded, "Evicted");
}

TEST_F(Scenario, S07_ResponseLostAfter201) {
  const std::string pod = begin();
  fault(FaultEffect::kDropResponse, 1);
  const std::string name = evacuate(pod);
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(evictions().size(), 1u) << "looked first, did not ask twice";
}

TEST_F(Scenario, S08_ResponseLostBeforeTheEffect) {
  const std::string pod = begin();
  fault(FaultEffect::kDropRequest, 2);
  const std::string name = evacuate(pod);
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(granted(), 1u);
}

TEST_F(Scenario, S08_EachWriteArrivesTwice) {
  const std::string pod = begin({{kMode, "required"}, {kScript, "ack=1s, ready=5s, heartbeat=10s, aborted=1s"}});
  fault(FaultEffect::kDuplicate, 1);
  fault(FaultEffect::kDuplicate, -1, "patch", "pods", "-");
  fault(FaultEffect::kDuplicate, -1, "patch", "evacuations", "");
  const std::string name = evacuate(pod);
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(granted(), 1u);
  EXPECT_EQ(get(name).status.attempt, 1);
  EXPECT_EQ(pods().size(), 3u);
}

TEST_F(Scenario, S09_GrantedWithoutDeletionTimestamp) {
  const std::string pod = begin();
  budget("web", "web", 3);  // blocks the eviction; the first answers falsely report success
  const std::string name = evacuate(pod);
  replica->transport.lie = [n = 0](const kube::Request& request) mutable -> std::optional<kube::Response> {
    if (request.path.find("/eviction") == std::string::npos || n++ >= 3) return std::nullopt;
    return kube::Response{201, R"({"kind":"Status","status":"Success","code":201})", {}, "application/json"};
  };
  expect_end(name, Phase::kFailed, "BlockedTimeout");
  EXPECT_EQ(get(name).status.granted_without_delete, 3);
  EXPECT_TRUE(pod_exists(pod));
}

TEST_F(Scenario, S10_FinalizerHoldsAStoppedPod) {
  const std::string pod = begin();
  edit(kube::kPods, pod, [](Json& object) { object["metadata"]["finalizers"] = {"example.com/backup"}; });
  const std::string name = evacuate(pod);
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(condition(name, "TargetGone"), "PodTerminal") << "it does not run any more: that is gone enough";
  EXPECT_TRUE(pod_exists(pod));
}

TEST_F(Scenario, S10_FinalizerHoldsThePod) {
  const std::string pod = begin();
  const std::string node = (*cluster->store().get(kube::kPods, {"shop", pod}))["spec"]["nodeName"];
  edit(
      kube::kNodes, node,
      [](Json& object) { object["metadata"]["annotations"][std::string(simulator::behaviour::kDead)] = "x"; }, "");
  edit(kube::kPods, pod, [](Json& object) { object["metadata"]["finalizers"] = {"example.com/backup"}; });
  const std::string name = evacuate(pod);
  expect_end(name, Phase::kFailed, "TerminationTimeout");
  EXPECT_NE(get(name).status.message.find("example.com/backup"), std::string::npos);
  EXPECT_TRUE(pod_exists(pod)) << "never force-deleted";
}

TEST_F(Scenario, S11_DeadKubelet) {
  const std::string pod = begin();
  const std::string node = (*cluster->store().get(kube::kPods, {"shop", pod}))["spec"]["nodeName"];
  edit(
      kube::kNodes, node,
      [](Json& object) { object["metadata"]["annotations"][std::string(simulator::behaviour::kDead)] = "x"; }, "");
  const std::string name = evacuate(pod);
  expect_end(name, Phase::kFailed, "TerminationTimeout");
  EXPECT_NE(get(name).status.message.find(node), std::string::npos) << get(name).status.message;
  EXPECT_EQ(condition(name, "SlotAcquired"), "Released");
}

TEST_F(Scenario, S12_DeadWebhookRecovers) {
  const std::string pod = begin();
  webhook({500, "connection refused", "", true}, 3);
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return condition(name, "Progressing") == "WebhookDown"; }, seconds(30)));
  EXPECT_EQ(get(name).status.blocked_by.at(0).name, "guard.example.com");
  expect_end(name, Phase::kSucceeded, "Evicted");
}

TEST_F(Scenario, S13_PriorityAndFairness) {
  const std::string pod = begin();
  fault(FaultEffect::kTooManyRequests, 3);
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return condition(name, "Progressing") == "Throttled"; }, seconds(30)));
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(get(name).status.attempt, 1);
}

TEST_F(Scenario, S14_NamespaceTerminating) {
  const std::string pod = begin();
  replica->transport.lie = [n = 0](const kube::Request& request) mutable -> std::optional<kube::Response> {
    if (request.path.find("/eviction") == std::string::npos || n++ >= 2) return std::nullopt;
    return kube::Response{403,
                          R"({"kind":"Status","status":"Failure","code":403,"reason":"Forbidden","message":"forbidden",
      "details":{"causes":[{"reason":"NamespaceTerminating","message":"namespace shop is being terminated"}]}})",
                          {},
                          ""};
  };
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return condition(name, "Progressing") == "NamespaceTerminating"; }, seconds(30)));
  expect_end(name, Phase::kSucceeded, "Evicted");
}

/// A server that has just started refuses requests that its roles allow, for some seconds.
TEST_F(Scenario, S15_RbacOfAServerThatHasJustStarted) {
  const std::string pod = begin();
  std::optional<base::TimePoint> first;
  replica->transport.lie = [&](const kube::Request& request) -> std::optional<kube::Response> {
    if (request.path.find("/eviction") == std::string::npos) return std::nullopt;
    first = first.value_or(clock.now());
    if (clock.now() - *first > seconds(15)) return std::nullopt;
    return kube::Response{403,
                          R"({"kind":"Status","status":"Failure","code":403,"reason":"Forbidden",
      "message":"pods \"web\" is forbidden: User \"evacuator\" cannot create resource \"pods/eviction\""})",
                          {},
                          ""};
  };
  const std::string name = evacuate(pod);
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(get(name).status.attempt, 1);
}

/// Responses of a proxy are not decisions of the API server, whatever their status code.
TEST_F(Scenario, S15_PagesOfAProxyFailNothing) {
  const std::string pod = begin();
  static constexpr int kPages[] = {400, 403, 405, 407, 408, 413, 421, 425};
  replica->transport.lie = [n = std::size_t{0}](const kube::Request& request) mutable -> std::optional<kube::Response> {
    if (request.path.find("/eviction") == std::string::npos || n >= std::size(kPages)) return std::nullopt;
    return kube::Response{kPages[n++], "<html>Access denied</html>", {}, "text/html"};
  };
  const std::string name = evacuate(pod);
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(get(name).status.attempt, 1);
}

TEST_F(Scenario, S15_Rbac) {
  const std::string pod = begin();
  replica->transport.lie = [](const kube::Request& request) -> std::optional<kube::Response> {
    if (request.path.find("/eviction") == std::string::npos) return std::nullopt;
    return kube::Response{403,
                          R"({"kind":"Status","status":"Failure","code":403,"reason":"Forbidden",
      "message":"pods \"web\" is forbidden: User \"evacuator\" cannot create resource \"pods/eviction\""})",
                          {},
                          ""};
  };
  const std::string name = evacuate(pod);
  expect_end(name, Phase::kFailed, "Forbidden");
  EXPECT_EQ(get(name).status.attempt, 1) << "permanent: not tried again";
}

// --- handoff

TEST_F(Scenario, S28_HandoffPreMigratePost) {
  const std::string pod = begin({{kMode, "required"},
                                 {"handoff.evacuator.dev/phases", "pre,migrate,post"},
                                 {kScript, "ack=1s, pre-done=3s, progress=2s, heartbeat=10s, ready=20s, aborted=1s"}});
  const std::string name = evacuate(pod);
  std::set<int> progress;
  ASSERT_TRUE(run_until(
      [&] {
        if (const auto seen = get(name).status.progress) progress.insert(*seen);
        return phase(name) == Phase::kVerifying;
      },
      seconds(300)));
  EXPECT_GE(progress.size(), 3u);
  EXPECT_TRUE(has_event("HandoffAcknowledged"));
  run_for(seconds(60));
  EXPECT_EQ(phase(name), Phase::kVerifying) << "post was not reported";
  edit(kube::kEvacuations, name, [](Json& object) {
    for (Json& each : object["status"]["conditions"]) {
      if (each["type"] == "PostCompleted") each["status"] = "True";
    }
  });
  expect_end(name, Phase::kSucceeded, "Evicted");
}

TEST_F(Scenario, S29_NoOperatorRequired) {
  const std::string pod = begin({{kMode, "required"}});
  const std::string name = evacuate(pod, [](Json& spec) { spec["retry"] = {{"maxAttempts", 1}}; });
  ASSERT_TRUE(run_until([&] { return !annotation(pod, kRequest).empty(); }, seconds(10)));
  expect_end(name, Phase::kFailed, "AcknowledgeTimeout");
  EXPECT_TRUE(pod_exists(pod));
  EXPECT_TRUE(evictions().empty());
  for (const char* key : {"request", "request-phase", "request-deadline", "request-reason", "abort"}) {
    EXPECT_EQ(annotation(pod, std::string("handoff.evacuator.dev/") + key), "") << key;
  }
}

TEST_F(Scenario, S29_NoOperatorOptional) {
  const std::string pod = begin({{kMode, "optional"}});
  const std::string name = evacuate(pod);
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(condition(name, "HandoffAcknowledged"), "AcknowledgeTimeout");
}

/// Removes `ready` while the eviction call is in flight.
void revoke_on_the_wire(integration::Operator& replica, simulator::Cluster& cluster, const std::string& pod,
                        bool* done) {
  replica.transport.before_each_call = [&cluster, pod, done](const kube::Request& request) {
    if (*done || request.path.find("/eviction") == std::string::npos) return;
    *done = true;
    ASSERT_TRUE(
        cluster.store().mutate(kube::kPods, {"shop", pod}, simulator::Part::kAll, [](Json& object) -> base::Status {
          object["metadata"]["annotations"].erase("handoff.evacuator.dev/ready-to-evict");
          object["metadata"]["annotations"]["handoff.evacuator.dev/mode"] = "optional";  // disables the I10 check
          return base::Done{};
        }));
  };
}

TEST_F(Scenario, S30_RevokedBetweenGetAndPostNormal) {
  const std::string pod = begin({{kMode, "required"}, {kScript, "ack=1s, ready=5s, heartbeat=10s, aborted=1s"}});
  const std::string name = evacuate(pod);
  bool revoked = false;
  revoke_on_the_wire(*replica, *cluster, pod, &revoked);
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_TRUE(revoked) << "the window of one round trip is accepted";
}

TEST_F(Scenario, S30_RevokedBetweenGetAndPostStrict) {
  const std::string pod = begin({{kMode, "required"},
                                 {"handoff.evacuator.dev/strict", "true"},
                                 {kScript, "ack=1s, ready=5s, heartbeat=10s, aborted=1s"}});
  const std::string name = evacuate(pod);
  bool revoked = false;
  revoke_on_the_wire(*replica, *cluster, pod, &revoked);
  ASSERT_TRUE(run_until([&] { return revoked && phase(name) == Phase::kInProgress; }, seconds(60)));
  EXPECT_TRUE(pod_exists(pod));
  EXPECT_EQ(granted(), 0u);
  EXPECT_EQ(condition(name, "ReadyToEvict"), "Revoked");
}

TEST_F(Scenario, S31_FailedRetryableThenFine) {
  const std::string pod =
      begin({{kMode, "required"}, {kScript, "ack=1s, failed=5s:RetryableBusy:in backup, aborted=1s"}});
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kBackoff; }, seconds(60)));
  EXPECT_EQ(reason(name), "HandoffFailed");
  annotate(pod, kScript, "ack=1s, ready=5s, heartbeat=10s, aborted=1s");
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(get(name).status.attempt, 2);
}

TEST_F(Scenario, S32_StaleTokensHaveNoEffect) {
  const std::string pod = begin({{kMode, "required"}, {kScript, "ack=1s, ready=5s, heartbeat=10s, stale-token"}});
  const std::string name = evacuate(pod, [](Json& spec) { spec["retry"] = {{"maxAttempts", 1}}; });
  expect_end(name, Phase::kFailed, "AcknowledgeTimeout");
  EXPECT_TRUE(evictions().empty());
}

TEST_F(Scenario, S33_AbortIgnored) {
  const std::string pod = begin({{kMode, "required"}, {kScript, "ack=1s, heartbeat=10s"}});
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return condition(name, "HandoffAcknowledged") == "Acknowledged"; }, seconds(60)));
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(condition(name, "RollbackComplete"), "AbortTimeout");
  EXPECT_EQ(annotation(pod, kRequest), "");
  EXPECT_TRUE(pod_exists(pod));
}

TEST_F(Scenario, S34_HeartbeatFrozen) {
  const std::string pod = begin({{kMode, "required"},
                                 {"handoff.evacuator.dev/timeout", "10h"},
                                 {kScript, "ack=1s, heartbeat=60s, unchanged-heartbeat, aborted=1s"}});
  const std::string name = evacuate(pod, [](Json& spec) { spec["retry"] = {{"maxAttempts", 1}}; });
  expect_end(name, Phase::kFailed, "HeartbeatLost");
}

TEST_F(Scenario, HandoffCancelledHalfWay) {
  const std::string pod =
      begin({{kMode, "required"}, {kScript, "ack=1s, progress=2s, heartbeat=10s, ready=60s, aborted=3s"}});
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return get(name).status.progress.value_or(0) >= 30; }, seconds(60)));
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(condition(name, "RollbackComplete"), "Complete");
  EXPECT_EQ(annotation(pod, kRequest), "");
}

TEST_F(Scenario, HandoffOwnerEvicts) {
  const std::string pod = begin({{kMode, "required"},
                                 {"handoff.evacuator.dev/evict-by", "owner"},
                                 {kScript, "ack=1s, heartbeat=10s, owner-deletes=20s"}});
  const std::string name = evacuate(pod);
  expect_end(name, Phase::kSucceeded, "MovedByOwner");
  EXPECT_TRUE(evictions().empty());
}

TEST_F(Scenario, HandoffSurvivesAClockTenMinutesOff) {
  const std::string pod = begin({{kMode, "required"}, {kScript, "ack=1s, heartbeat=10s, ready=30s, skew=-10m"}});
  const std::string name = evacuate(pod);
  expect_end(name, Phase::kSucceeded, "Evicted");
}

TEST_F(Scenario, BackgroundEvictionIsFollowed) {
  const std::string pod = begin({{"descheduler.alpha.kubernetes.io/request-evict-only", ""},
                                 {std::string(simulator::behaviour::kBackground), "move=45s"}});
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return condition(name, "HandoffAcknowledged") == "Acknowledged"; }, seconds(60)));
  expect_end(name, Phase::kSucceeded, "MovedByOwner");
  EXPECT_EQ(evictions().size(), 1u);
}

TEST_F(Scenario, AFailedBackgroundEvictionIsRequestedAgain) {
  const std::string pod = begin({{"descheduler.alpha.kubernetes.io/request-evict-only", ""},
                                 {std::string(simulator::behaviour::kBackground), "fail=10s"}});
  const std::string name = evacuate(pod, [](Json& spec) { spec["retry"] = {{"maxAttempts", 2}}; });
  expect_end(name, Phase::kFailed, "HandoffFailed");
  EXPECT_EQ(evictions().size(), 2u);
  EXPECT_TRUE(pod_exists(pod));
}

// --- leadership, limits, life cycle

TEST_F(Scenario, S43_LeaderChangeInEachPhase) {
  stage(3, {{kMode, "required"},
            {"handoff.evacuator.dev/phases", "pre,migrate"},
            {kScript, "ack=1s, pre-done=5s, heartbeat=10s, ready=10s, aborted=2s"}});
  budget("web", "web", 3);
  for (const Phase at : {Phase::kPending, Phase::kPreparing, Phase::kRequesting, Phase::kInProgress, Phase::kEvicting,
                         Phase::kVerifying, Phase::kAborting, Phase::kBackoff}) {
    SCOPED_TRACE(api::to_string(at));
    start_operator("old");
    edit(kube::kPdbs, "web", [](Json& pdb) { pdb["spec"]["minAvailable"] = 3; });
    const std::string pod = pods().front();
    const std::string name = evacuate(pod, [&](Json& spec) {
      if (at == Phase::kPending) spec["suspend"] = true;
      if (at == Phase::kBackoff) spec["timeouts"] = {{"blockedSeconds", 20}};
    });
    if (at == Phase::kEvicting || at == Phase::kVerifying) {
      edit(kube::kPdbs, "web", [](Json& pdb) { pdb["spec"]["minAvailable"] = 1; });
    }
    if (at == Phase::kAborting) {
      ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kInProgress; }, seconds(120)));
      cancel(name);
    }
    ASSERT_TRUE(run_until([&] { return phase(name) == at; }, seconds(200))) << api::to_string(phase(name));
    stop_operator();
    run_for(seconds(5));
    start_operator("new");
    edit(kube::kPdbs, "web", [](Json& pdb) { pdb["spec"]["minAvailable"] = 1; });
    if (at == Phase::kPending) patch_evacuation(name, {{"spec", {{"suspend", false}}}});
    ASSERT_TRUE(run_to_end(name)) << api::to_string(phase(name));
    EXPECT_EQ(phase(name), at == Phase::kAborting ? Phase::kCancelled : Phase::kSucceeded) << get(name).status.message;
    delete_evacuation(name);
    stop_operator();
    run_for(seconds(60));
  }
}

TEST_F(Scenario, S46_LimitsHoldAcrossALeaderChange) {
  limits = {api::IntOrPercent{3, false}, api::IntOrPercent{2, false}, {}, api::IntOrPercent{5, false}};
  begin({}, 9);
  std::vector<std::string> names;
  for (const std::string& pod : pods()) names.push_back(evacuate(pod));
  std::size_t most = 0;
  watcher = [&] {
    std::size_t in_flight = 0;
    for (const std::string& name : names) {
      switch (phase(name)) {
        case Phase::kPreparing:
        case Phase::kRequesting:
        case Phase::kInProgress:
        case Phase::kEvicting:
        case Phase::kAborting: ++in_flight; break;
        default: break;
      }
    }
    most = std::max(most, in_flight);
  };
  int leaders = 1;
  for (int i = 0; i < 40; ++i) {
    run_for(seconds(7));
    start_operator("leader-" + std::to_string(++leaders));
  }
  for (const std::string& name : names) expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(most, 2u);
  EXPECT_EQ(granted(), names.size()) << "none lost, none twice";
  EXPECT_EQ(evictions().size(), names.size());
}

TEST_F(Scenario, S47_DecisionTtl) {
  limits.total = api::IntOrPercent{0, false};
  const std::string pod = begin();
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return condition(name, "SlotAcquired") == "WaitingTotal"; }, seconds(10)));
  EXPECT_EQ(get(name).status.blocked_by.at(0).kind, "Limit");
  const auto before = clock.now();
  expect_end(name, Phase::kCancelled, "DecisionExpired");
  EXPECT_LE(clock.now() - before, base::Duration(seconds(601)));
}

TEST_F(Scenario, S48_CancelAtEvictingIsRefused) {
  const std::string pod = begin({{std::string(simulator::behaviour::kStopSeconds), "20"}});
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kEvicting; }, seconds(30)));
  cancel(name);
  ASSERT_TRUE(run_until([&] { return condition(name, "CancelAccepted") == "PointOfNoReturn"; }, seconds(5)));
  EXPECT_TRUE(has_event("CancelRefused"));
  expect_end(name, Phase::kSucceeded, "Evicted");
}

TEST_F(Scenario, S49_ObjectDeletionInEachPhase) {
  stage(3, {{kMode, "required"},
            {"handoff.evacuator.dev/phases", "pre,migrate,post"},
            {std::string(simulator::behaviour::kStopSeconds), "10"},
            {kScript, "ack=1s, pre-done=5s, heartbeat=10s, ready=10s, aborted=2s"}});
  budget("web", "web", 3);
  start_operator();
  for (const Phase at : {Phase::kPending, Phase::kPreparing, Phase::kInProgress, Phase::kRequesting, Phase::kAborting,
                         Phase::kBackoff, Phase::kEvicting, Phase::kVerifying}) {
    SCOPED_TRACE(api::to_string(at));
    const bool leaves = at == Phase::kEvicting || at == Phase::kVerifying;
    const std::string pod = pods().front();
    const std::string name = evacuate(pod, [&](Json& spec) {
      spec["suspend"] = at == Phase::kPending;
      if (at == Phase::kBackoff) spec["timeouts"] = {{"blockedSeconds", 20}};
    });
    if (leaves) edit(kube::kPdbs, "web", [](Json& pdb) { pdb["spec"]["minAvailable"] = 1; });
    if (at == Phase::kAborting) {
      ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kInProgress; }, seconds(120)));
      cancel(name);
    }
    ASSERT_TRUE(run_until(
        [&] {
          const bool blocked = at != Phase::kRequesting || condition(name, "Progressing").starts_with("PDB");
          return phase(name) == at && blocked;
        },
        seconds(200)))
        << api::to_string(phase(name));
    delete_evacuation(name);
    ASSERT_TRUE(run_until([&] { return !find(name); }, seconds(900))) << api::to_string(phase(name));
    EXPECT_EQ(pod_exists(pod), !leaves);
    EXPECT_EQ(annotation(pod, kRequest), "") << "nothing is left behind";
    EXPECT_EQ(has_event("CancelRefused"), leaves);
  }
}

TEST_F(Scenario, ASpecThatCannotBeReadAnyMoreEndsWithItsMarksTakenBack) {
  const std::string pod = begin({{kMode, "required"}, {kScript, "ack=1s, heartbeat=10s, aborted=2s"}});
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return condition(name, "HandoffAcknowledged") == "Acknowledged"; }, seconds(60)));
  edit(kube::kEvacuations, name, [](Json& object) { object["spec"]["surprise"] = 1; });
  const auto stored = [&] { return cluster->store().get(kube::kEvacuations, {"shop", name}); };
  ASSERT_TRUE(run_until([&] { return (*stored())["status"]["phase"] == "Failed"; }, seconds(600)));
  run_for(seconds(5));
  EXPECT_EQ((*stored())["status"]["reason"], "InvalidSpec");
  EXPECT_NE((*stored())["status"]["message"].get<std::string>().find("spec.surprise"), std::string::npos);
  EXPECT_TRUE((*stored())["metadata"].value("finalizers", Json::array()).empty());
  EXPECT_EQ(annotation(pod, kRequest), "");
  EXPECT_TRUE(pod_exists(pod));
  EXPECT_TRUE(evictions().empty());
}

TEST_F(Scenario, S50_DryRunSendsOnlyQueryDryRun) {
  const std::string pod = begin({{kMode, "required"}});
  const std::string name = evacuate(pod, [](Json& spec) { spec["dryRun"] = true; });
  expect_end(name, Phase::kSucceeded, "DryRun");
  EXPECT_TRUE(pod_exists(pod));
  ASSERT_EQ(evictions().size(), 1u);
  EXPECT_TRUE(evictions()[0].dry_run);
  EXPECT_EQ(annotation(pod, kRequest), "");
}

TEST_F(Scenario, DuplicateEndsAtOnceAndNamesTheFirst) {
  const std::string pod = begin();
  budget("web", "web", 3);
  const std::string first = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return phase(first) == Phase::kRequesting; }, seconds(10)));
  const Json body = {{"apiVersion", "evacuator.dev/v1alpha1"},
                     {"kind", "Evacuation"},
                     {"metadata", {{"name", "second"}, {"namespace", "shop"}}},
                     {"spec", {{"podRef", {{"name", pod}}}}}};
  ASSERT_EQ(server->handle(kube::create_request(kube::kEvacuations, "shop", body), {"bob", {}, ""}).status, 201);
  expect_end("second", Phase::kFailed, "DuplicateRequest");
  EXPECT_NE(get("second").status.message.find(first), std::string::npos);
  EXPECT_EQ(phase(first), Phase::kRequesting);
}

TEST_F(Scenario, ADryRunBetweenAttemptsYieldsToTheMoverOfItsPod) {
  const std::string pod = begin();
  budget("web", "web", 3);
  const std::string dry = evacuate(pod, [](Json& spec) {
    spec["dryRun"] = true;
    spec["timeouts"] = {{"blockedSeconds", 60}};
    spec["retry"] = {{"maxAttempts", 3}, {"backoffSeconds", 30}};
  });
  ASSERT_TRUE(run_until([&] { return phase(dry) == Phase::kRequesting; }, seconds(10)));
  const Json body = {{"apiVersion", "evacuator.dev/v1alpha1"},
                     {"kind", "Evacuation"},
                     {"metadata", {{"name", "second"}, {"namespace", "shop"}}},
                     {"spec", {{"podRef", {{"name", pod}}}}}};
  ASSERT_EQ(server->handle(kube::create_request(kube::kEvacuations, "shop", body), {"bob", {}, ""}).status, 201);
  ASSERT_TRUE(run_until([&] { return phase(dry) == Phase::kBackoff; }, seconds(120)));
  EXPECT_EQ(phase("second"), Phase::kRequesting);
  expect_end(dry, Phase::kFailed, "DuplicateRequest");
  EXPECT_NE(get(dry).status.message.find("second"), std::string::npos);
}

TEST_F(Scenario, AnotherWritersStatusFieldsSurvive) {
  const std::string pod = begin();
  budget("web", "web", 3);
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kRequesting; }, seconds(10)));
  edit(kube::kEvacuations, name, [](Json& object) {
    object["status"]["conditions"].push_back(
        {{"type", "Foreign"}, {"status", "True"}, {"reason", "Told"}, {"lastTransitionTime", "2026-11-21T12:00:00Z"}});
  });
  edit(kube::kPdbs, "web", [](Json& pdb) { pdb["spec"]["minAvailable"] = 1; });
  ASSERT_TRUE(run_until([&] { return phase(name) != Phase::kRequesting; }, seconds(10)));
  EXPECT_EQ(condition(name, "Foreign"), "Told");
  expect_end(name, Phase::kSucceeded, "Evicted");
}

TEST_F(Scenario, AFencedReplicaTouchesNothing) {
  const std::string pod = begin();
  replica->may_act = false;
  const std::string name = evacuate(pod);
  run_for(seconds(120));
  EXPECT_EQ(get(name).status, api::EvacuationStatus{});
  EXPECT_TRUE(evictions().empty());
  replica->may_act = true;
  expect_end(name, Phase::kSucceeded, "Evicted");
}

TEST_F(Scenario, FinishedOnesAreRemovedAfterTheirTime) {
  const std::string pod = begin();
  const std::string name = evacuate(pod, [](Json& spec) { spec["ttlSecondsAfterFinished"] = 100; });
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_TRUE(run_until([&] { return !find(name); }, seconds(102)));
}

}  // namespace evacuation_scenarios_test
