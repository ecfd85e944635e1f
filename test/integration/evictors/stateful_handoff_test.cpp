#include <nlohmann/json.hpp>

#include "simulator/behaviour.hpp"
#include "simulator/objects.hpp"
#include "simulator/operators/stateful_owners.hpp"
#include "test/integration/rig/rig.hpp"

/// Scenarios 6 and 35-37 with fakes of the operators, and the generic protocol through the evictor stateful-handoff
/// (28-34 of the evictor annotation are in test/integration/evacuation/scenarios_test.cpp).
namespace stateful_handoff_test {

using api::Json;
using base::seconds;
using integration::Rig;
using Phase = api::EvacuationPhase;
using Strings = std::vector<std::pair<std::string, std::string>>;

const std::string kRollMark = "strimzi.io/manual-rolling-update";
const std::string kReschedule = "cao.couchbase.com/reschedule";
const std::string kStarted = "drain.planetscale.com/started";
const std::string kToken = "evacuator.dev/evacuation-token";

Json choose(Strings parameters) {
  Json evictor = {{"name", "stateful-handoff"}};
  for (const auto& [name, value] : parameters) evictor["parameters"][name] = value;
  return Json::array({evictor});
}

class Stateful : public Rig {
 protected:
  Stateful() { simulator::add_stateful_owners(*cluster, *server); }

  /// Creates a StatefulSet of two pods with these labels and annotations, and the operator. Returns the first pod.
  std::string begin(const std::string& set, const Strings& labels, const Strings& annotations = {}) {
    namespace objects = simulator::objects;
    add(objects::name_space("shop"));
    for (const char* node : {"node-a", "node-b", "node-c"}) add(objects::node(node, "8", "16Gi"));
    Json object = objects::stateful_set("shop", set, 2, "100m", "64Mi");
    for (const auto& [key, value] : labels) objects::template_of(object)["metadata"]["labels"][key] = value;
    for (const auto& [key, value] : annotations) objects::annotate_pods(object, key, value);
    add(std::move(object));
    EXPECT_TRUE(run_until([&] { return pods(set).size() == 2; }, std::chrono::minutes(2)));
    run_for(seconds(60));
    start_operator();
    return set + "-0";
  }
  std::string kafka(const Strings& annotations = {}) {
    return begin("kafka", {{"strimzi.io/kind", "Kafka"}, {"strimzi.io/name", "my-kafka"}}, annotations);
  }
  std::string couchbase(const Strings& annotations = {}) {
    return begin("couchbase", {{"couchbase_cluster", "cb"}}, annotations);
  }
  std::string tablet(const std::string& script) {
    return begin("vttablet", {},
                 {{"drain.planetscale.com/supported", ""}, {std::string(simulator::behaviour::kVitess), script}});
  }

  void expect_end(const std::string& name, Phase phase, const std::string& why) {
    ASSERT_TRUE(run_to_end(name)) << api::to_string(this->phase(name)) << " " << get(name).status.message;
    EXPECT_EQ(this->phase(name), phase) << get(name).status.message;
    EXPECT_EQ(reason(name), why) << get(name).status.message;
  }
};

TEST_F(Stateful, S06_CouchbaseSays404WhileThePodLives) {
  const std::string pod = couchbase({{std::string(simulator::behaviour::kSaysGone), "2"}});
  const std::string uid = pod_uid(pod);
  const std::string name = evacuate(pod, [](Json& spec) { spec["evictors"] = choose({{"request", "eviction"}}); });
  ASSERT_TRUE(run_until([&] { return condition(name, "Progressing") == "GoneMaybe"; }, seconds(30)));
  EXPECT_EQ(pod_uid(pod), uid);
  EXPECT_EQ(phase(name), Phase::kRequesting) << "a 404 is not taken for the pod's end";
  expect_end(name, Phase::kSucceeded, "MovedByOwner");
  EXPECT_NE(pod_uid(pod), uid);
  EXPECT_EQ(granted(), 0u);
}

TEST_F(Stateful, S35_StrimziRollsUnderTheSameNameOnTheSameNode) {
  const std::string pod = kafka();
  const std::string uid = pod_uid(pod);
  // A local volume always binds the pod to its node.
  const auto old = cluster->store().get(kube::kPods, {"shop", pod});
  edit(kube::kStatefulSets, "kafka", [&](Json& set) {
    set["spec"]["updateStrategy"] = {{"type", "OnDelete"}};
    set["spec"]["template"]["spec"]["nodeSelector"] = {{"kubernetes.io/hostname", (*old)["spec"]["nodeName"]}};
  });
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kInProgress; }, seconds(30)));
  EXPECT_EQ(get(name).status.evictor, "stateful-handoff");
  EXPECT_EQ(get(name).status.adapter, "strimzi");
  EXPECT_EQ(annotation(pod, kRollMark), "true");
  EXPECT_EQ(condition(name, "HandoffAcknowledged"), "Acknowledged");
  expect_end(name, Phase::kSucceeded, "MovedByOwner");
  EXPECT_NE(pod_uid(pod), uid) << "the UID tells, not the name";
  EXPECT_EQ(condition(name, "ReplacementReady"), "SameNode");
  EXPECT_TRUE(evictions().empty()) << "asked by annotation, never evicted";
  EXPECT_EQ(annotation(pod, kToken), "") << "the successor carries none of our marks";
}

