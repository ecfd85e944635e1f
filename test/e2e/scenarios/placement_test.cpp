// End-to-end scenario 14: a placement hint makes the scheduler choose a node that it would not choose otherwise.
// Without the webhook, after its expiry, or without a new pod it has no effect.

#include "test/e2e/harness/hinted_scenario.hpp"

namespace e2e {
namespace placement_test {

class Placement : public HintedScenario {
 protected:
  /// Starts an operator that serves the webhook. The server calls `port` for it, or the operator's port if 0.
  void begin(std::uint16_t port = 0) {
    await_quiet();
    op_ = &start_hinting_operator(port);
    pod_ = deploy({.ns = ns(), .name = "web", .replicas = 1}).front();
    for (const std::string& node : nodes()) {
      if (node != pod_.node) hinted_ = node;
    }
    fill(hinted_);
    fill(pod_.node);
  }
  /// Adds load, so that other nodes get a better score.
  void fill(const std::string& node) const {
    const Json resources = {{"requests", {{"cpu", std::to_string(cpu_of_nodes() / 4) + "m"}, {"memory", "500Mi"}}}};
    const Json pod = {
        {"apiVersion", "v1"},
        {"kind", "Pod"},
        {"metadata", {{"name", "load-" + node}, {"namespace", ns()}, {"labels", {{"app", "load"}}}}},
        {"spec",
         {{"nodeName", node},
          {"terminationGracePeriodSeconds", 1},
          {"containers", Json::array({{{"name", "load"}, {"image", "load"}, {"resources", resources}}})}}}};
    api().create(path::pods(ns()), pod);
  }
  std::string evacuate_towards_hinted(int expires = 600) const {
    return evacuate(pod_, {{"placement", {{"nodeName", hinted_}, {"expiresAfterSeconds", expires}}}});
  }
  Json new_pod() const { return api().get(path::pods(ns(), await_pods(ns(), "web", 1).front().name)); }
  static std::string reason_of(const Json& evacuation) {
    return text_at(condition(evacuation, "PlacementHinted"), "/reason");
  }
  void expect_untouched(const Json& pod) const {
    EXPECT_EQ(text_at(pod, "/metadata/annotations/evacuator.dev~1placement"), "");
    EXPECT_FALSE(pod.at("spec").contains("affinity")) << pod.at("spec").dump();
    EXPECT_NE(text_at(pod, "/spec/nodeName"), hinted_);
  }

  Operator* op_ = nullptr;
  PodInfo pod_;
  std::string hinted_;
};

TEST_F(Placement, AHintMakesTheSchedulerTakeANodeThatItWouldNotTake) {
  begin();
  const Json done = await_phase(ns(), evacuate_towards_hinted(), kFinished);
  EXPECT_EQ(phase_of(done), "Succeeded") << summary(done);
  const Json after = new_pod();
  EXPECT_EQ(text_at(after, "/spec/nodeName"), hinted_) << after.at("spec").dump(2) << op_->log_tail();
  EXPECT_EQ(reason_of(done), "HintTaken") << done.at("status").dump(2);
  EXPECT_EQ(text_at(done, "/status/placement/podUID"), text_at(after, "/metadata/uid"));
  expect_no_misdeeds();
}

TEST_F(Placement, APodIsCreatedWhenTheWebhookIsDown) {
  begin(free_port());
  const Json done = await_phase(ns(), evacuate_towards_hinted(), kFinished);
  EXPECT_EQ(phase_of(done), "Succeeded") << summary(done);
  expect_untouched(new_pod());
  EXPECT_EQ(reason_of(done), "HintUnused");
}

TEST_F(Placement, AnExpiredHintTouchesNoPod) {
  begin();
  kubectl().apply(manifest::pod_disruption_budget(cluster().pdb_version(), ns(), "web", 1));
  const std::string name = evacuate_towards_hinted(2);
  const Json waiting = await_phase(ns(), name, {"Requesting"});
  // startedAt has whole seconds, so the actual start may be up to one second later.
  const WallTime expiry = parse_time(text_at(waiting, "/status/startedAt")) + std::chrono::seconds(2 + 1);
  await("the hint's time to be over", [&](std::string&) { return std::chrono::system_clock::now() > expiry; });
  kubectl()({"delete", "pdb", "-n", ns(), "web-budget"});
  const Json done = await_phase(ns(), name, kFinished);
  EXPECT_EQ(phase_of(done), "Succeeded") << summary(done);
  expect_untouched(new_pod());
  EXPECT_EQ(reason_of(done), "HintUnused");
}

TEST_F(Placement, AnUnusedHintIsReported) {
  begin();
  const auto bare = await_pods(ns(), "load", 2);
  const PodInfo& leaving = bare.front().node == hinted_ ? bare.back() : bare.front();
  const Json done = await_phase(ns(), evacuate(leaving, {{"placement", {{"nodeName", hinted_}}}}), kFinished);
  EXPECT_EQ(phase_of(done), "Succeeded") << summary(done);
  EXPECT_EQ(reason_of(done), "HintUnused");
  EXPECT_EQ(text_at(condition(done, "PlacementHinted"), "/message"), "no new pod was assigned to node " + hinted_);
}

}  // namespace placement_test
}  // namespace e2e
