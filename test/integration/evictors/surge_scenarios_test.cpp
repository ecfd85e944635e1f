#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/vocabulary/reasons.hpp"
#include "controllers/admission/request.hpp"
#include "evictors/surge/surge_state.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/objects.hpp"
#include "test/integration/rig/crash.hpp"
#include "test/integration/rig/rig.hpp"

/// The evictor surge on the simulated cluster: the surge pod comes first, and the replica count of the workload is
/// always restored.
namespace surge_scenarios_test {

using api::Json;
using base::seconds;
using fakes::Death;
using integration::Rig;
using Phase = api::EvacuationPhase;

constexpr const char* kMark = "surge.evacuator.dev/in-progress";
constexpr const char* kAutoscalers = "horizontalpodautoscalers.autoscaling";

class SurgeStage : public Rig {
 protected:
  /// Creates shop/web with `replicas` pods and a PDB that requires all of them. Returns the first pod.
  std::string begin(int replicas = 1) {
    stage(replicas);
    budget("web", "web", replicas);
    run_for(seconds(10));
    pod = pods().front();
    source = node_of(pod);
    watcher = [this] {
      least_ready = std::min(least_ready, ready());
      if (!doomed_.empty() && capacity_is_held()) take_away();
    };
    return pod;
  }
  std::string surge(Json parameters = Json::object(), const std::function<void(Json& spec)>& edit = {}) {
    return evacuate(pod, [&](Json& spec) {
      spec["evictors"] = {{{"name", "surge"}, {"parameters", parameters}}};
      spec["retry"] = {{"maxAttempts", 1}};
      if (edit) edit(spec);
    });
  }

