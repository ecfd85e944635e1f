// `evacuator run --once`, as started by a CronJob: one cycle, then an exit code that reflects the result.

#include "test/e2e/harness/scenario.hpp"

namespace e2e {
namespace once_test {

class Once : public Scenario {
 protected:
  Once() { api().remove(path::leases("evacuator-system", "evacuator")); }
  ~Once() override { api().remove(path::leases("evacuator-system", "evacuator")); }

  std::string budget() const {
    return "/apis/" + std::string(cluster().pdb_version()) + "/namespaces/" + ns() + "/poddisruptionbudgets/web-budget";
  }

  /// Waits until the pods are older than one second in whole seconds, as PodLifeTime counts.
  void await_age(const std::vector<PodInfo>& pods) const {
    await("pods to be older than a second", [&](std::string& seen) {
      for (const PodInfo& pod : pods) {
        seen = text_at(api().get(path::pods(pod.ns, pod.name)), "/metadata/creationTimestamp");
        if (std::chrono::system_clock::now() - parse_time(seen) < std::chrono::seconds(2)) return false;
      }
      return true;
    });
  }
};

TEST_F(Once, OneCycleMovesPodsAndEnds) {
  const std::vector<PodInfo> pods = deploy({.ns = ns(), .name = "web", .replicas = 3});
  apply_policy(manifest::pod_life_time_policy(ns(), ns(), 1,
                                              {{"mode", "Automatic"}}));  // replacements are too old a second later
  await_age(pods);
  const Finished ended = run_once({}, {"--once-timeout=2m"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(ended.err.find("policy " + ns() + ": 3 of "), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("Evacuations: 3 succeeded, 0 failed, 0 cancelled, 0 unfinished"), std::string::npos)
      << ended.err;
  EXPECT_EQ(api().list(path::evacuations(ns())).size(), 3U) << "there was a second cycle";
  EXPECT_EQ(text_at(api().get(path::leases("evacuator-system", "evacuator")), "/spec/holderIdentity"), "");
  expect_evicted(pods);
  expect_no_misdeeds();
}

TEST_F(Once, StaysOutWhileAnotherReplicaLeads) {
  start_operator({.identity = "leader", .leader_election = true});
  await("the leader to lead", [&](std::string&) {
    const auto lease = api().find(path::leases("evacuator-system", "evacuator"));
    return lease && text_at(*lease, "/spec/holderIdentity") == "leader";
  });
  const Finished ended = run_once({.identity = "job"}, {});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_NE(ended.err.find("nothing was done: the Lease evacuator-system/evacuator is held by leader"),
            std::string::npos)
      << ended.err;
}

TEST_F(Once, ReportsUnfinishedEvacuationsAndTheNextRunContinues) {
  const std::vector<PodInfo> pods = deploy({.ns = ns(), .name = "web", .replicas = 2});
  kubectl().apply(manifest::pod_disruption_budget(cluster().pdb_version(), ns(), "web", 2));
  await("the budget to count its pods", [&](std::string& seen) {
    const Json now = api().get(budget());
    seen = now.dump();
    return number_at(now, "/status/currentHealthy") == 2;
  });
  apply_policy(manifest::pod_life_time_policy(ns(), ns(), 1, {{"mode", "Automatic"}}));
  await_age(pods);
  const Finished held = run_once({}, {"--once-timeout=6s"});
  EXPECT_EQ(held.exit_code, 1);
  EXPECT_NE(held.err.find("not complete within 6s: 0 Evacuations failed, 2 are unfinished"), std::string::npos)
      << held.err;
  EXPECT_NE(held.err.find("  " + ns() + "/web-"), std::string::npos) << held.err;
  EXPECT_TRUE(grants_by_uid(pod_calls()).empty());

  api().remove(budget());
  const Finished ended = run_once({}, {"--once-timeout=2m"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  const auto grants = grants_by_uid(pod_calls());
  for (const PodInfo& pod : pods) EXPECT_EQ(grants.count(pod.uid), 1U) << pod.name;
  expect_no_misdeeds();
}

}  // namespace once_test
}  // namespace e2e
