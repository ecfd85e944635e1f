// End-to-end scenario 9: the only replica of a workload with a budget that requires it. Its replacement is ready before
// it leaves, and the replica count is restored, also when the operator is killed in between.

#include "test/e2e/harness/scenario.hpp"

namespace e2e {
namespace surge_test {

const Json kBySurge = {{"evictors", Json::array({{{"name", "surge"}}})}, {"retry", {{"maxAttempts", 1}}}};

class Surge : public Scenario {
 protected:
  Surge() {
    if (cluster().has_rbac()) kubectl()({"apply", "-f", role()});
  }
  ~Surge() override {
    if (!cluster().has_rbac()) return;
    const Finished done = kubectl().attempt({"delete", "-f", role(), "--ignore-not-found"});
    if (!done.ok()) note("taking the role of surge back: " + done.err);
  }

  /// Creates one pod that a PodDisruptionBudget always blocks.
  PodInfo begin() const {
    const PodInfo pod = deploy({.ns = ns(), .name = "web", .replicas = 1}).front();
    kubectl().apply(manifest::pod_disruption_budget(cluster().pdb_version(), ns(), "web", 1));
    const std::string budget =
        "/apis/" + std::string(cluster().pdb_version()) + "/namespaces/" + ns() + "/poddisruptionbudgets/web-budget";
    await("the budget to count its pod", [&](std::string& seen) {
      const Json now = api().get(budget);
      seen = now.dump();
      return number_at(now, "/status/currentHealthy") == 1;
    });
    return pod;
  }

  /// Controllers from 1.22 on compare the ages of two ready pods by their logarithms to the base 2. They delete the
  /// younger one reliably only if the other is much older than the rest of the scenario takes.
  void await_age(const PodInfo& pod) const {
    if (cluster().name() != "real" || cluster().minor() < 22) return;
    await("the pod to be old", [&](std::string& seen) {
      const Json ready = condition(api().get(path::pods(ns(), pod.name)), "Ready");
      seen = ready.dump();
      const WallTime since = parse_time(text_at(ready, "/lastTransitionTime"));
      return std::chrono::system_clock::now() - since > std::chrono::seconds(30);
    });
  }

  Json deployment() const { return api().get(path::apps(ns(), "deployments", "web")); }
  std::string mark() const { return text_at(deployment(), "/metadata/annotations/surge.evacuator.dev~1in-progress"); }
  bool is_granted(const PodInfo& pod) const { return grants_by_uid(pod_calls()).contains(pod.uid); }
  /// Waits for the surge pod and the mark of the Evacuation.
  void await_surge(const std::string& evacuation_name, const Operator& op) const {
    await("the extra replica", [&](std::string& seen) {
      const Json now = deployment();
      seen = now.at("spec").dump() + "\n" + summary(evacuation(ns(), evacuation_name)) + "\n" + op.log_tail();
      return number_at(now, "/spec/replicas") == 2 && !mark().empty();
    });
  }
  /// Expects the user's replica count and no mark.
  void expect_number_given_back() const {
    EXPECT_EQ(number_at(deployment(), "/spec/replicas"), 1);
    EXPECT_EQ(mark(), "");
  }

 private:
  static std::string role() { return std::string(EVACUATOR_SOURCE_DIR) + "/config/surge/role.yaml"; }
};

std::int64_t most_replicas(const Recorder& deployments) {
  std::int64_t most = 0;
  for (const WatchEvent& event : deployments.events()) most = std::max(most, number_at(event.object, "/spec/replicas"));
  return most;
}

TEST_F(Surge, TheReplacementIsReadyBeforeTheOnlyPodLeavesThroughTwoCrashes) {
  const PodInfo pod = begin();
  cordon(pod.node);
  const Recorder pods(api(), path::pods(ns()));
  const Recorder deployments(api(), path::apps(ns(), "deployments"));
  Operator& op = start_operator();

  const std::string name = evacuate(pod, kBySurge);
  await_surge(name, op);
  op.crash();
  await("the eviction", [&](std::string& seen) {
    seen = summary(evacuation(ns(), name)) + "\n" + op.log_tail();
    return is_granted(pod);
  });
  op.crash();
  const Json done = await_phase(ns(), name, kFinished);

  EXPECT_EQ(phase_of(done), "Succeeded") << summary(done);
  EXPECT_EQ(text_at(done, "/status/evictor"), "surge");
  expect_number_given_back();
  const PodInfo left = await_pods(ns(), "web", 1).front();
  EXPECT_EQ(text_at(done, "/status/outcome/replacement/uid"), left.uid) << done.at("status").dump(2);
  EXPECT_NE(left.node, pod.node);
  EXPECT_EQ(pods.gaps() + deployments.gaps(), 0) << "the watchers missed revisions";
  EXPECT_EQ(least_ready(pods.events(), "web", 1), 1) << "for a moment no pod was ready";
  EXPECT_EQ(most_replicas(deployments), 2);
  expect_evicted({pod});
  expect_no_misdeeds();
}

TEST_F(Surge, IsRevertedWhenCancelledDuringDowntime) {
  const PodInfo pod = begin();
  cordon(pod.node);
  await_age(pod);
  const Recorder pods(api(), path::pods(ns()));
  Operator& op = start_operator();

  const std::string name = evacuate(pod, kBySurge);
  await_surge(name, op);
  op.kill();
  await_pods(ns(), "web", 2);  // the younger of two ready pods is deleted next
  api().merge(path::evacuations(ns(), name), {{"spec", {{"cancel", {{"requested", true}}}}}});
  op.start();
  const Json done = await_phase(ns(), name, kFinished);

  EXPECT_EQ(phase_of(done), "Cancelled") << summary(done);
  EXPECT_EQ(text_at(condition(done, "RollbackComplete"), "/status"), "True") << done.at("status").dump(2);
  expect_number_given_back();
  EXPECT_EQ(await_pods(ns(), "web", 1).front().uid, pod.uid);
  EXPECT_EQ(least_ready(pods.events(), "web", 1), 1) << "for a moment no pod was ready";
  expect_evicted({});
  expect_no_misdeeds();
}

}  // namespace surge_test
}  // namespace e2e
