// Placement hints from the Evacuation to the node, through the webhook that the simulated API server calls.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "simulator/objects.hpp"
#include "test/integration/rig/rig.hpp"

namespace integration {
namespace placement_hints_test {

using api::Json;
using std::chrono::minutes;

class PlacementHints : public Rig {
 protected:
  /// Creates a Deployment with one pod. The scheduler prefers node `liked`. Node `hinted` is the other candidate.
  void begin(bool install = true) {
    places_pods = true;
    if (install) install_placement_webhook();
    stage(1);
    start_operator();
    pod = pods().front();
    left = node_of(pod);
    std::vector<std::string> others;
    for (const char* node : {"node-a", "node-b", "node-c"}) {
      if (node != left) others.push_back(node);
    }
    hinted = others[0];
    liked = others[1];
    load(hinted, "4");
    load(left, "6");
    ASSERT_EQ(left == hinted, false);
  }
  /// Occupies some of the node's CPU permanently.
  void load(const std::string& node, const std::string& cpu) {
    Json other = simulator::objects::pod("shop", "load-" + node, cpu, "8Gi");
    other["spec"]["nodeName"] = node;
    add(other);
    settle();
  }
  std::string node_of(const std::string& name) const {
    const auto found = cluster->store().get(kube::kPods, {"shop", name});
    return found ? (*found)["spec"].value("nodeName", "") : "";
  }
  std::string evacuate_towards(const std::string& node, const Json& more = {}) {
    return evacuate(pod, [&](Json& spec) {
      spec["placement"] = {{"nodeName", node}};
      spec["placement"].update(more.is_object() ? more : Json::object());
    });
  }
  /// Returns the only new pod.
  std::string replacement() const {
    const auto now = pods();
    return now.size() == 1 && now.front() != pod ? now.front() : "";
  }