TEST_F(Stateful, S35_StrimziThroughTheDrainCleaner) {
  const std::string pod = kafka();
  const std::string name = evacuate(pod, [](Json& spec) { spec["evictors"] = choose({{"request", "eviction"}}); });
  expect_end(name, Phase::kSucceeded, "MovedByOwner");
  EXPECT_EQ(evictions().size(), 1u) << "500 was understood as a yes";
  EXPECT_EQ(granted(), 0u);
}

TEST_F(Stateful, S36_StrimziNeverRolls) {
  const std::string pod = kafka({{std::string(simulator::behaviour::kRoll), "never"}});
  const std::string name = evacuate(pod, [](Json& spec) { spec["retry"] = {{"maxAttempts", 1}}; });
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kInProgress; }, seconds(30)));
  const auto began = clock.now();
  expect_end(name, Phase::kFailed, "ProgressTimeout");
  EXPECT_GE(clock.now() - began, seconds(1800)) << "Strimzi's own total";
  EXPECT_LE(clock.now() - began, seconds(1900));
  EXPECT_EQ(annotation(pod, kRollMark), "") << "taken back";
  EXPECT_EQ(annotation(pod, kToken), "");
  EXPECT_EQ(condition(name, "RollbackComplete"), "Complete");
  EXPECT_TRUE(pod_exists(pod));
}

TEST_F(Stateful, S36_StrimziDropsTheMark) {
  const std::string pod = kafka({{std::string(simulator::behaviour::kRoll), "drop=20s"}});
  const std::string name = evacuate(pod, [](Json& spec) { spec["retry"] = {{"maxAttempts", 2}}; });
  expect_end(name, Phase::kFailed, "HandoffFailed");
  EXPECT_EQ(get(name).status.attempt, 2);
  EXPECT_EQ(annotation(pod, kToken), "");
}

TEST_F(Stateful, AForeignRollIsFollowedButNotReverted) {
  const std::string pod = kafka({{std::string(simulator::behaviour::kRoll), "never"}});
  annotate(pod, kRollMark, "true");
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kInProgress; }, seconds(30)));
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(annotation(pod, kRollMark), "true");
  EXPECT_EQ(annotation(pod, kToken), "");
}

TEST_F(Stateful, StrimziCancelTakesTheMarkBack) {
  for (const char* request : {"annotation", "eviction"}) {
    SCOPED_TRACE(request);
    const std::string pod = request == std::string("annotation") ? kafka() : "kafka-1";
    const std::string name = evacuate(pod, [&](Json& spec) { spec["evictors"] = choose({{"request", request}}); });
    ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kInProgress; }, seconds(30)));
    EXPECT_EQ(annotation(pod, kRollMark), "true");
    cancel(name);
    expect_end(name, Phase::kCancelled, "UserCancelled");
    EXPECT_EQ(annotation(pod, kRollMark), "");
    EXPECT_EQ(annotation(pod, kToken), "");
    EXPECT_TRUE(pod_exists(pod));
  }
}

TEST_F(Stateful, CouchbaseIsAskedByAnnotation) {
  const std::string pod = couchbase();
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return annotation(pod, kReschedule) == "true"; }, seconds(30)));
  expect_end(name, Phase::kSucceeded, "MovedByOwner");
  EXPECT_TRUE(evictions().empty());
}

