// End-to-end scenario 11: `kubectl evacuator node` empties a node of thirty pods within their budgets, while the
// operator is killed.

#include <algorithm>

#include "test/e2e/harness/process.hpp"
#include "test/e2e/harness/scenario.hpp"

namespace e2e {
namespace node_test {

constexpr int kWorkloads = 6;
constexpr int kReplicas = 5;
constexpr int kPods = kWorkloads * kReplicas;
constexpr int kMinAvailable = 3;

class Node : public Scenario {
 protected:
  static std::string app(int number) { return "app-" + std::to_string(number); }

  /// Creates all workloads on `node`, each with a budget, then uncordons the other nodes.
  std::vector<PodInfo> crowd(const std::string& node) {
    await_quiet();  // the plugin counts every pod of the node
    for (const std::string& other : nodes()) {
      if (other != node) cordon(other);
    }
    for (int i = 0; i < kWorkloads; ++i) {
      kubectl().apply(manifest::deployment({.ns = ns(), .name = app(i), .replicas = kReplicas}));
      kubectl().apply(manifest::pod_disruption_budget(cluster().pdb_version(), ns(), app(i), kMinAvailable));
    }
    std::vector<PodInfo> pods;
    for (int i = 0; i < kWorkloads; ++i) {
      for (PodInfo& pod : await_pods(ns(), app(i), kReplicas)) pods.push_back(std::move(pod));
    }
    for (const std::string& other : nodes()) uncordon(other);
    return pods;
  }

  /// Runs the plugin through kubectl, which finds it in PATH.
  std::unique_ptr<Process> plugin(const std::vector<std::string>& arguments) const {
    Process::Options options;
    options.argv = {kubectl_binary(), "evacuator"};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    options.environment = {{"KUBECONFIG", cluster().admin_kubeconfig().string()},
                           {"PATH", path_with(EVACUATOR_PLUGIN_FOLDER)}};
    options.log = folder() / "plugin.log";
    return std::make_unique<Process>(options);
  }

  /// Returns true if no eviction call is in flight. Kubernetes may charge a call that was cut off to the budget for two
  /// minutes (status.disruptedPods) although the pod stays. life/crash_test.cpp covers that; here it would only take
  /// time.
  bool is_quiet() const {
    const auto all = api().list(path::evacuations(ns()));
    const auto grants = grants_by_uid(pod_calls());  // a grant is stored when its pod has left, or a second later
    return std::all_of(all.begin(), all.end(), [&](const Json& each) {
      const Json::json_pointer resolved("/status/intent/resolved");
      return phase_of(each) != "Requesting" || each.value(resolved, false) ||
             grants.contains(text_at(each, "/spec/podRef/uid"));
    });
  }
  /// Sets the minimum number of pods of `app(0)`. If all of them must stay, the node cannot become empty, however fast
  /// the cluster is.
  void set_last_budget(int min_available) const {
    kubectl().apply(manifest::pod_disruption_budget(cluster().pdb_version(), ns(), app(0), min_available));
  }
  int granted() const { return static_cast<int>(grants_by_uid(pod_calls()).size()); }
  void await_granted(int count, Process& drain, const Operator& op) const {
    await(std::to_string(count) + " evictions and none on its way", [&](std::string& seen) {
      seen = std::to_string(granted()) + " evictions granted\n" + read_file(drain.log()) + op.log_tail();
      if (!drain.running()) throw Failure("the plugin ended early:\n" + read_file(drain.log()));
      return granted() >= count && is_quiet();
    });
  }
};

TEST_F(Node, IsEmptiedWithinTheBudgetsThroughTwoCrashes) {
  const std::string node = nodes().front();
  const std::vector<PodInfo> crowded = crowd(node);
  const Recorder pods(api(), path::pods(ns()));
  Operator& op =
      start_operator({.limits = "{total: 18, perNode: 15, perTargetNode: 15, perNamespace: 15, perWorkload: 5}"});

  set_last_budget(kReplicas);
  will_be_cordoned(node);
  const auto drain = plugin({"node", node, "--reason=old rack", "--timeout=5m"});
  await_granted(5, *drain, op);
  EXPECT_TRUE(api().get(path::nodes(node)).at("spec").value("unschedulable", false));
  op.crash();
  await_granted(kPods / 3, *drain, op);
  op.crash();
  ASSERT_LT(granted(), kPods) << "all was over before the last strike";
  set_last_budget(kMinAvailable);
  const auto code = await(
      "the plugin to end",
      [&](std::string& seen) {
        seen = read_file(drain->log());
        return drain->exit_code();
      },
      std::chrono::seconds(320));  // an eviction that is cut off nevertheless costs two minutes

  const std::string told = read_file(drain->log());
  EXPECT_EQ(code, 0) << told;
  EXPECT_NE(told.find("node/" + node + " evacuated"), std::string::npos) << told;
  EXPECT_NE(told.find("30 of 30 pods gone"), std::string::npos) << told;
  const auto finished = await_finished(crowded);
  EXPECT_EQ(finished.size(), crowded.size());
  for (const auto& [name, each] : finished) EXPECT_EQ(phase_of(each), "Succeeded") << summary(each);
  expect_evicted(crowded);
  for (int i = 0; i < kWorkloads; ++i) {
    for (const PodInfo& pod : await_pods(ns(), app(i), kReplicas)) EXPECT_NE(pod.node, node) << pod.name;
    const auto least = least_ready(pods.events(), app(i), kReplicas);
    ASSERT_TRUE(least);
    EXPECT_GE(*least, kMinAvailable) << app(i) << " had too few ready pods";
    EXPECT_LT(*least, kReplicas) << "the watcher saw nothing";
  }
  EXPECT_EQ(pods.gaps(), 0) << "the watcher missed revisions";
  EXPECT_TRUE(api().get(path::nodes(node)).at("spec").value("unschedulable", false)) << "it is to stay cordoned";
  expect_no_misdeeds();
}

}  // namespace node_test
}  // namespace e2e