  std::string pod, left, hinted, liked;
};

TEST_F(PlacementHints, TheNewPodGoesToTheHintedNodeThoughTheSchedulerLikesAnother) {
  begin();
  const std::string name = evacuate_towards(hinted);
  ASSERT_TRUE(run_to_end(name));
  EXPECT_EQ(phase(name), api::EvacuationPhase::kSucceeded) << reason(name);
  ASSERT_NE(replacement(), "");
  EXPECT_EQ(node_of(replacement()), hinted);
  EXPECT_EQ(condition(name, "PlacementHinted"), "HintTaken");
  EXPECT_EQ(get(name).status.placement, (api::PlacedPod{replacement(), pod_uid(replacement())}));
  EXPECT_EQ(annotation(replacement(), "evacuator.dev/placement"),
            name + "/" + get(name).meta.uid + "/Preferred/" + hinted);
}

TEST_F(PlacementHints, WithoutAHintTheSchedulerChooses) {
  begin();
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_to_end(name));
  EXPECT_EQ(node_of(replacement()), liked);
  EXPECT_EQ(condition(name, "PlacementHinted"), "");
}

TEST_F(PlacementHints, AreGivenOverByTheNextLeader) {
  begin();
  const std::string name = evacuate_towards(hinted);
  ASSERT_TRUE(run_until([&] { return phase(name) != api::EvacuationPhase::kPending; }, minutes(5)));
  start_operator("replica-2");
  ASSERT_TRUE(run_to_end(name));
  EXPECT_EQ(node_of(replacement()), hinted);
}

TEST_F(PlacementHints, APodIsCreatedWithoutAnAnswer) {
  begin();
  webhook_answers = false;
  const std::string name = evacuate_towards(hinted);
  ASSERT_TRUE(run_to_end(name));
  EXPECT_EQ(phase(name), api::EvacuationPhase::kSucceeded);
  EXPECT_EQ(node_of(replacement()), liked);
  EXPECT_EQ(condition(name, "PlacementHinted"), "HintUnused");
}

TEST_F(PlacementHints, AnExpiredHintIsNotUsed) {
  begin();
  budget("keep", "web", 1);  // blocks every eviction for some time
  const std::string name = evacuate_towards(hinted, {{"expiresAfterSeconds", 30}});
  run_for(minutes(2));
  EXPECT_EQ(phase(name), api::EvacuationPhase::kRequesting) << "the budget holds it";
  edit(kube::kPdbs, "keep", [](Json& pdb) { pdb["spec"]["minAvailable"] = 0; });
  ASSERT_TRUE(run_to_end(name));
  EXPECT_EQ(node_of(replacement()), liked);
  EXPECT_EQ(annotation(replacement(), "evacuator.dev/placement"), "");
  EXPECT_EQ(condition(name, "PlacementHinted"), "HintUnused");
}

TEST_F(PlacementHints, AnUnusedHintIsReported) {
  begin();
  pod = "load-" + left;  // a pod without an owner, which is not replaced
  const std::string name = evacuate_towards(hinted);
  ASSERT_TRUE(run_to_end(name));
  EXPECT_EQ(phase(name), api::EvacuationPhase::kSucceeded) << reason(name);
  const api::Evacuation ended = get(name);
  const auto* told = api::find_condition(ended.status.conditions, "PlacementHinted");
  ASSERT_NE(told, nullptr);
  EXPECT_EQ(told->reason, "HintUnused");
  EXPECT_EQ(told->message, "no new pod was assigned to node " + hinted);
}

TEST_F(PlacementHints, RequiredIsRefusedToPeopleUnlessTheConfigurationAllowsIt) {
  begin();
  const std::string name = evacuate_towards(hinted, {{"policy", "Required"}});
  ASSERT_TRUE(run_to_end(name));
  EXPECT_EQ(reason(name), "InvalidSpec");
  EXPECT_NE(get(name).status.message.find("spec.placement.policy"), std::string::npos) << get(name).status.message;
  EXPECT_EQ(pods(), std::vector{pod}) << "nothing has moved";
}

TEST_F(PlacementHints, AreGivenForNoNodeThatTakesNoPods) {
  allows_required = true;
  begin();
  edit(
      kube::kNodes, hinted, [](Json& node) { node["spec"]["unschedulable"] = true; }, "");
  const std::string name = evacuate_towards(hinted, {{"policy", "Required"}});
  ASSERT_TRUE(run_to_end(name));
  EXPECT_EQ(phase(name), api::EvacuationPhase::kSucceeded) << reason(name);
  EXPECT_EQ(node_of(replacement()), liked);
  EXPECT_EQ(condition(name, "PlacementHinted"), "HintUnused");
}

TEST_F(PlacementHints, ARequiredNodeWithoutCapacityLeavesThePodPending) {
  allows_required = true;
  begin();
  Json rest = simulator::objects::pod("shop", "rest", "4", "1Gi");
  rest["spec"]["nodeName"] = hinted;
  add(rest);
  const std::string name = evacuate_towards(hinted, {{"policy", "Required"}});
  run_for(minutes(2));
  EXPECT_TRUE(pods().empty()) << "it waits for that node";
  EXPECT_EQ(condition(name, "PlacementHinted"), "HintTaken");
}

TEST_F(PlacementHints, AreRefusedWhereTheWebhookIsOff) {
  stage(1);
  start_operator();
  pod = pods().front();
  const std::string name = evacuate_towards(node_of(pod) == "node-a" ? "node-b" : "node-a");
  ASSERT_TRUE(run_to_end(name));
  EXPECT_EQ(reason(name), "InvalidSpec");
  EXPECT_NE(get(name).status.message.find("spec.placement: requires the placement webhook"), std::string::npos)
      << get(name).status.message;
}

TEST_F(PlacementHints, TwoOfOneOwnerServeTwoPods) {
  places_pods = true;
  install_placement_webhook();
  limits.per_workload = api::IntOrPercent{2, false};
  stage(2);
  start_operator();
  const auto both = pods();
  ASSERT_EQ(both.size(), 2U);
  std::set<std::string> names;
  for (const std::string& each : both) {
    pod = each;
    names.insert(evacuate_towards(node_of(each) == "node-c" ? "node-b" : "node-c"));
  }
  for (const std::string& name : names) ASSERT_TRUE(run_to_end(name));
  std::set<std::string> taken;
  for (const std::string& name : names) {
    const auto placed = get(name).status.placement;
    ASSERT_TRUE(placed) << name;
    taken.insert(placed->uid);
  }
  EXPECT_EQ(taken.size(), 2U);
}

/// A policy that moves all pods of shop once they are old enough.
class PolicyHints : public PlacementHints {
 protected:
  std::vector<api::Evacuation> evacuations_of_a_policy() {
    stage();
    // Cordons the node so that pods leave it permanently.
    edit(
        kube::kNodes, "node-a", [](Json& node) { node["spec"]["unschedulable"] = true; }, "");
    start_operator();
    run_for(minutes(20));
    add_policy();
    run_for(minutes(5));
    return evacuations();
  }
  void add_policy() {
    add({{"apiVersion", "evacuator.dev/v1alpha1"},
         {"kind", "DeschedulerPolicy"},
         {"metadata", {{"name", "old"}}},
         {"spec",
          {{"mode", "Automatic"},
           {"schedule", {{"interval", "1m"}}},
           {"limits", {{"perCycle", {{"total", 1}}}}},
           {"strategies", Json::array({{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 900}}}}})}}}});
  }
  std::vector<api::Evacuation> evacuations() const {
    std::vector<api::Evacuation> made;
    for (const auto& object : cluster->store().list(kube::kEvacuations, "shop"))
      made.push_back(*api::decode_evacuation(*object));
    return made;
  }
};