  Json deployment() const { return *cluster->store().get(kube::kDeployments, {"shop", "web"}); }
  int replicas() const { return deployment()["spec"]["replicas"].get<int>(); }
  std::string mark() const { return deployment()["metadata"].value("annotations", Json::object()).value(kMark, ""); }
  std::string node_of(const std::string& name) const {
    const auto object = cluster->store().get(kube::kPods, {"shop", name});
    return object ? (*object)["spec"].value("nodeName", "") : "";
  }
  /// Returns the number of pods that are not terminating, including unschedulable ones.
  int all() const {
    int count = 0;
    for (const auto& object : cluster->store().list(kube::kPods, "shop"))
      count += object->contains("/metadata/deletionTimestamp"_json_pointer) ? 0 : 1;
    return count;
  }
  int ready() const {
    int count = 0;
    for (const auto& object : cluster->store().list(kube::kPods, "shop")) {
      for (const Json& each : object->value("/status/conditions"_json_pointer, Json::array()))
        count += each["type"] == "Ready" && each["status"] == "True" ? 1 : 0;
    }
    return count;
  }
  void scale(int to) {
    edit(kube::kDeployments, "web", [to](Json& object) { object["spec"]["replicas"] = to; });
  }
  void cordon(std::initializer_list<const char*> nodes, bool on = true) {
    for (const char* name : nodes) {
      edit(
          kube::kNodes, name, [on](Json& node) { node["spec"]["unschedulable"] = on; }, "");
    }
  }
  /// Capacity exists when the surge is admitted and is gone before the new pod arrives: from then on these nodes except
  /// `spared` accept no pods.
  void lose_capacity(std::initializer_list<const char*> nodes, const std::string& spared = {}) {
    for (const char* name : nodes) {
      if (name != spared) doomed_.push_back(name);
    }
  }
  std::string story(const std::string& name) const {
    std::string text;
    for (const auto& each : get(name).status.history)
      text += "\n  " + base::format_time(each.time) + " " + each.from + " -> " + each.to + " " + each.reason + ": " +
              each.message;
    return text;
  }
  void expect_end(const std::string& name, Phase phase, const std::string& why) {
    ASSERT_TRUE(run_to_end(name)) << api::to_string(this->phase(name)) << " " << get(name).status.message;
    EXPECT_EQ(this->phase(name), phase) << get(name).status.message;
    EXPECT_EQ(reason(name), why) << get(name).status.message << story(name);
    run_for(seconds(60));  // surplus pods end
  }
  /// Expects the initial state: replica count, no mark, and the pod still exists and is ready.
  void expect_undone(int count = 1) {
    EXPECT_EQ(replicas(), count);
    EXPECT_EQ(mark(), "");
    EXPECT_TRUE(pod_exists(pod));
    EXPECT_EQ(ready(), count);
    EXPECT_EQ(pods().size(), static_cast<std::size_t>(count));
    EXPECT_EQ(granted(), 0u);
  }
  void install_autoscaler() {
    const Json any = {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
    ASSERT_TRUE(server->install_crd(
        {{"apiVersion", "apiextensions.k8s.io/v1"},
         {"kind", "CustomResourceDefinition"},
         {"metadata", {{"name", kAutoscalers}}},
         {"spec",
          {{"group", "autoscaling"},
           {"scope", "Namespaced"},
           {"names", {{"plural", "horizontalpodautoscalers"}, {"kind", "HorizontalPodAutoscaler"}}},
           {"versions",
            {{{"name", "v1"}, {"served", true}, {"storage", true}, {"schema", {{"openAPIV3Schema", any}}}}}}}}}));
    const auto answer =
        server->handle(kube::create_request(
                           evictors::surge::kAutoscalers, "shop",
                           {{"apiVersion", "autoscaling/v1"},
                            {"kind", "HorizontalPodAutoscaler"},
                            {"metadata", {{"name", "keda-hpa-web"}, {"namespace", "shop"}}},
                            {"spec",
                             {{"scaleTargetRef", {{"apiVersion", "apps/v1"}, {"kind", "Deployment"}, {"name", "web"}}},
                              {"maxReplicas", 5}}}}),
                       {"keda", {}, "keda"});
    ASSERT_EQ(answer.status, 201) << answer.body;
  }

  std::string pod;
  std::string source;
  int least_ready = 1000;

 private:
  bool capacity_is_held() const {
    return std::ranges::any_of(cluster->store().list(kube::kEvacuations, "shop"), [](const auto& object) {
      const auto evacuation = api::decode_evacuation(*object);
      const auto* slot = evacuation ? api::find_condition(evacuation->status.conditions, "SlotAcquired") : nullptr;
      return slot && slot->reason == api::Reason::kCapacityReserved;
    });
  }
  void take_away() {
    for (const char* name : std::exchange(doomed_, {})) cordon({name});
  }

  std::vector<const char*> doomed_;
};

using SurgeScenario = SurgeStage;

TEST_F(SurgeScenario, Success_SingleReplicaWithMinAvailable1) {
  begin();
  start_operator();
  const std::string name = surge();
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_GE(least_ready, 1) << "not for a moment was there none";
  EXPECT_FALSE(pod_exists(pod));
  EXPECT_EQ(replicas(), 1);
  EXPECT_EQ(mark(), "");
  ASSERT_EQ(pods().size(), 1u);
  EXPECT_NE(node_of(pods().front()), source);
  const auto status = get(name).status;
  EXPECT_EQ(status.adapter, "ExtraReplica");
  ASSERT_TRUE(status.outcome && status.outcome->replacement);
  EXPECT_EQ(status.outcome->replacement->name, pods().front());
  EXPECT_EQ(condition(name, "ReplacementReady"), "Ready");
}

TEST_F(SurgeScenario, Success_SingleReplicaWithoutBudget) {
  begin();
  ASSERT_TRUE(cluster->store().remove(kube::kPdbs, {"shop", "web"}));
  start_operator();
  expect_end(surge(), Phase::kSucceeded, "Evicted");
  EXPECT_GE(least_ready, 1);
  EXPECT_EQ(replicas(), 1);
}

TEST_F(SurgeScenario, Success_BudgetThatWantsAllThree) {
  begin(3);
  cordon({source.c_str()});
  start_operator();
  expect_end(surge(), Phase::kSucceeded, "Evicted");
  EXPECT_GE(least_ready, 3);
  EXPECT_EQ(replicas(), 3);
  EXPECT_EQ(pods().size(), 3u);
}

TEST_F(SurgeScenario, NoOutage_TheNextEvictorOfTheChainEvicts) {
  stage(3);
  pod = pods().front();
  start_operator();
  const std::string name = surge(Json::object(), [](Json& spec) {
    spec["evictors"].push_back({{"name", "eviction-api"}});
  });
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(get(name).status.evictor, "eviction-api");
  const std::string alone = [&] {
    pod = pods().front();
    return surge();
  }();
  expect_end(alone, Phase::kFailed, "NotEvictable");
  EXPECT_NE(get(alone).status.message.find("an eviction does not interrupt"), std::string::npos);
}

TEST_F(SurgeScenario, ReplacementNeverReady_IsUndone) {
  begin();
  lose_capacity({"node-a", "node-b", "node-c"});
  start_operator();
  const std::string name = surge();
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kInProgress && all() == 2; }, seconds(60)));
  EXPECT_EQ(replicas(), 2);
  EXPECT_NE(mark(), "");
  EXPECT_EQ(condition(name, "Progressing"), "Waiting");
  expect_end(name, Phase::kFailed, "ProgressTimeout");
  EXPECT_NE(get(name).status.message.find("to be ready"), std::string::npos) << get(name).status.message;
  EXPECT_EQ(condition(name, "RollbackComplete"), "Complete");
  expect_undone();
}

