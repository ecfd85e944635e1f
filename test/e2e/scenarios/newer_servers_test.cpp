// End-to-end scenario 17: features of newer servers only: rules in CEL (1.25), limits of the operator's writes (1.30),
// its share of a busy server (1.29), watch lists (1.32). Each test is skipped if the server lacks the feature.

#include "test/e2e/harness/scenario.hpp"
#include "test/e2e/peers/handoff.hpp"

namespace e2e {
namespace newer_servers_test {

class NewerServers : public Scenario {
 protected:
  /// Returns why a scenario for a real server of this version cannot run here, empty if it can.
  std::string lacks(int minor) const {
    if (cluster().name() != "real") return "the simulator has no such thing";
    if (cluster().minor() >= minor) return {};
    return "wants Kubernetes 1." + std::to_string(minor) + ", this is 1." + std::to_string(cluster().minor());
  }
  Finished change(const std::string& name, const Json& spec) const {
    return kubectl().attempt({"patch", "evac", name, "-n", ns(), "--type=merge", "-p", Json{{"spec", spec}}.dump()});
  }
  /// Sends a patch with the operator's token as a dry run, so that it is admitted or rejected without an effect.
  Finished as_operator(const PodInfo& pod, const Json& patch) const {
    return Kubectl(cluster().operator_kubeconfig(), folder())
        .attempt({"patch", "pod", pod.name, "-n", pod.ns, "--dry-run=server", "-p", patch.dump()});
  }
  /// Returns true if the server dispatched requests at `level` by `schema`.
  bool has_dispatched(const std::string& schema, const std::string& level) const {
    const std::string metrics = api().request("GET", "/metrics").body;
    return metrics.find("apiserver_flowcontrol_dispatched_requests_total{flow_schema=\"" + schema +
                        "\",priority_level=\"" + level + "\"}") != std::string::npos;
  }
};

TEST_F(NewerServers, RejectChangesOfImmutableFields) {
  if (const std::string why = lacks(25); !why.empty()) GTEST_SKIP() << why;
  const std::string name = "by-hand";
  api().create(path::evacuations(ns()),
               manifest::evacuation(ns(), name, "web-1", {}, {{"suspend", true}, {"cancel", {{"requested", false}}}}));
  struct Refusal {
    const char* message;
    Json change;
  };
  const Refusal refusals[] = {{"podRef.name may not change after creation", {{"podRef", {{"name", "web-2"}}}}},
                              {"reason may not change after creation", {{"reason", "another one"}}},
                              {"timeouts may not change after creation", {{"timeouts", {{"totalSeconds", 60}}}}},
                              {"placement may not change after creation", {{"placement", {{"nodeName", "node-1"}}}}}};
  for (const auto& [message, to] : refusals) {
    const Finished done = change(name, to);
    EXPECT_NE(done.exit_code, 0) << message << ", but it was accepted";
    EXPECT_NE(done.err.find(message), std::string::npos) << done.err;
  }
  EXPECT_TRUE(change(name, {{"suspend", false}}).ok()) << "what may change can be changed";
  EXPECT_TRUE(change(name, {{"cancel", {{"requested", true}}}}).ok());
  const Finished taken_back = change(name, {{"cancel", {{"requested", false}}}});
  EXPECT_NE(taken_back.err.find("cancel.requested may not be taken back"), std::string::npos) << taken_back.err;
}

TEST_F(NewerServers, LetTheOperatorWriteItsAnnotationsAndNothingElse) {
  if (const std::string why = lacks(30); !why.empty()) GTEST_SKIP() << why;
  grant("pod-write-limits");
  const PodInfo pod =
      deploy({.ns = ns(), .name = "db", .annotations = {{"handoff.evacuator.dev/mode", "required"}}}).at(0);
  const Json image = {{"spec", {{"containers", Json::array({{{"name", "main"}, {"image", "evil"}}})}}}};
  await("the limits to be in force", [&](std::string& seen) {  // the server compiles the rules in the background
    const Finished done = as_operator(pod, image);
    seen = done.err;
    return done.err.find("the operator may not change the spec of a pod") != std::string::npos;
  });
  const Finished label = as_operator(pod, {{"metadata", {{"labels", {{"app", "another"}}}}}});
  EXPECT_NE(label.err.find("may not change the labels"), std::string::npos) << label.err;
  const Finished annotation = as_operator(pod, {{"metadata", {{"annotations", {{"a.b/c", "d"}}}}}});
  EXPECT_NE(annotation.err.find("may not write these annotations of a pod: a.b/c"), std::string::npos)
      << annotation.err;

  start_operator();
  const HandoffOperator workload_operator(api(), ns(), {{"db", {.progress = {0, 100}}}});
  const Json done = await_phase(ns(), evacuate(pod), kFinished);
  EXPECT_EQ(phase_of(done), "Succeeded") << done.at("status").dump(2);
  EXPECT_EQ(text_at(done, "/status/evictor"), "annotation");
  expect_evicted({pod});
  expect_no_misdeeds();
}

TEST_F(NewerServers, GiveTheOperatorAShareOfItsOwn) {
  if (const std::string why = lacks(29); !why.empty()) GTEST_SKIP() << why;
  grant("priority-and-fairness");
  const PodInfo pod = deploy({.ns = ns(), .name = "web"}).at(0);
  start_operator({.leader_election = true});
  await("its Leases to have theirs", [&](std::string&) {  // Leases that are renewed after the server knows the schema
    return has_dispatched("evacuator-leases", "leader-election");
  });
  const Json done = await_phase(ns(), evacuate(pod), kFinished);
  EXPECT_EQ(phase_of(done), "Succeeded") << summary(done);
  EXPECT_TRUE(has_dispatched("evacuator-evictions", "evacuator"));
  expect_evicted({pod});
}

TEST_F(NewerServers, ListByAWatch) {
  if (const std::string why = lacks(32); !why.empty()) GTEST_SKIP() << why;
  const HttpAnswer probe = api().request("GET", path::pods(ns()) +
                                                    "?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&"
                                                    "resourceVersionMatch=NotOlderThan&timeoutSeconds=1");
  if (probe.code != 200) GTEST_SKIP() << "the WatchList gate of this server is closed, as in 1.33: " << probe.body;
  const PodInfo pod = deploy({.ns = ns(), .name = "web"}).at(0);
  start_operator();
  await("the operator to list pods by a watch",
        [&](std::string&) { return cluster().has_listed_by_watch("/api/v1/pods"); });
  EXPECT_EQ(phase_of(await_phase(ns(), evacuate(pod), kFinished)), "Succeeded") << "it knows the pod from that list";
  expect_evicted({pod});
}

}  // namespace newer_servers_test
}  // namespace e2e