TEST_F(PolicyHints, GoWithTheEvacuationsOfPolicies) {
  places_pods = true;
  install_placement_webhook();
  const auto made = evacuations_of_a_policy();
  ASSERT_FALSE(made.empty());
  int with_hint = 0;
  for (const api::Evacuation& each : made) {
    const std::string target = each.meta.annotations.value("evacuator.dev/predicted-target");
    EXPECT_TRUE(api::origin_is_verified(each)) << "the signature covers the hint";
    if (!each.spec.placement) continue;  // the predicted target is the node that it leaves
    ++with_hint;
    EXPECT_EQ(each.spec.placement->node_name.value, target);
    if (each.status.phase != api::EvacuationPhase::kSucceeded) continue;
    ASSERT_TRUE(each.status.placement) << each.meta.name;
    EXPECT_EQ(node_of(each.status.placement->name), target);
  }
  EXPECT_GT(with_hint, 0);
}

TEST_F(PolicyHints, AreTakenThoughABudgetHeldTheEvictionUpForLong) {
  places_pods = true;
  install_placement_webhook();
  stage(1);
  edit(
      kube::kNodes, node_of(pods().front()), [](Json& node) { node["spec"]["unschedulable"] = true; }, "");
  budget("keep", "web", 1);
  start_operator();
  run_for(minutes(20));
  add_policy();
  const auto waits = [&] {
    const auto made = evacuations();
    return made.size() == 1 && made[0].status.phase == api::EvacuationPhase::kRequesting;
  };
  ASSERT_TRUE(run_until(waits, minutes(5)));
  ASSERT_TRUE(evacuations()[0].spec.placement);
  const std::string name = evacuations()[0].meta.name;
  run_for(minutes(12));
  EXPECT_EQ(get(name).status.attempt, 1);
  edit(kube::kPdbs, "keep", [](Json& pdb) { pdb["spec"]["minAvailable"] = 0; });
  ASSERT_TRUE(run_to_end(name));
  EXPECT_EQ(condition(name, "PlacementHinted"), "HintTaken");
  EXPECT_EQ(node_of(pods().front()), get(name).spec.placement->node_name.value);
}

TEST_F(PolicyHints, AreTakenInALaterAttempt) {
  places_pods = true;
  install_placement_webhook();
  stage(1);
  edit(
      kube::kNodes, node_of(pods().front()), [](Json& node) { node["spec"]["unschedulable"] = true; }, "");
  budget("keep", "web", 1);
  start_operator();
  run_for(minutes(20));
  add_policy();
  ASSERT_TRUE(run_until([&] { return evacuations().size() == 1; }, minutes(5)));
  const std::string name = evacuations()[0].meta.name;
  ASSERT_TRUE(run_until([&] { return get(name).status.attempt == 3; }, std::chrono::hours(2)));
  edit(kube::kPdbs, "keep", [](Json& pdb) { pdb["spec"]["minAvailable"] = 0; });
  ASSERT_TRUE(run_to_end(name));
  EXPECT_EQ(condition(name, "PlacementHinted"), "HintTaken");
}

class SecondRound : public PolicyHints, public testing::WithParamInterface<const char*> {};

TEST_P(SecondRound, IsPredictedWithoutTheFirstHint) {
  allows_required = true;
  begin();
  ASSERT_TRUE(run_to_end(evacuate_towards(hinted, {{"policy", GetParam()}})));
  const std::string moved = replacement();
  ASSERT_EQ(node_of(moved), hinted);
  run_for(minutes(20));
  add_policy();
  ASSERT_TRUE(run_until([&] { return pods() != std::vector{moved}; }, minutes(10)));
  for (const api::Evacuation& each : evacuations()) {
    if (each.spec.pod_ref.name != moved) continue;
    EXPECT_EQ(each.meta.annotations.value("evacuator.dev/predicted-target"), liked);
  }
  ASSERT_TRUE(run_until([&] { return pods().size() == 1 && !node_of(pods().front()).empty(); }, minutes(10)));
  EXPECT_EQ(node_of(pods().front()), liked);
}

INSTANTIATE_TEST_SUITE_P(Policies, SecondRound, testing::Values("Preferred", "Required"),
                         [](const auto& test) { return test.param; });

TEST_F(PolicyHints, AreNotMadeWithoutTheWebhook) {
  const auto made = evacuations_of_a_policy();
  ASSERT_FALSE(made.empty());
  for (const api::Evacuation& each : made) EXPECT_FALSE(each.spec.placement) << each.meta.name;
}

}  // namespace placement_hints_test
}  // namespace integration
