// End-to-end scenario 16: half of the nodes are full of ordinary pods. Each of the others is kept in use by one pod of
// a set with anti-affinity. Swaps empty nodes within the budget, with the cluster's own scheduler.

#include <algorithm>
#include <chrono>
#include <functional>

#include "test/e2e/foresight/oracle.hpp"
#include "test/e2e/harness/hinted_scenario.hpp"

namespace e2e {
namespace defragmentation_test {

// Permille of a node. Four web pods leave less than the request of a quorum pod.
constexpr int kWebOnANode = 4;
constexpr int kWebPermille = 225;
constexpr int kQuorumPermille = 125;
constexpr int kWebBesideQuorum = 3;

/// A node that is deleted, as if its machine were removed. Its object and its kubelet are restored at the end.
class VanishedNode {
 public:
  VanishedNode(const Api& api, std::string name)
      : api_(api), node_(api.get(path::nodes(name))), name_(std::move(name)) {
    api_.remove(path::nodes(name_));
  }
  ~VanishedNode() {
    node_["metadata"] = {{"name", name_}, {"labels", node_["metadata"]["labels"]}};
    node_.erase("status");
    api_.create(path::nodes(), node_);
  }
  VanishedNode(const VanishedNode&) = delete;
  VanishedNode& operator=(const VanishedNode&) = delete;
  const std::string& name() const { return name_; }

