// Before the scenarios: the suite's eyes can see. Nothing here needs the operator.

#include <algorithm>

#include "test/e2e/harness/scenario.hpp"

namespace e2e {
namespace self_check_test {

class SelfCheck : public Scenario {
 protected:
  HttpAnswer evict(const PodInfo& pod, const std::string& uid) const {
    const Json body = {{"apiVersion", cluster().pdb_version()},
                       {"kind", "Eviction"},
                       {"metadata", {{"name", pod.name}, {"namespace", pod.ns}}},
                       {"deleteOptions", {{"preconditions", {{"uid", uid}}}}}};
    return api().request("POST", path::pods(pod.ns, pod.name) + "/eviction", body.dump());
  }

  std::vector<PodCall> calls_about(const PodInfo& pod) const {
    std::vector<PodCall> found;
    for (PodCall& call : pod_calls()) {
      if (call.pod == pod.name) found.push_back(std::move(call));
    }
    return found;
  }
};

TEST_F(SelfCheck, TheRecordsShowEvictionsAndDeletes) {
  const std::vector<PodInfo> pods = deploy({.ns = ns(), .name = "web", .replicas = 2});
  const PodInfo& evicted = pods.at(0);
  const PodInfo& deleted = pods.at(1);
  const auto before = std::chrono::system_clock::now();

  EXPECT_EQ(evict(evicted, "00000000-0000-0000-0000-000000000000").code, 409);
  EXPECT_EQ(evict(evicted, evicted.uid).code, 201);
  api().remove(path::pods(ns(), deleted.name));

  await(
      "all three calls in the records", [&](std::string&) { return pod_calls().size() >= 3; },
      std::chrono::seconds(10));
  const auto evictions = calls_about(evicted);
  ASSERT_EQ(evictions.size(), 2U);
  EXPECT_EQ(evictions[0].code, 409);
  EXPECT_FALSE(evictions[0].granted());
  EXPECT_TRUE(evictions[1].granted());
  EXPECT_EQ(evictions[1].uid, evicted.uid);
  EXPECT_NE(evictions[1].user, cluster().operator_user());
  EXPECT_LT(evictions[1].at - before, std::chrono::seconds(30));
  EXPECT_GT(evictions[1].at - before, std::chrono::seconds(-1));
  const auto deletions = calls_about(deleted);
  ASSERT_EQ(deletions.size(), 1U);
  EXPECT_EQ(deletions[0].kind, PodCall::Kind::kDelete);
  await_pods(ns(), "web", 2);
}

TEST_F(SelfCheck, TheOperatorIsKnownByItsNameAndItsEvictionsAreSeen) {
  const PodInfo pod = deploy({.ns = ns(), .name = "web", .replicas = 1}).at(0);
  const Json body = {{"apiVersion", cluster().pdb_version()},
                     {"kind", "Eviction"},
                     {"metadata", {{"name", pod.name}, {"namespace", pod.ns}}},
                     {"deleteOptions", {{"preconditions", {{"uid", pod.uid}}}}}};
  const Kubectl as_operator(cluster().operator_kubeconfig(), folder());
  as_operator({"create", "--raw", path::pods(pod.ns, pod.name) + "/eviction", "-f", "-"}, body.dump());

  const auto calls = calls_about(pod);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].user, cluster().operator_user());
  EXPECT_TRUE(calls[0].granted());
  EXPECT_TRUE(misdeeds(calls, cluster().operator_user()).empty());
}

TEST_F(SelfCheck, TheWatcherSeesEveryRevisionAcrossARestart) {
  const std::string configs = path::namespaced(ns(), "pods");
  deploy({.ns = ns(), .name = "before", .replicas = 1});
  const Recorder watcher(api(), configs);

  cluster().stop_apiserver();
  EXPECT_NE(api().request("GET", configs).code, 200) << "it still answers";
  cluster().start_apiserver();
  const PodInfo after = deploy({.ns = ns(), .name = "after", .replicas = 1}).at(0);

  await("the watcher to see the new pod", [&](std::string&) {
    const auto events = watcher.events();
    return std::any_of(events.begin(), events.end(),
                       [&](const WatchEvent& event) { return text_at(event.object, "/metadata/uid") == after.uid; });
  });
  await_pods(ns(), "before", 1);
}

}  // namespace self_check_test
}  // namespace e2e
