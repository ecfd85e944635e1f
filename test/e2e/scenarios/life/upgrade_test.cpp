// Upgrade and downgrade with Evacuations in progress: program and CRDs of an earlier commit, the current ones, then the
// earlier program with the current CRDs. hack/upgrade/test.sh builds the earlier ones and passes their folder.

#include <algorithm>
#include <cstdlib>

#include "test/e2e/harness/scenario.hpp"
#include "test/e2e/peers/handoff.hpp"

namespace e2e {
namespace upgrade_test {

constexpr int kWorkloads = 6;
constexpr int kReplicas = 5;
constexpr const char* kPolicy = "seen-by-both";

class Upgrade : public Scenario {
 protected:
  static std::filesystem::path previous() {
    const char* folder = std::getenv("EVACUATOR_PREVIOUS");
    return folder == nullptr ? "" : folder;
  }

  void apply_crds(const std::filesystem::path& root) const {
    kubectl()({"apply", "--filename=" + (root / cluster().crds()).string()});
    for (const char* plural : {"evacuations", "deschedulerpolicies"})
      kubectl()(
          {"wait", "--for=condition=Established", "--timeout=60s", std::string("crd/") + plural + ".evacuator.dev"});
  }

  std::vector<PodInfo> deploy_workloads() const {
    std::vector<PodInfo> pods;
    const auto name_of = [](int i) { return "app-" + std::to_string(i); };
    for (int i = 0; i < kWorkloads; ++i)
      kubectl().apply(manifest::deployment({.ns = ns(), .name = name_of(i), .replicas = kReplicas}));
    for (int i = 0; i < kWorkloads; ++i) {
      for (PodInfo& pod : await_pods(ns(), name_of(i), kReplicas)) pods.push_back(std::move(pod));
    }
    return pods;
  }

  int finished() const {
    int count = 0;
    for (const Json& each : api().list(path::evacuations(ns()))) count += kFinished.contains(phase_of(each)) ? 1 : 0;
    return count;
  }
  void await_progress(int at_least, const Operator& op) const {
    await(std::to_string(at_least) + " finished Evacuations", [&](std::string& seen) {
      seen = std::to_string(finished()) + "\n" + op.log_tail();
      return finished() >= at_least;
    });
  }

  std::string last_cycle() const { return text_at(api().get(path::policies(kPolicy)), "/status/lastCycle/start"); }
  /// Expects that the running program accepts the policy and has run a cycle since `before`.
  void await_another_cycle(const std::string& before) const {
    await("another cycle of the policy", [&](std::string& seen) {
      const Json policy = api().get(path::policies(kPolicy));
      seen = policy.value("status", Json()).dump(2);
      return last_cycle() != before && text_at(condition(policy, "Ready"), "/status") == "True";
    });
  }

  /// Stops the program regularly, like a rollout, and starts `binary` in its place.
  static void replace(Operator& op, const std::filesystem::path& binary) {
    EXPECT_EQ(op.terminate(), 0) << op.log_tail();
    op.run_from(binary);
    op.start();
    op.await_ready();
  }
};

TEST_F(Upgrade, NothingIsLostOrDoneTwiceThereAndBack) {
  if (previous().empty())
    GTEST_SKIP() << "EVACUATOR_PREVIOUS names no earlier program: hack/upgrade/test.sh builds one";
  apply_crds(previous());
  std::vector<PodInfo> pods = deploy_workloads();
  const std::map<std::string, std::string> asks_first{{"handoff.evacuator.dev/mode", "required"}};
  const PodInfo slow = deploy({.ns = ns(), .name = "db", .replicas = 1, .annotations = asks_first}).at(0);

  Operator& op =
      start_operator({.binary = previous() / "evacuator",
                      .limits = "{total: 4, perNode: 3, perTargetNode: 3, perNamespace: 3, perWorkload: 3}"});
  const std::string handoff = evacuate(slow);
  for (const PodInfo& pod : pods) evacuate(pod);
  apply_policy(manifest::pod_life_time_policy(kPolicy, ns(), 100'000));
  await_another_cycle("");
  await_progress(6, op);

  std::string cycle = last_cycle();
  apply_crds(EVACUATOR_SOURCE_DIR);
  replace(op, EVACUATOR_BINARY);
  note("upgraded after " + std::to_string(finished()) + " of " + std::to_string(pods.size()));
  await_another_cycle(cycle);
  await_progress(15, op);

  cycle = last_cycle();
  replace(op, previous() / "evacuator");
  note("back after " + std::to_string(finished()) + " of " + std::to_string(pods.size()));
  EXPECT_LT(finished(), static_cast<int>(pods.size())) << "all was over before the way back";
  await_another_cycle(cycle);
  // Requested by the earlier program, answered now.
  const HandoffOperator workload_operator(api(), ns(), {{"db", {}}});

  pods.push_back(slow);
  const auto all = await_finished(pods, std::chrono::seconds(180));
  for (const auto& [name, each] : all) EXPECT_EQ(phase_of(each), "Succeeded") << summary(each);
  EXPECT_EQ(text_at(evacuation(ns(), handoff), "/status/attempt"), "1");
  expect_evicted(pods);
  expect_no_misdeeds();
  const auto grants = grants_by_uid(pod_calls());
  const auto doubled = std::ranges::count_if(grants, [](const auto& each) { return each.second > 1; });
  note("lost " + std::to_string(pods.size() - grants.size()) + ", doubled " + std::to_string(doubled) + " of " +
       std::to_string(pods.size()));
}

/// The current program finishes Evacuations that an earlier program started under earlier CRDs.
TEST_F(Upgrade, ObjectsOfOlderCrdsEnd) {
  if (previous().empty())
    GTEST_SKIP() << "EVACUATOR_PREVIOUS names no earlier program: hack/upgrade/test.sh builds one";
  apply_crds(previous());
  const std::map<std::string, std::string> asks_first{{"handoff.evacuator.dev/mode", "required"}};
  const PodInfo slow = deploy({.ns = ns(), .name = "db", .replicas = 1, .annotations = asks_first}).at(0);
  Operator& op = start_operator({.binary = previous() / "evacuator"});
  const std::string handoff = evacuate(slow);
  await_phase(ns(), handoff, {"InProgress"});
  op.kill();

  apply_crds(EVACUATOR_SOURCE_DIR);
  op.run_from(EVACUATOR_BINARY);
  op.start();
  op.await_ready();
  kubectl()({"patch", "evac", handoff, "-n", ns(), "--type=merge", "-p", R"({"spec":{"cancel":{"requested":true}}})"});
  const Json done = await_phase(ns(), handoff, kFinished);
  EXPECT_EQ(phase_of(done), "Cancelled") << summary(done);
  EXPECT_TRUE(pod_calls().empty()) << "the pod was evicted";
}

}  // namespace upgrade_test
}  // namespace e2e
