#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "kube/kubevirt.hpp"
#include "rig.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/kubevirt/kubevirt.hpp"
#include "simulator/objects.hpp"
#include "simulator/pod_facts.hpp"

namespace integration {

/// The rig with KubeVirt, three nodes and namespace shop.
class KubeVirtStage : public Rig {
 protected:
  using Json = api::Json;

  void begin(const char* version = "v1.7.0", const char* cluster_strategy = "",
             const std::vector<std::string>& feature_gates = {}) {
    ASSERT_TRUE(simulator::kubevirt::install(*cluster, *server, version));
    add(simulator::objects::name_space("shop"));
    for (const char* node : {"node-a", "node-b", "node-c"}) add(simulator::objects::node(node, "8", "64Gi"));
    add(simulator::objects::kubevirt(version, cluster_strategy, feature_gates));
    start_operator();
  }

  /// Starts a VM and returns its pod.
  std::string machine(const std::string& name, const std::string& script = "",
                      const std::string& strategy = "LiveMigrate", const std::function<void(Json&)>& edit = {}) {
    Json object = simulator::objects::virtual_machine("shop", name, "1Gi", strategy);
    if (!script.empty()) simulator::objects::annotate(object, simulator::behaviour::kMigrationScript, script);
    if (edit) edit(object);
    add(std::move(object));
    EXPECT_TRUE(run_until([&] { return text(vmi(name), "phase") == "Running"; }, std::chrono::minutes(2)));
    run_for(base::seconds(5));
    const auto running = pods(name);
    return running.empty() ? "" : running.front();
  }

  /// Starts a VM and returns its pod as soon as the guest boots in it, which takes `boot`.
  std::string booting_machine(const std::string& name, const std::string& boot, const std::string& strategy) {
    Json object = simulator::objects::virtual_machine("shop", name, "1Gi", strategy);
    simulator::objects::annotate(object, simulator::behaviour::kMigrationScript, "boot=" + boot);
    add(std::move(object));
    EXPECT_TRUE(run_until([&] { return text(vmi(name), "phase") == "Scheduled"; }, std::chrono::minutes(1)));
    const auto running = pods(name);
    return running.empty() ? "" : running.front();
  }

  Json vmi(const std::string& name) const {
    const auto found = cluster->store().get(kube::kVmis, {"shop", name});
    return found ? *found : Json();
  }
  static std::string text(const Json& object, std::string_view field) {
    return api::text_at(object, {"status", field});
  }
  std::string node_of(const std::string& name) const { return text(vmi(name), "nodeName"); }
  std::string mark(const std::string& name) const { return text(vmi(name), "evacuationNodeName"); }
  std::vector<simulator::Object> migrations() const { return cluster->store().list(kube::kVmims, "shop"); }
  /// Returns the number of unfinished migrations.
  std::size_t running_migrations() const {
    std::size_t count = 0;
    for (const auto& each : migrations()) count += simulator::kubevirt::is_final(*each) ? 0 : 1;
    return count;
  }
  /// Returns the phase of an unfinished migration.
  std::string migration_phase() const {
    for (const auto& each : migrations()) {
      if (!simulator::kubevirt::is_final(*each)) return text(*each, "phase");
    }
    return "(none)";
  }
  std::string pod_phase(const std::string& pod) const {
    const auto found = cluster->store().get(kube::kPods, {"shop", pod});
    return found ? text(*found, "phase") : "(gone)";
  }
  std::string ref(const std::string& evacuation, const std::string& key) const {
    for (const auto& [name, value] : get(evacuation).status.refs) {
      if (name == key) return value;
    }
    return "";
  }
  std::string condition_message(const std::string& evacuation, std::string_view type) const {
    const auto conditions = get(evacuation).status.conditions;
    const auto* found = api::find_condition(conditions, type);
    return found ? found->message : "";
  }
  /// Returns the operator's answered calls to this resource and subresource as "<verb> <code>", oldest first.
  std::vector<std::string> calls(const std::string& resource, const std::string& subresource = "") const {
    std::vector<std::string> found;
    for (const auto& entry : server->journal().entries()) {
      if (entry.user.find(":evacuator") == std::string::npos || entry.resource != resource) continue;
      if (entry.subresource == subresource) found.push_back(entry.verb + " " + std::to_string(entry.code));
    }
    return found;
  }
  kube::Response send_as_user(const kube::Request& request) {
    auto answer = server->handle(request, {"alice", {}, "kubectl"});
    settle();
    return answer;
  }
  kube::Response user_migrates(const std::string& name) {
    const Json body = {{"apiVersion", "kubevirt.io/v1"},
                       {"kind", "VirtualMachineInstanceMigration"},
                       {"metadata", {{"name", "by-alice"}, {"namespace", "shop"}}},
                       {"spec", {{"vmiName", name}}}};
    return send_as_user(kube::create_request(kube::kVmims, "shop", body));
  }
  kube::Response user_evicts(const std::string& pod) {
    kube::EvictionOptions options;
    options.uid = pod_uid(pod);
    return send_as_user(kube::eviction_request({"shop", pod}, options, "v1"));
  }
  void expect_end(const std::string& name, api::EvacuationPhase wanted, const std::string& why) {
    ASSERT_TRUE(run_to_end(name)) << api::to_string(phase(name)) << " " << get(name).status.message;
    EXPECT_EQ(api::to_string(phase(name)), api::to_string(wanted)) << get(name).status.message;
    EXPECT_EQ(reason(name), why) << get(name).status.message;
  }
  bool in_progress(const std::string& name) {
    return run_until([&] { return phase(name) == api::EvacuationPhase::kInProgress; }, base::seconds(60));
  }
};

/// Sets the evictor kubevirt with these parameters as the only one in the chain.
inline std::function<void(api::Json& spec)> with(const api::Json& parameters, int attempts = 1) {
  return [=](api::Json& spec) {
    spec["evictors"] = api::Json::array({{{"name", "kubevirt"}, {"parameters", parameters}}});
    spec["retry"] = {{"maxAttempts", attempts}};
  };
}
inline std::function<void(api::Json& spec)> once() {
  return [](api::Json& spec) { spec["retry"] = {{"maxAttempts", 1}}; };
}

}  // namespace integration