TEST_F(SurgeScenario, NoCapacity_NothingIsBegunUntilThereIs) {
  begin();
  cordon({"node-a", "node-b", "node-c"});
  start_operator();
  const std::string name = surge();
  run_for(seconds(120));
  EXPECT_EQ(phase(name), Phase::kPending);
  EXPECT_EQ(condition(name, "SlotAcquired"), "WaitingCapacity");
  EXPECT_EQ(replicas(), 1);
  cordon({"node-a", "node-b", "node-c"}, false);
  cordon({source.c_str()});
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_GE(least_ready, 1);
}

TEST_F(SurgeScenario, CancelledHalfWay_IsUndone) {
  begin();
  lose_capacity({"node-a", "node-b", "node-c"});
  start_operator();
  const std::string name = surge();
  ASSERT_TRUE(run_until([&] { return all() == 2; }, seconds(60)));
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  expect_undone();
}

TEST_F(SurgeScenario, CancelledWithBothReady_TheNewPodGoesNotTheOld) {
  begin();
  start_operator();
  simulator::FaultRule busy;
  busy.effect = simulator::FaultEffect::kTooManyRequests;
  busy.resource = "pods";
  busy.subresource = "eviction";
  busy.retry_after = seconds(600);
  server->faults().add(busy);
  const std::string name = surge();
  ASSERT_TRUE(run_until([&] { return condition(name, "Progressing") == "Throttled"; }, seconds(120)));
  EXPECT_EQ(ready(), 2);
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  expect_undone();
}

TEST_F(SurgeScenario, DeletedHalfWay_IsUndone) {
  begin();
  lose_capacity({"node-a", "node-b", "node-c"});
  start_operator();
  const std::string name = surge();
  ASSERT_TRUE(run_until([&] { return all() == 2; }, seconds(60)));
  delete_evacuation(name);
  ASSERT_TRUE(run_until([&] { return !find(name); }, seconds(120)));
  run_for(seconds(60));
  expect_undone();
}

TEST_F(SurgeScenario, UserScalesUpMeanwhile_TheirNumberStays) {
  begin();
  lose_capacity({"node-a", "node-b", "node-c"});
  start_operator();
  const std::string name = surge();
  ASSERT_TRUE(run_until([&] { return replicas() == 2; }, seconds(60)));
  scale(4);
  cordon({"node-b", "node-c"}, false);
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(replicas(), 4);
  EXPECT_EQ(mark(), "");
  EXPECT_EQ(pods().size(), 4u);
}

