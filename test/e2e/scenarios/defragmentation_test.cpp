// End-to-end scenario 16: half of the nodes are full of ordinary pods, the others are held open by one pod each of a
// set that repel one another. Swaps empty nodes within the budget, with the cluster's own scheduler.

#include <algorithm>

#include "test/e2e/harness/scenario.hpp"

namespace e2e {
namespace defragmentation_test {

// A node has 4000m: four of these leave too little for one of those.
constexpr int kWebOnANode = 4;
constexpr const char* kWebCpu = "900m";
constexpr const char* kQuorumCpu = "500m";
constexpr int kWebBesideQuorum = 3;

class Defragmentation : public Scenario {
 protected:
  Json workload(const std::string& name, int replicas, const char* cpu) const {
    Json object = manifest::deployment({.ns = ns(), .name = name, .replicas = replicas});
    object["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu;
    return object;
  }
  Json quorum(int replicas) const {
    Json object = workload("quorum", replicas, kQuorumCpu);
    const Json term = {{"topologyKey", "kubernetes.io/hostname"},
                       {"labelSelector", {{"matchLabels", {{"app", "quorum"}}}}}};
    object["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"]
          ["requiredDuringSchedulingIgnoredDuringExecution"] = Json::array({term});
    return object;
  }
  void fragment() {
    const std::vector<std::string> all = nodes();
    full_ = static_cast<int>(all.size()) / 2;
    held_ = static_cast<int>(all.size()) - full_;
    for (int i = full_; i < full_ + held_; ++i) cordon(all[static_cast<std::size_t>(i)]);
    kubectl().apply(workload("web", kWebOnANode * full_, kWebCpu));
    await_pods(ns(), "web", kWebOnANode * full_);
    for (int i = full_; i < full_ + held_; ++i) uncordon(all[static_cast<std::size_t>(i)]);
    kubectl().apply(quorum(held_));
    await_pods(ns(), "quorum", held_);
    kubectl().apply(manifest::pod_disruption_budget(cluster().pdb_version(), ns(), "web", kWebOnANode * full_ - 2));
  }
  /// Fewest nodes that hold everything: one a quorum pod, with three others beside it.
  int fewest_nodes() const {
    const int others = kWebOnANode * full_ - kWebBesideQuorum * held_;
    return held_ + (std::max(others, 0) + kWebOnANode - 1) / kWebOnANode;
  }
  int busy_nodes() const {
    std::set<std::string> busy;
    for (const Json& pod : api().list(path::pods(ns()))) busy.insert(text_at(pod, "/spec/nodeName"));
    return static_cast<int>(busy.size());
  }
  int tainted_nodes() const {
    int count = 0;
    for (const Json& node : api().list(path::nodes())) {
      const std::string taints = node.at("spec").value("taints", Json::array()).dump();
      count += taints.find("evacuator.dev/emptying") != std::string::npos ? 1 : 0;
    }
    return count;
  }
  Json policy() const { return api().get(path::policies(ns())); }

  int full_ = 0;
  int held_ = 0;
};

TEST_F(Defragmentation, EmptiesNodesBySwapsThroughACrash) {
  if (cluster().has_rbac())
    kubectl()({"apply", "-f", std::string(EVACUATOR_SOURCE_DIR) + "/config/optional/soft-taints.yaml"});
  fragment();
  ASSERT_EQ(busy_nodes(), full_ + held_);
  Operator& op = start_operator();
  const Json strategy = {{"name", "Defragmentation"}};
  apply_policy(manifest::pod_life_time_policy(
      ns(), ns(), 1,
      {{"mode", "Automatic"}, {"schedule", {{"interval", "10s"}}}, {"strategies", Json::array({strategy})}}));
  await("the first eviction", [&](std::string& seen) {
    seen = text_at(policy(), "/status");
    return !grants_by_uid(pod_calls()).empty();
  });
  op.crash();
  op.await_ready();
  await(
      "the cluster to need as few nodes as it can",
      [&](std::string& seen) {
        seen = std::to_string(busy_nodes()) + " nodes are busy; " + text_at(policy(), "/status");
        return busy_nodes() == fewest_nodes() && number_at(policy(), "/status/active") == 0;
      },
      std::chrono::seconds(240));
  await_pods(ns(), "web", kWebOnANode * full_);
  await_pods(ns(), "quorum", held_);
  const auto moves = number_at(policy(), "/status/evicted");
  std::set<std::string> cycles;
  await("three more cycles and no taint", [&](std::string& seen) {
    seen = std::to_string(tainted_nodes()) + " nodes are tainted";
    cycles.insert(text_at(policy(), "/status/lastCycle/id"));
    return cycles.size() > 3 && tainted_nodes() == 0;
  });
  EXPECT_EQ(number_at(policy(), "/status/evicted"), moves) << "nothing moves once it is done";
  const int freed = full_ + held_ - fewest_nodes();
  EXPECT_LE(moves, 3 * freed + 1) << "swaps, not shovelling";
  note(std::to_string(freed) + " of " + std::to_string(full_ + held_) + " nodes freed with " + std::to_string(moves) +
       " moves");
  expect_no_misdeeds();
}

}  // namespace defragmentation_test
}  // namespace e2e
