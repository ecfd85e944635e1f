// End-to-end scenario 8: a pod that was replaced under the same name is not touched. The API server restarts in the
// middle, and all Evacuations finish.

#include "test/e2e/harness/scenario.hpp"

namespace e2e {
namespace identity_test {

class Identity : public Scenario {
 protected:
  PodInfo deploy_named(const std::string& name) const {
    kubectl().apply(manifest::stateful_set({.ns = ns(), .name = name, .replicas = 1}));
    return await_pods(ns(), name, 1).at(0);
  }

  /// Deletes the pod. Its StatefulSet creates another one of the same name.
  PodInfo replace(const PodInfo& pod) const {
    api().remove(path::pods(ns(), pod.name));
    return await("a successor of " + pod.name, [&](std::string&) -> std::optional<PodInfo> {
      const auto now = api().find(path::pods(ns(), pod.name));
      if (!now || text_at(*now, "/metadata/uid") == pod.uid) return std::nullopt;
      return await_pods(ns(), pod.app, 1).at(0);
    });
  }

  void expect_untouched(const PodInfo& pod) const {
    const Json now = api().get(path::pods(ns(), pod.name));
    EXPECT_EQ(text_at(now, "/metadata/uid"), pod.uid);
    EXPECT_FALSE(now.at("metadata").contains("deletionTimestamp"));
    for (const PodCall& call : pod_calls()) {
      EXPECT_FALSE(call.granted()) << call.pod << " (uid " << call.uid << ") was evicted";
      if (call.kind == PodCall::Kind::kEvict) {
        EXPECT_NE(call.uid, pod.uid) << "the successor was to be evicted";
      }
    }
  }
};

TEST_F(Identity, ASuccessorOfThatNameIsNotTouched) {
  const PodInfo old_pod = deploy_named("db");
  start_operator();
  const std::string name = evacuate(old_pod, {{"suspend", true}});
  await("the Evacuation to be seen", [&](std::string& seen) {
    seen = evacuation(ns(), name).dump();
    return phase_of(evacuation(ns(), name)) == "Pending";
  });
  const PodInfo successor = replace(old_pod);
  ASSERT_EQ(successor.name, old_pod.name);
  // The Evacuation may have ended already.
  kubectl().attempt({"patch", "evac", name, "-n", ns(), "--type=merge", "-p", R"({"spec":{"suspend":false}})"});

  const Json done = await_phase(ns(), name, kFinished);

  EXPECT_EQ(phase_of(done), "Cancelled") << summary(done);
  EXPECT_EQ(text_at(done, "/status/reason"), "TargetGone") << summary(done);
  expect_untouched(successor);
}

TEST_F(Identity, ASuccessorOfABlockedPodIsNotTouchedEither) {
  const PodInfo old_pod = deploy_named("db");
  kubectl().apply(manifest::pod_disruption_budget(cluster().pdb_version(), ns(), "db", 1));
  start_operator();
  const std::string name = evacuate(old_pod);
  await("a refusal by the budget", [&](std::string& seen) {
    seen = evacuation(ns(), name).value("status", Json()).dump();
    for (const PodCall& call : pod_calls()) {
      if (call.code == 429) return true;
    }
    return false;
  });
  const PodInfo successor = replace(old_pod);
  kubectl()({"delete", "pdb", "db-budget", "-n", ns()});

  const Json done = await_phase(ns(), name, kFinished);

  EXPECT_EQ(phase_of(done), "Succeeded") << summary(done);
  EXPECT_EQ(text_at(done, "/status/outcome/kind"), "GoneExternally") << done.at("status").dump(2);
  expect_untouched(successor);
}

TEST_F(Identity, AnEvacuationThatNamesAnOldUidNeverStarts) {
  const PodInfo old_pod = deploy_named("db");
  const PodInfo successor = replace(old_pod);
  start_operator();

  const Json done = await_phase(ns(), evacuate(old_pod), kFinished);

  EXPECT_NE(phase_of(done), "Succeeded") << summary(done);
  expect_untouched(successor);
}

TEST_F(Identity, TheApiServerRestartsInTheMiddle) {
  std::vector<PodInfo> pods;
  for (const char* name : {"left", "right"}) {
    for (PodInfo& pod : deploy({.ns = ns(), .name = name, .replicas = 6})) pods.push_back(std::move(pod));
  }
  Operator& op = start_operator({.limits = "{total: 3, perNode: 2, perWorkload: 1}"});
  const pid_t pid = op.pid();
  for (const PodInfo& pod : pods) evacuate(pod);
  await("three evictions", [&](std::string& seen) {
    seen = op.log_tail();
    return grants_by_uid(pod_calls()).size() >= 3;
  });

  cluster().stop_apiserver();
  cluster().start_apiserver();
  EXPECT_LT(grants_by_uid(pod_calls()).size(), pods.size()) << "all was over before the restart";

  const auto finished = await_finished(pods, std::chrono::seconds(150));
  for (const auto& [name, each] : finished) EXPECT_EQ(phase_of(each), "Succeeded") << summary(each);
  EXPECT_TRUE(op.running()) << op.log_tail();
  EXPECT_EQ(op.pid(), pid);
  expect_evicted(pods);
  expect_no_misdeeds();

  // The operator also sees events after the restart.
  const PodInfo late = deploy({.ns = ns(), .name = "late", .replicas = 1}).at(0);
  EXPECT_EQ(phase_of(await_phase(ns(), evacuate(late), kFinished)), "Succeeded");
}

}  // namespace identity_test
}  // namespace e2e