TEST_F(SurgeScenario, UserScalesBackMeanwhile_TheirNumberStays) {
  begin();
  lose_capacity({"node-a", "node-b", "node-c"});
  start_operator();
  const std::string name = surge(Json::object(), [](Json& spec) { spec["retry"] = {{"maxAttempts", 3}}; });
  ASSERT_TRUE(run_until([&] { return replicas() == 2; }, seconds(60)));
  scale(1);
  expect_end(name, Phase::kFailed, "HandoffFailed");
  EXPECT_NE(get(name).status.message.find("ScaledMeanwhile"), std::string::npos) << get(name).status.message;
  EXPECT_EQ(get(name).status.attempt, 1) << "nobody is fought";
  expect_undone();
}

TEST_F(SurgeScenario, UserScalesToZeroMeanwhile) {
  begin();
  lose_capacity({"node-a", "node-b", "node-c"});
  start_operator();
  const std::string name = surge();
  ASSERT_TRUE(run_until([&] { return replicas() == 2; }, seconds(60)));
  scale(0);
  ASSERT_TRUE(run_to_end(name));
  run_for(seconds(60));
  EXPECT_EQ(replicas(), 0);
  EXPECT_EQ(mark(), "");
}

TEST_F(SurgeScenario, AutoscalerPresent_ASingleReplicaIsRestartedAndItsNumberNeverTouched) {
  begin();
  cordon({source.c_str()});
  install_autoscaler();
  start_operator();
  std::set<int> numbers;
  watcher = [&] {
    least_ready = std::min(least_ready, ready());
    numbers.insert(replicas());
  };
  const std::string name = surge();
  expect_end(name, Phase::kSucceeded, "MovedByOwner");
  EXPECT_EQ(get(name).status.adapter, "RollingRestart");
  EXPECT_EQ(numbers, std::set<int>{1});
  EXPECT_GE(least_ready, 1);
  EXPECT_EQ(mark(), "");
  EXPECT_FALSE(pod_exists(pod));
  EXPECT_EQ(evictions().size(), 0u);
}

TEST_F(SurgeScenario, AutoscalerPresent_ExtraReplicaIsRefused) {
  begin();
  install_autoscaler();
  start_operator();
  const std::string name = surge({{"mode", "ExtraReplica"}});
  expect_end(name, Phase::kFailed, "NotEvictable");
  EXPECT_NE(get(name).status.message.find("are managed by HorizontalPodAutoscaler keda-hpa-web"), std::string::npos)
      << get(name).status.message;
  expect_undone();
}

TEST_F(SurgeScenario, RollingRestart_NeverReadyIsUndone) {
  begin();
  lose_capacity({"node-a", "node-b", "node-c"});
  start_operator();
  const Json before = deployment()["spec"]["template"];
  const std::string name = surge({{"mode", "RollingRestart"}});
  ASSERT_TRUE(run_until([&] { return all() == 2; }, seconds(60)));
  EXPECT_NE(deployment()["spec"]["template"], before);
  expect_end(name, Phase::kFailed, "ProgressTimeout");
  EXPECT_EQ(deployment()["spec"]["template"].dump(), before.dump());
  expect_undone();
}

TEST_F(SurgeScenario, RollingRestart_AUsersRolloutMeanwhileWins) {
  begin();
  lose_capacity({"node-a", "node-b", "node-c"});
  start_operator();
  const std::string name = surge({{"mode", "RollingRestart"}});
  ASSERT_TRUE(run_until([&] { return all() == 2; }, seconds(60)));
  edit(kube::kDeployments, "web",
       [](Json& object) { object["spec"]["template"]["spec"]["containers"][0]["image"] = "registry/web:2"; });
  run_for(seconds(5));
  const Json theirs = deployment()["spec"]["template"];
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(deployment()["spec"]["template"].dump(), theirs.dump()) << "their template is not touched";
  EXPECT_EQ(mark(), "");
}

TEST_F(SurgeScenario, PausedDeployment_IsWaitedFor) {
  begin();
  edit(kube::kDeployments, "web", [](Json& object) { object["spec"]["paused"] = true; });
  start_operator();
  const std::string name = surge();
  run_for(seconds(100));
  EXPECT_EQ(phase(name), Phase::kPreparing);
  EXPECT_EQ(condition(name, "Progressing"), "Waiting");
  EXPECT_EQ(replicas(), 1);
  edit(kube::kDeployments, "web", [](Json& object) { object["spec"].erase("paused"); });
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(replicas(), 1);
}

