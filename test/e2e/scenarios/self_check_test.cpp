// Runs before the scenarios and checks the suite's own observation. Does not need the operator.

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

  /// Retries until the eviction is granted. A newer server writes the pod's status before it deletes the pod, which
  /// conflicts with concurrent writes of the kubelet. The disruption controller may also lag.
  void evict_at_last(const PodInfo& pod) const {
    await("the eviction of " + pod.name, [&](std::string& seen) {
      const HttpAnswer answer = evict(pod, pod.uid);
      seen = std::to_string(answer.code) + " " + answer.body;
      if (answer.code != 201 && answer.code != 409 && answer.code != 429) throw Failure("the eviction failed: " + seen);
      return answer.code == 201;
    });
  }

  /// Excludes calls of the kubelet, which deletes stopped pods.
  std::vector<PodCall> calls_about(const PodInfo& pod) const {
    std::vector<PodCall> found;
    for (PodCall& call : pod_calls()) {
      if (call.pod == pod.name && !call.user.starts_with("system:node:")) found.push_back(std::move(call));
    }
    return found;
  }
  /// Waits, because the server sometimes answers before it writes its log.
  std::vector<PodCall> await_calls_about(const PodInfo& pod, std::size_t at_least) const {
    return await("the calls about " + pod.name + " in the records",
                 [&](std::string& seen) -> std::optional<std::vector<PodCall>> {
                   std::vector<PodCall> found = calls_about(pod);
                   seen = std::to_string(found.size());
                   if (found.size() < at_least) return std::nullopt;
                   return found;
                 });
  }
};

TEST_F(SelfCheck, TheRecordsShowEvictionsAndDeletes) {
  const std::vector<PodInfo> pods = deploy({.ns = ns(), .name = "web", .replicas = 2});
  const PodInfo& evicted = pods.at(0);
  const PodInfo& deleted = pods.at(1);
  const auto before = std::chrono::system_clock::now();

  EXPECT_EQ(evict(evicted, "00000000-0000-0000-0000-000000000000").code, 409);
  evict_at_last(evicted);
  api().remove(path::pods(ns(), deleted.name));

  const auto evictions = await_calls_about(evicted, 2);
  EXPECT_EQ(evictions.front().code, 409);
  EXPECT_FALSE(evictions.front().granted());
  const PodCall& last = evictions.back();
  EXPECT_TRUE(last.granted());
  EXPECT_EQ(last.uid, evicted.uid);
  EXPECT_NE(last.user, cluster().operator_user());
  EXPECT_LT(last.at - before, std::chrono::seconds(100));
  EXPECT_GT(last.at - before, std::chrono::seconds(-1));
  EXPECT_EQ(grants_by_uid(evictions), (std::map<std::string, int>{{evicted.uid, 1}}));
  const auto deletions = await_calls_about(deleted, 1);
  ASSERT_EQ(deletions.size(), 1U);
  EXPECT_EQ(deletions[0].kind, PodCall::Kind::kDelete);
  await_pods(ns(), "web", 2);
}

TEST_F(SelfCheck, TheOperatorAndItsEvictionsAreRecognized) {
  const PodInfo pod = deploy({.ns = ns(), .name = "web", .replicas = 1}).at(0);
  const Json body = {{"apiVersion", cluster().pdb_version()},
                     {"kind", "Eviction"},
                     {"metadata", {{"name", pod.name}, {"namespace", pod.ns}}},
                     {"deleteOptions", {{"preconditions", {{"uid", pod.uid}}}}}};
  const Kubectl as_operator(cluster().operator_kubeconfig(), folder());
  await("the operator's eviction", [&](std::string& seen) {
    const Finished done =
        as_operator.attempt({"create", "--raw", path::pods(pod.ns, pod.name) + "/eviction", "-f", "-"}, body.dump());
    seen = done.err;
    return done.ok();
  });

  const auto calls = await_calls_about(pod, 1);
  for (const PodCall& call : calls) EXPECT_EQ(call.user, cluster().operator_user());
  EXPECT_TRUE(calls.back().granted());
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