TEST_F(Stateful, CouchbaseWaitsForCapacityForItsSecondPod) {
  const std::string pod = couchbase();
  for (const char* node : {"node-a", "node-b", "node-c"})
    edit(
        kube::kNodes, node, [](Json& object) { object["spec"]["unschedulable"] = true; }, "");
  settle();
  const std::string name = evacuate(pod, [](Json& spec) { spec["evictors"] = choose({}); });
  run_for(seconds(30));
  EXPECT_EQ(phase(name), Phase::kPending);
  EXPECT_EQ(condition(name, "SlotAcquired"), "WaitingCapacity");
  EXPECT_EQ(annotation(pod, kReschedule), "");
  for (const char* node : {"node-a", "node-b", "node-c"})
    edit(
        kube::kNodes, node, [](Json& object) { object["spec"].erase("unschedulable"); }, "");
  expect_end(name, Phase::kSucceeded, "MovedByOwner");
  EXPECT_FALSE(get(name).status.target_node.empty());
}

TEST_F(Stateful, TikvOwnerDeletesThePod) {
  const std::string pod =
      begin("tikv", {{"app.kubernetes.io/component", "tikv"}, {"app.kubernetes.io/managed-by", "tidb-operator"}});
  const std::string name = evacuate(pod);
  expect_end(name, Phase::kSucceeded, "MovedByOwner");
  EXPECT_TRUE(evictions().empty());
}

TEST_F(Stateful, VitessIsEvictedAfterFinished) {
  const std::string pod = tablet("ack=1s, finish=20s");
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return condition(name, "HandoffAcknowledged") == "Acknowledged"; }, seconds(30)));
  EXPECT_TRUE(evictions().empty());
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(granted(), 1u);
}

TEST_F(Stateful, S37_VitessWithdrawsFinished) {
  const std::string pod = tablet("ack=1s, finish=20s, withdraw=10s");
  budget("vttablet", "vttablet", 2);  // blocks the eviction while `finished` is set
  run_for(seconds(10));
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return condition(name, "Progressing").starts_with("PDB"); }, seconds(60)));
  ASSERT_TRUE(run_until([&] { return condition(name, "ReadyToEvict") == "Revoked"; }, seconds(60)));
  EXPECT_EQ(phase(name), Phase::kInProgress);
  EXPECT_EQ(granted(), 0u);
  const std::size_t calls = evictions().size();
  run_for(seconds(5));
  EXPECT_EQ(evictions().size(), calls) << "nothing is asked while it is withdrawn";
  edit(kube::kPdbs, "vttablet", [](Json& pdb) { pdb["spec"]["minAvailable"] = 1; });
  expect_end(name, Phase::kSucceeded, "Evicted");
}

TEST_F(Stateful, VitessCancelEndsTheDrain) {
  const std::string pod = tablet("ack=1s, finish=600s");
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return condition(name, "HandoffAcknowledged") == "Acknowledged"; }, seconds(30)));
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(annotation(pod, kStarted), "");
  EXPECT_EQ(annotation(pod, "drain.planetscale.com/acknowledged"), "");
  EXPECT_EQ(condition(name, "RollbackComplete"), "Complete");
}

TEST_F(Stateful, S28_GenericHandoffThroughThisEvictor) {
  const std::string pod =
      begin("db", {},
            {{"handoff.evacuator.dev/mode", "required"},
             {"handoff.evacuator.dev/phases", "pre,migrate"},
             {"simulator.evacuator.dev/handoff", "ack=1s, pre-done=3s, heartbeat=10s, ready=20s, aborted=1s"}});
  const std::string name = evacuate(pod, [](Json& spec) { spec["evictors"] = choose({}); });
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(get(name).status.adapter, "generic");
}

TEST_F(Stateful, AProcessThatDiesAtEachCallOfAStrimziRollLeavesTheSameEnd) {
  const std::string pod = kafka();
  for (int at = 0; at < 14; ++at) {
    SCOPED_TRACE("died at call " + std::to_string(at));
    start_operator("first");
    const std::string name = evacuate(pod);
    replica->transport.die_in(at, at % 2 == 0 ? fakes::Death::kBeforeTheCall : fakes::Death::kAfterTheCall);
    ASSERT_TRUE(run_to_end_over_deaths({name}, std::chrono::hours(2)));
    EXPECT_EQ(reason(name), "MovedByOwner");
    EXPECT_EQ(get(name).status.attempt, 1);
    EXPECT_EQ(annotation(pod, kToken), "");
    if (HasFailure()) return;
    run_for(seconds(60));
  }
}

}  // namespace stateful_handoff_test