TEST_F(SurgeScenario, PausedForEver_EndsWithTheReason) {
  begin();
  edit(kube::kDeployments, "web", [](Json& object) { object["spec"]["paused"] = true; });
  start_operator();
  const std::string name = surge();
  expect_end(name, Phase::kFailed, "ProgressTimeout");
  EXPECT_NE(get(name).status.message.find("it is paused"), std::string::npos) << get(name).status.message;
  expect_undone();
}

TEST_F(SurgeScenario, LandedOnTheSourceNode_IsUndoneAndTriedAgain) {
  begin();
  lose_capacity({"node-a", "node-b", "node-c"}, source);
  start_operator();
  const std::string name = surge(Json::object(), [](Json& spec) {
    spec["retry"] = {{"maxAttempts", 3}, {"backoffSeconds", 60}};
  });
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kBackoff; }, seconds(120)));
  EXPECT_NE(get(name).status.message.find("LandedOnSourceNode"), std::string::npos) << get(name).status.message;
  expect_undone();
  cordon({"node-a", "node-b", "node-c"}, false);
  cordon({source.c_str()});
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(get(name).status.attempt, 2);
  EXPECT_EQ(get(name).status.adapter, "ExtraReplica");
  EXPECT_EQ(replicas(), 1);
  EXPECT_NE(node_of(pods().front()), source);
}

TEST_F(SurgeScenario, StatefulSet_IsRefusedWithTheReason) {
  stage(1);
  add(simulator::objects::stateful_set("shop", "db", 1, "100m", "64Mi"));
  ASSERT_TRUE(run_until([&] { return pods("db").size() == 1; }, seconds(120)));
  pod = "db-0";
  start_operator();
  const std::string name = surge();
  expect_end(name, Phase::kFailed, "NotEvictable");
  EXPECT_NE(get(name).status.message.find("ordinal identities"), std::string::npos) << get(name).status.message;
}

TEST_F(SurgeScenario, Success_ABareReplicaSet) {
  begin();
  add(simulator::objects::replica_set("shop", "solo", 1, "100m", "64Mi"));
  ASSERT_TRUE(run_until([&] { return pods("solo").size() == 1; }, seconds(120)));
  run_for(seconds(60));
  pod = pods("solo").front();
  start_operator();
  const std::string name = surge({{"when", "Always"}});
  expect_end(name, Phase::kSucceeded, "Evicted");
  const Json set = *cluster->store().get(kube::kReplicaSets, {"shop", "solo"});
  EXPECT_EQ(set["spec"]["replicas"], 1);
  EXPECT_EQ(set["metadata"].value("annotations", Json::object()).value(kMark, ""), "");
}

TEST_F(SurgeScenario, AClaimForOneNode_IsRefusedWithTheReason) {
  begin();
  Json claim = simulator::objects::persistent_volume_claim("shop", "data", "1Gi");
  claim["spec"]["accessModes"] = {"ReadWriteOnce"};
  add(std::move(claim));
  edit(kube::kPods, pod, [](Json& object) {
    object["spec"]["volumes"] = Json::array({{{"name", "data"}, {"persistentVolumeClaim", {{"claimName", "data"}}}}});
  });
  start_operator();
  const std::string name = surge();
  expect_end(name, Phase::kFailed, "NotEvictable");
  EXPECT_NE(get(name).status.message.find("PersistentVolumeClaim data can only be used from one node"),
            std::string::npos)
      << get(name).status.message;
  expect_undone();
}