 private:
  const Api& api_;
  Json node_;
  std::string name_;
};

class Defragmentation : public HintedScenario {
 protected:
  Json workload(const std::string& name, int replicas, int permille) const {
    Json object = manifest::deployment({.ns = ns(), .name = name, .replicas = replicas});
    object["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] =
        std::to_string(cpu_of_nodes() * permille / 1000) + "m";
    return object;
  }
  Json quorum(int replicas) const {
    Json object = workload("quorum", replicas, kQuorumPermille);
    const Json term = {{"topologyKey", "kubernetes.io/hostname"},
                       {"labelSelector", {{"matchLabels", {{"app", "quorum"}}}}}};
    object["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"]
          ["requiredDuringSchedulingIgnoredDuringExecution"] = Json::array({term});
    return object;
  }
  void fragment() {
    await_quiet();
    const std::vector<std::string> all = nodes();
    full_ = static_cast<int>(all.size()) / 2;
    held_ = static_cast<int>(all.size()) - full_;
    for (int i = full_; i < full_ + held_; ++i) cordon(all[static_cast<std::size_t>(i)]);
    kubectl().apply(workload("web", kWebOnANode * full_, kWebPermille));
    await_pods(ns(), "web", kWebOnANode * full_);
    for (int i = full_; i < full_ + held_; ++i) uncordon(all[static_cast<std::size_t>(i)]);
    kubectl().apply(quorum(held_));
    await_pods(ns(), "quorum", held_);
    kubectl().apply(manifest::pod_disruption_budget(cluster().pdb_version(), ns(), "web", least_web()));
  }
  int least_web() const { return kWebOnANode * full_ - 2; }
  /// Checks the budget after every revision since the watcher began, with the test's own count.
  void expect_budget_kept(const Recorder& pods) const {
    const auto least = least_ready(pods.events(), "web", kWebOnANode * full_);
    ASSERT_TRUE(least);
    EXPECT_GE(*least, least_web()) << "the budget was overdrawn";
    EXPECT_EQ(pods.gaps(), 0) << "the watcher missed revisions";
  }
  /// Returns the cycles that created Evacuations, from the revisions of the policy's status.
  std::set<std::string> waves(const Recorder& policies) const {
    std::set<std::string> ids;
    for (const WatchEvent& event : policies.events()) {
      if (text_at(event.object, "/metadata/name") == ns() && number_at(event.object, "/status/lastCycle/created") > 0)
        ids.insert(text_at(event.object, "/status/lastCycle/id"));
    }
    return ids;
  }
  void expect_no_unfinished() const {
    await("the end of all Evacuations", [&](std::string& seen) {
      const std::vector<Json> all = api().list(path::evacuations(ns()));
      seen = Json(all).dump();
      return std::ranges::all_of(all, [](const Json& each) { return kFinished.contains(phase_of(each)); });
    });
  }
  /// Returns the minimum number of nodes for all pods: one per quorum pod, with three others each.
  int fewest_nodes() const {
    const int others = kWebOnANode * full_ - kWebBesideQuorum * held_;
    return held_ + (std::max(others, 0) + kWebOnANode - 1) / kWebOnANode;
  }
  int busy_nodes() const { return static_cast<int>(nodes_in_use().size()); }
  /// Returns true if each pod has an existing node. Until then the number of busy nodes is meaningless.
  bool is_settled() const {
    const std::vector<std::string> all = nodes();
    const int pods = static_cast<int>(pod_uids(ns()).size());
    return pods == kWebOnANode * full_ + held_ && std::ranges::all_of(nodes_in_use(), [&](const std::string& node) {
             return std::ranges::count(all, node) == 1;
           });
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
  long long moves() const { return number_at(policy(), "/status/evicted"); }
  std::string cycle() const { return text_at(policy(), "/status/lastCycle/id"); }
  bool is_moving() const { return number_at(policy(), "/status/active") > 0; }

  void allow_taints() { grant("soft-taints"); }
  void apply_defragmentation(Json spec = Json::object()) {
    const Json strategy = {{"name", "Defragmentation"}};
    spec["mode"] = "Automatic";
    spec["schedule"]["interval"] = "5s";
    spec["strategies"] = Json::array({strategy});
    apply_policy(manifest::pod_life_time_policy(ns(), ns(), 1, spec));
  }
  void await_first_eviction() {
    await("the first eviction", [&](std::string& seen) {
      seen = policy().dump();
      return !grants_by_uid(pod_calls()).empty();
    });
  }
  /// Hints are useful only if the scheduler alone would choose other nodes.
  bool is_too_small() const { return nodes().size() < 12; }
  /// Calls `also` at each check.
  void await_fewest_nodes(const std::function<void()>& also = [] {}) {
    await(
        "the cluster to need as few nodes as it can",
        [&](std::string& seen) {
          also();
          seen = std::to_string(busy_nodes()) + " nodes are busy; " + text_at(policy(), "/status");
          return is_settled() && busy_nodes() == fewest_nodes() && !is_moving();
        },
        std::chrono::seconds(240));
  }
  void expect_all_pods() {
    await_pods(ns(), "web", kWebOnANode * full_);
    await_pods(ns(), "quorum", held_);
  }
  /// Expects three more cycles without a move, and no taints.
  void expect_rest() {
    const auto before = moves();
    await_cycles(3);
    await("no taint", [&](std::string& seen) {
      seen = std::to_string(tainted_nodes()) + " nodes are tainted";
      return tainted_nodes() == 0;
    });
    EXPECT_EQ(moves(), before) << "nothing moves once it is done";
    expect_no_unfinished();
  }
  void await_cycles(std::size_t count) {
    std::set<std::string> cycles;
    await("more cycles", [&](std::string& seen) {
      seen = cycle();
      cycles.insert(cycle());
      return cycles.size() > count;
    });
  }
  void expect_swaps() const {
    const int freed = full_ + held_ - fewest_nodes();
    EXPECT_LE(moves(), 3 * freed + 1) << "swaps, not shovelling";
    note(std::to_string(freed) + " of " + std::to_string(full_ + held_) + " nodes freed with " +
         std::to_string(moves()) + " moves");
  }

  int full_ = 0;
  int held_ = 0;
};

/// The maximum observed time that a pod waited for its node.
class SchedulingWatch {
 public:
  void look(const std::vector<Json>& pods) {
    const auto now = std::chrono::steady_clock::now();
    for (const Json& pod : pods) {
      const std::string uid = text_at(pod, "/metadata/uid");
      if (!text_at(pod, "/spec/nodeName").empty()) {
        waiting_.erase(uid);
        continue;
      }
      const auto since = waiting_.emplace(uid, now).first->second;
      max_item_bytes_ = std::max(max_item_bytes_, std::chrono::duration_cast<std::chrono::milliseconds>(now - since));
    }
  }
  std::chrono::milliseconds longest() const { return max_item_bytes_; }

 private:
  std::map<std::string, std::chrono::steady_clock::time_point> waiting_;
  std::chrono::milliseconds max_item_bytes_{0};
};

constexpr const char* kWantsTwelve = "wants 12 nodes: hack/e2e.sh fragmentation";
constexpr std::chrono::milliseconds kSchedulingRound{5000};  // for a busy machine

TEST_F(Defragmentation, EmptiesNodesBySwapsThroughACrash) {
  if (nodes().size() > 4) GTEST_SKIP() << "without hints the scheduler makes no such swaps there";
  allow_taints();
  fragment();
  const Recorder pods(api(), path::pods(ns()));
  ASSERT_EQ(busy_nodes(), full_ + held_);
  Operator& op = start_operator();
  apply_defragmentation();
  await_first_eviction();
  op.crash();
  op.await_ready();
  await_fewest_nodes();
  expect_all_pods();
  expect_rest();
  expect_swaps();
  expect_budget_kept(pods);
  expect_no_misdeeds();
}

TEST_F(Defragmentation, HintsMakeEverySwap) {
  if (is_too_small()) GTEST_SKIP() << kWantsTwelve;
  allow_taints();
  fragment();
  const Recorder pods(api(), path::pods(ns()));
  start_hinting_operator();
  apply_defragmentation();
  SchedulingWatch watch;
  await_fewest_nodes([&] { watch.look(api().list(path::pods(ns()))); });
  expect_all_pods();
  expect_rest();
  expect_swaps();
  EXPECT_LE(watch.longest(), kSchedulingRound) << "of a pod without a node, in ms";
  expect_budget_kept(pods);
  expect_no_misdeeds();
}

TEST_F(Defragmentation, SurvivesAKillInEachWave) {
  if (is_too_small()) GTEST_SKIP() << kWantsTwelve;
  allow_taints();
  fragment();
  const Recorder pods(api(), path::pods(ns()));
  const Recorder policies(api(), path::policies());
  Operator& op = start_hinting_operator();
  apply_defragmentation();
  std::set<std::string> struck;
  await_fewest_nodes([&] {
    const Json now = policy();
    const bool is_wave = number_at(now, "/status/active") > 0 && number_at(now, "/status/lastCycle/created") > 0;
    if (!is_wave || !struck.insert(text_at(now, "/status/lastCycle/id")).second) return;
    op.crash();
    op.await_ready();
  });
  note("killed in " + std::to_string(struck.size()) + " waves");
  EXPECT_GE(struck.size(), 2U) << "a swap takes two waves";
  EXPECT_EQ(struck, waves(policies)) << "one kill in each";
  expect_all_pods();
  expect_rest();
  expect_budget_kept(pods);
  expect_no_misdeeds();
}

TEST_F(Defragmentation, IsHarmlessWithoutAWebhookServer) {
  if (is_too_small()) GTEST_SKIP() << kWantsTwelve;
  allow_taints();
  fragment();
  const Recorder pods(api(), path::pods(ns()));
  start_hinting_operator(free_port());
  apply_defragmentation();
  await_first_eviction();
  await_cycles(4);
  kubectl()({"delete", "deschedulerpolicy", ns()});
  await("no taint", [&](std::string& seen) {
    seen = std::to_string(tainted_nodes()) + " nodes are tainted";
    return tainted_nodes() == 0;
  });
  expect_no_unfinished();
  expect_all_pods();
  EXPECT_LE(busy_nodes(), full_ + held_);
  expect_budget_kept(pods);
  expect_no_misdeeds();
}

TEST_F(Defragmentation, PlansAnewWhenANodeVanishes) {
  if (is_too_small()) GTEST_SKIP() << kWantsTwelve;
  allow_taints();
  fragment();
  start_hinting_operator();
  apply_defragmentation();
  await_first_eviction();
  const VanishedNode gone(api(), nodes().back());
  await_fewest_nodes();  // the number equals that with the node: it was to be emptied, or another one is kept instead
  expect_all_pods();
  expect_rest();
  expect_no_misdeeds();
}

/// Without soft taints, which would direct the scheduler. Whether moves went to other nodes or no promising move is
/// left, the policy reports that it has finished.
TEST_F(Defragmentation, StopsWhenTheSchedulerDisagrees) {
  if (is_too_small()) GTEST_SKIP() << kWantsTwelve;
  fragment();
  const Recorder pods(api(), path::pods(ns()));
  start_operator();
  apply_defragmentation(
      {{"scheduler", {{"scoringStrategy", {{"type", "MostAllocated"}}}}}, {"convergence", {{"patience", 2}}}});
  await(
      "the policy to stop",
      [&](std::string& seen) {
        const Json now = policy();
        seen = now.dump();
        return text_at(condition(now, "Converged"), "/status") == "True" && moves() > 0 && !is_moving();
      },
      std::chrono::seconds(180));
  const auto before = moves();
  await_cycles(4);
  note(std::to_string(before) + " moves, then " + std::to_string(moves() - before) + " in four cycles; " +
       std::to_string(busy_nodes()) + " of " + std::to_string(full_ + held_) + " nodes busy");
  EXPECT_EQ(moves(), before) << policy().at("status").dump(2);
  EXPECT_GT(busy_nodes(), fewest_nodes()) << "or nobody disagreed";
  expect_no_unfinished();
  expect_all_pods();
  expect_budget_kept(pods);
  expect_no_misdeeds();
}

}  // namespace defragmentation_test
}  // namespace e2e
