#pragma once

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "api/meta/well_known.hpp"
#include "rig.hpp"
#include "simulator/objects.hpp"

namespace integration {

/// The rig with a fragmented cluster: half of the nodes are full of ordinary pods. Each of the others is kept in use by
/// one pod of a set with anti-affinity.
class FragmentedStage : public Rig {
 protected:
  using Json = api::Json;

  static constexpr int kFull = 3;
  static constexpr int kHeld = 3;

  /// Adds nodes "full-…" with `on_each` pods of `cpu` cores each, and nodes "held-…".
  void add_classic(int on_each, const std::string& cpu) {
    add(simulator::objects::name_space("shop"));
    add_nodes("full", kFull);
    deploy(simulator::objects::deployment("shop", "web", on_each * kFull, cpu, "64Mi"), "web", on_each * kFull);
    add_nodes("held", kHeld);
    deploy(quorum(), "quorum", kHeld);
  }
  void add_automatic_policy(const std::string& name, const std::string& interval, Json strategy) {
    add({{"apiVersion", "evacuator.dev/v1alpha1"},
         {"kind", "DeschedulerPolicy"},
         {"metadata", {{"name", name}}},
         {"spec",
          {{"mode", "Automatic"},
           {"schedule", {{"interval", interval}}},
           {"strategies", Json::array({std::move(strategy)})}}}});
  }
  /// Adds nodes with 4 cores and 16Gi.
  void add_nodes(const std::string& prefix, int count) {
    for (int i = 0; i < count; ++i) add(simulator::objects::node(prefix + "-" + std::to_string(i), "4", "16Gi"));
  }
  static Json quorum() {
    Json object = simulator::objects::deployment("shop", "quorum", kHeld, "500m", "64Mi");
    const Json term = {{"topologyKey", "kubernetes.io/hostname"},
                       {"labelSelector", {{"matchLabels", {{"app", "quorum"}}}}}};
    object["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"]
          ["requiredDuringSchedulingIgnoredDuringExecution"] = Json::array({term});
    return object;
  }
  /// Adds the object and waits until its pods run.
  void deploy(const Json& object, const std::string& app, std::size_t replicas) {
    add(object);
    ASSERT_TRUE(run_until([&] { return pods(app).size() == replicas; }, std::chrono::minutes(5)));
    run_for(std::chrono::minutes(1));
  }

  /// Returns the number of running pods per node, without empty nodes.
  std::map<std::string, int> running() const {
    std::map<std::string, int> count;
    for (const auto& object : cluster->store().list(kube::kPods, "shop")) {
      if ((*object)["status"].value("phase", "") == "Running") ++count[(*object)["spec"].value("nodeName", "")];
    }
    return count;
  }
  std::set<std::string> nodes_in_use() const {
    std::set<std::string> names;
    for (const auto& [node, count] : running()) names.insert(node);
    return names;
  }
  /// Returns the number of nodes with the emptying taint.
  int tainted() const {
    int count = 0;
    for (const auto& node : cluster->store().list(kube::kNodes, "")) {
      for (const Json& taint : (*node)["spec"].value("taints", Json::array()))
        count += taint.value("key", "") == api::well_known::kEmptyingTaint ? 1 : 0;
    }
    return count;
  }
};

}  // namespace integration