TEST_F(SurgeScenario, OrphanedMark_IsRemovedByTheNextSurge) {
  begin();
  lose_capacity({"node-a", "node-b", "node-c"});
  start_operator();
  const std::string first = surge();
  ASSERT_TRUE(run_until([&] { return replicas() == 2 && phase(first) == Phase::kInProgress; }, seconds(60)));
  stop_operator();
  edit(kube::kEvacuations, first, [](Json& object) { object["metadata"].erase("finalizers"); });
  delete_evacuation(first);
  ASSERT_FALSE(find(first));
  EXPECT_NE(mark(), "");
  cordon({"node-a", "node-b", "node-c"}, false);
  cordon({source.c_str()});
  run_for(seconds(60));
  start_operator("second");
  const std::string next = surge({{"when", "Always"}});
  expect_end(next, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(replicas(), 1);
  EXPECT_EQ(mark(), "");
}

TEST_F(SurgeScenario, DryRunChangesNothing) {
  begin();
  start_operator();
  const std::string name = surge(Json::object(), [](Json& spec) { spec["dryRun"] = true; });
  expect_end(name, Phase::kSucceeded, "DryRun");
  expect_undone();
}

// --- crashes

struct SurgeEnding {
  Phase phase = Phase::kPending;
  std::string reason;
  std::int32_t attempt = 0;
  int replicas = 0;
  std::string mark;
  std::size_t pods = 0;
  std::size_t granted = 0;
  bool old_pod = false;
  int least_ready = 0;
  friend bool operator==(const SurgeEnding&, const SurgeEnding&) = default;
};

void PrintTo(const SurgeEnding& ending, std::ostream* out) {
  *out << api::to_string(ending.phase) << "/" << ending.reason << " attempt " << ending.attempt << " replicas "
       << ending.replicas << " mark '" << ending.mark << "' pods " << ending.pods << " granted " << ending.granted
       << (ending.old_pod ? " old pod there" : "") << " least ready " << ending.least_ready;
}

class SurgePlay final : public SurgeStage {
 public:
  SurgePlay(Json parameters, bool cancel) : parameters_(std::move(parameters)), cancel_(cancel) {}
  void TestBody() override {}

  /// Crashes at call `die_at`, never if negative. Returns the number of calls of the first process.
  int run(int die_at, Death how) {
    begin();
    if (cancel_) lose_capacity({"node-a", "node-b", "node-c"});
    if (!cancel_) cordon({source.c_str()});
    start_operator("first");
    name_ = surge(parameters_);
    const int before = replica->transport.calls();
    if (die_at >= 0) replica->transport.die_in(die_at, how);
    bool cancelled = !cancel_;
    run_to_end_over_deaths({name_}, std::chrono::hours(2), [&] {
      if (cancelled || phase(name_) != Phase::kInProgress) return;
      cancelled = true;
      cancel(name_);
    });
    const int calls = replica->transport.calls() - before;
    run_for(seconds(120));
    return calls;
  }
  SurgeEnding ending() const {
    const auto status = get(name_).status;
    return {status.phase,  status.reason, status.attempt,  replicas(), mark(),
            pods().size(), granted(),     pod_exists(pod), least_ready};
  }

 private:
  const Json parameters_;
  const bool cancel_;
  std::string name_;
};

void die_everywhere(const Json& parameters, Phase wanted, bool cancel) {
  int calls = 0;
  SurgeEnding undisturbed;
  {
    SurgePlay play(parameters, cancel);
    calls = play.run(-1, Death::kBeforeTheCall);
    undisturbed = play.ending();
    ASSERT_EQ(undisturbed.phase, wanted);
    ASSERT_EQ(undisturbed.replicas, 1);
    ASSERT_EQ(undisturbed.mark, "");
    ASSERT_GE(undisturbed.least_ready, 1);
  }
  ASSERT_GT(calls, 8);
  integration::die_at_every_call(calls, [&](int at, Death how) {
    SurgePlay play(parameters, cancel);
    play.run(at, how);
    EXPECT_EQ(play.ending(), undisturbed);
  });
}

TEST(SurgeCrash, AtEveryCallOfTheExtraReplica) { die_everywhere({{"mode", "ExtraReplica"}}, Phase::kSucceeded, false); }
TEST(SurgeCrash, AtEveryCallOfTheRollingRestart) {
  die_everywhere({{"mode", "RollingRestart"}}, Phase::kSucceeded, false);
}
TEST(SurgeCrash, AtEveryCallOfACancelledSurge) { die_everywhere(Json::object(), Phase::kCancelled, true); }

}  // namespace surge_scenarios_test
