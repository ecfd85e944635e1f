/// `evacuator simulate` plans like the operator on the same objects.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "api/json/json.hpp"
#include "cmd/commands.hpp"
#include "test/unit/cmd/command_fixture.hpp"

namespace cmd {
namespace simulate_test {

using api::Json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

Json node(const std::string& name) {
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata", {{"name", name}, {"labels", {{"kubernetes.io/hostname", name}}}}},
          {"status", {{"allocatable", {{"cpu", "4"}, {"memory", "8Gi"}, {"pods", "20"}}}}}};
}

/// Returns a pod that is old, ready, and has an owner.
Json pod(const std::string& name, const std::string& on, const std::string& cpu) {
  const Json owner = {{"apiVersion", "apps/v1"}, {"kind", "ReplicaSet"}, {"name", "rs"}, {"uid", "u-rs"}};
  return {
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata",
       {{"name", name},
        {"namespace", "shop"},
        {"uid", "u-" + name},
        {"labels", {{"app", name}}},
        {"creationTimestamp", "2026-11-20T12:00:00Z"},
        {"ownerReferences", Json::array({owner})}}},
      {"spec",
       {{"nodeName", on},
        {"containers", Json::array({{{"name", "c"}, {"image", "i"}, {"resources", {{"requests", {{"cpu", cpu}}}}}}})}}},
      {"status", {{"phase", "Running"}, {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})}}}};
}

class Simulate : public cmd_test::CommandTest {
 protected:
  /// Returns the JSON output for a policy with this strategy.
  Json plan(const std::string& strategy, Json args = Json::object(), bool has_hints = false) {
    policy_["spec"]["strategies"] = Json::array({{{"name", strategy}, {"args", std::move(args)}}});
    SimulateOptions options;
    options.snapshot = write("dump.json", Json{{"kind", "List"}, {"items", objects_}}.dump());
    options.policy = write("policy.json", policy_.dump());
    options.now = "2026-11-22T00:00:00Z";
    options.output = "json";
    options.has_hints = has_hints;
    EXPECT_EQ(captured([&] { return run_simulate(options); }), 0) << err_;
    return Json::parse(out_, nullptr, false);
  }
  static std::vector<std::string> moved(const Json& plan) {
    std::vector<std::string> pods;
    for (const Json& move : plan["moves"]) pods.push_back(move["pod"]);
    return pods;
  }

  Json objects_ = Json::array({node("n1"), node("n2")});
  Json policy_ = {{"apiVersion", "evacuator.dev/v1alpha1"},
                  {"kind", "DeschedulerPolicy"},
                  {"metadata", {{"name", "tidy"}, {"generation", 1}}},
                  {"spec", {{"mode", "Automatic"}}},
                  {"status", {{"observedGeneration", 1}}}};
};

TEST_F(Simulate, SkipsAPodThatHasAnEvacuationAlready) {
  objects_.push_back(pod("a", "n1", "1"));
  objects_.push_back(pod("b", "n1", "1"));
  ASSERT_THAT(moved(plan("PodLifeTime", {{"maxPodLifeTimeSeconds", 3600}})), UnorderedElementsAre("a", "b"));
  for (const char* phase : {"InProgress", "Failed"}) {
    objects_.push_back({{"apiVersion", "evacuator.dev/v1alpha1"},
                        {"kind", "Evacuation"},
                        {"metadata", {{"name", "of-a"}, {"namespace", "shop"}, {"uid", "u-e"}}},
                        {"spec", {{"podRef", {{"name", "a"}, {"uid", "u-a"}}}}},
                        {"status", {{"phase", phase}}}});
    EXPECT_THAT(moved(plan("PodLifeTime", {{"maxPodLifeTimeSeconds", 3600}})), UnorderedElementsAre("b")) << phase;
    objects_.erase(objects_.size() - 1);
  }
}

/// Its Evacuation would wait for the budget. A plan in waves depends on every move and therefore excludes such pods.
TEST_F(Simulate, NamesAPodWhoseBudgetIsUsedUpOnlyWhereItMayWait) {
  objects_.push_back(pod("small", "n1", "500m"));
  objects_.push_back(pod("large", "n2", "1500m"));
  ASSERT_THAT(moved(plan("Defragmentation", {}, true)), UnorderedElementsAre("small"));
  objects_.push_back(
      {{"apiVersion", "policy/v1"},
       {"kind", "PodDisruptionBudget"},
       {"metadata", {{"name", "small"}, {"namespace", "shop"}}},
       {"spec", {{"minAvailable", 1}, {"selector", {{"matchLabels", {{"app", "small"}}}}}}},
       {"status", {{"disruptionsAllowed", 0}, {"currentHealthy", 1}, {"desiredHealthy", 1}, {"expectedPods", 2}}}});
  EXPECT_THAT(moved(plan("Defragmentation", {}, true)), UnorderedElementsAre("large"));
  EXPECT_THAT(moved(plan("PodLifeTime", {{"maxPodLifeTimeSeconds", 3600}})), UnorderedElementsAre("small", "large"));
}

/// n1 is nearly full and n2 nearly empty. Leveling takes pods from n1, packing from n2.
TEST_F(Simulate, ContinuesTheRoundsOfTheSameSpec) {
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) objects_.push_back(pod(name, "n1", "600m"));
  objects_.push_back(pod("last", "n2", "200m"));
  const Json args = {{"lowNodeUtilization", {{"thresholds", {{"cpu", 20}}}, {"targetThresholds", {{"cpu", 60}}}}},
                     {"highNodeUtilization", {{"thresholds", {{"cpu", 20}}}}}};
  EXPECT_THAT(moved(plan("AlternatingUtilization", args)), testing::Not(testing::Contains("last")));
  policy_["status"]["rounds"] = {{"strategy", "AlternatingUtilization"},
                                 {"round", 1},
                                 {"phase", "Packing"},
                                 {"planned", 1},
                                 {"moved", 1},
                                 {"nodes", 2},
                                 {"nodesInUse", 2},
                                 {"plannedAt", "2026-11-21T23:59:00Z"}};
  EXPECT_THAT(moved(plan("AlternatingUtilization", args)), UnorderedElementsAre("last"));
  policy_["metadata"]["generation"] = 2;
  EXPECT_THAT(moved(plan("AlternatingUtilization", args)), testing::Not(testing::Contains("last")));
}

/// The pods tolerate the taint of emptied nodes, so only a hint is certain to send them elsewhere.
TEST_F(Simulate, ReportsTheBenefitOfHints) {
  for (const auto& [name, on] : {std::pair("small", "n1"), std::pair("large", "n2")}) {
    objects_.push_back(pod(name, on, "1"));
    objects_.back()["spec"]["tolerations"] = Json::array({{{"operator", "Exists"}}});
  }
  const Json without = plan("Defragmentation");
  EXPECT_THAT(moved(without), IsEmpty());
  EXPECT_THAT(without["strategies"][0]["emptying"]["note"].get<std::string>(),
              HasSubstr("placement hints would free 1 nodes, 1 more, with 1 moves"));
  const Json with = plan("Defragmentation", {}, true);
  EXPECT_EQ(moved(with).size(), 1U);
  EXPECT_EQ(with["strategies"][0]["emptying"]["note"], "") << "nothing is missing";
}

TEST_F(Simulate, SaysThatHintsAddNothing) {
  objects_.push_back(node("n3"));
  objects_.push_back(pod("wide-1", "n1", "3"));
  objects_.push_back(pod("wide-2", "n2", "3"));
  objects_.push_back(pod("other", "n3", "1100m"));
  const Json plan_without = plan("Defragmentation");
  EXPECT_EQ(plan_without["strategies"][0]["emptying"]["bound"], 1);
  EXPECT_EQ(plan_without["strategies"][0]["emptying"]["freed"], 0);
  EXPECT_EQ(plan_without["strategies"][0]["emptying"]["note"], "placement hints would free no more nodes");
}

// --- why pods stay

/// Nodes that accept no pods.
Json cordoned(Json node) {
  node["spec"]["unschedulable"] = true;
  return node;
}
Json unready(Json node) {
  node["status"]["conditions"] = Json::array({{{"type", "Ready"}, {"status", "False"}}});
  return node;
}
Json labeled(Json object, const std::string& key, const std::string& value) {
  object["metadata"]["labels"][key] = value;
  return object;
}

class Refusals : public Simulate {
 protected:
  /// Returns the only refusal of a plan without moves.
  std::string refusal(const std::string& strategy, Json args = Json::object()) {
    const Json result = plan(strategy, std::move(args));
    EXPECT_THAT(moved(result), IsEmpty());
    EXPECT_EQ(result["refusals"].size(), 1U) << out_;
    return result["refusals"].empty() ? "" : result["refusals"][0]["message"].get<std::string>();
  }
};

TEST_F(Refusals, DuplicatesThatNoOtherNodeMayHold) {
  for (const char* name : {"a", "b"}) {
    objects_.push_back(pod(name, "n1", "100m"));
    objects_.back()["metadata"]["ownerReferences"][0]["controller"] = true;
  }
  objects_[1] = cordoned(node("n2"));
  const auto messages = [&] {
    const Json result = plan("RemoveDuplicates");
    std::vector<std::string> told;
    for (const Json& row : result["refusals"]) told.push_back(row["message"]);
    return told;
  };
  const std::string text = "2 pods of its owner and images are on its node, and no other node can run one";
  EXPECT_THAT(messages(), testing::ElementsAre(text + ": 1 of 1 nodes: the node is cordoned (n2)",
                                               text + ": 1 of 1 nodes: the node is cordoned (n2)"));
  objects_[1] = unready(node("n2"));
  EXPECT_THAT(messages(), testing::Each(text + ": 1 of 1 nodes: the node is not ready (n2)"));
  objects_[1] = node("n2");
  objects_[1]["spec"]["taints"] = Json::array({{{"key", "gpu"}, {"effect", "NoSchedule"}}});
  EXPECT_THAT(messages(), testing::Each(HasSubstr(text + ": 1 of 1 nodes: the pod does not tolerate the taint gpu")));
  objects_.erase(1);
  EXPECT_THAT(messages(), IsEmpty()) << "a node alone";
}

/// The duplicates share their node because it may hold all of them. The other node is not in scope.
TEST_F(Refusals, NoDuplicatesThatAnotherNodeMayHold) {
  objects_[0] = cordoned(node("n1"));
  for (const char* name : {"a", "b"}) {
    objects_.push_back(pod(name, "n1", "100m"));
    objects_.back()["metadata"]["ownerReferences"][0]["controller"] = true;
  }
  EXPECT_EQ(plan("RemoveDuplicates")["refusals"], Json::array());
}

TEST_F(Refusals, NamesMatchingNodesOutOfScope) {
  objects_[0] = labeled(node("n1"), "pool", "a");
  objects_.push_back(pod("a", "n1", "100m"));
  objects_.back()["spec"]["nodeSelector"] = {{"disk", "ssd"}};
  const Json args = {{"nodeAffinityType", {"requiredDuringSchedulingIgnoredDuringExecution"}}};
  const std::string name = "RemovePodsViolatingNodeAffinity";
  EXPECT_THAT(refusal(name, args), testing::EndsWith("does not fit on any matching node: no node matches"));
  objects_[1] = unready(labeled(node("n2"), "disk", "ssd"));
  EXPECT_THAT(refusal(name, args), testing::EndsWith("matching node: 1 of 1 nodes: the node is not ready (n2)"));
  objects_[1] = labeled(node("n2"), "disk", "ssd");
  policy_["spec"]["nodeSelector"]["matchLabels"]["pool"] = "a";
  EXPECT_THAT(refusal(name, args),
              testing::EndsWith("matching node: 1 of 1 nodes: spec.nodeSelector does not select the node (n2)"));
}

TEST_F(Refusals, PreferredNodesThatAreFull) {
  objects_[1] = labeled(node("n2"), "disk", "ssd");
  objects_.push_back(pod("full", "n2", "3900m"));
  objects_.push_back(pod("a", "n1", "1"));
  objects_.back()["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = Json::array(
      {{{"weight", 1},
        {"preference",
         {{"matchExpressions", Json::array({{{"key", "disk"}, {"operator", "In"}, {"values", {"ssd"}}}})}}}}});
  EXPECT_EQ(refusal("PreferredPlacement"),
            "other nodes match its preferred node affinity better, but it does not fit on any of them: 1 of 1 nodes: "
            "needs 1000m of cpu, 100m are free (n2)");
  EXPECT_EQ(plan("PreferredPlacement", {{"preferences", {"PodAffinity"}}})["refusals"], Json::array());
  objects_[2]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1";
  EXPECT_THAT(moved(plan("PreferredPlacement")), UnorderedElementsAre("a"));
}

TEST_F(Refusals, SaysWhyNoNodeIsACandidate) {
  policy_["spec"]["evictability"]["nodeFit"] = true;
  objects_.push_back(pod("a", "n1", "100m"));
  objects_[1] = unready(node("n2"));
  const Json args = {{"maxPodLifeTimeSeconds", 3600}};
  EXPECT_EQ(refusal("PodLifeTime", args), "there is no other candidate node: 1 of 1 nodes: the node is not ready (n2)");
  objects_[1] = node("n2");
  policy_["spec"]["evictability"]["nodeSelector"]["matchLabels"]["kubernetes.io/hostname"] = "n1";
  EXPECT_EQ(refusal("PodLifeTime", args),
            "there is no other candidate node: 1 of 1 nodes: evictability.nodeSelector does not select the node (n2)");
  objects_.erase(1);
  EXPECT_EQ(refusal("PodLifeTime", args), "there is no other candidate node");
}

TEST_F(Simulate, SaysThatNothingReplacesPodsThatHaveEnded) {
  objects_.push_back(pod("done", "n1", "100m"));
  objects_.back()["status"]["phase"] = "Succeeded";
  plan("PodLifeTime", {{"maxPodLifeTimeSeconds", 3600}, {"terminalPods", {{"evict", true}}}});
  SimulateOptions options;
  options.snapshot = write("dump.json", Json{{"kind", "List"}, {"items", objects_}}.dump());
  options.policy = write("policy.json", policy_.dump());
  options.now = "2026-11-22T00:00:00Z";
  ASSERT_EQ(captured([&] { return run_simulate(options); }), 0) << err_;
  EXPECT_THAT(out_, testing::ContainsRegex("done +n1 +no replacement"));
  EXPECT_THAT(out_, testing::Not(HasSubstr("no node fits")));
}

TEST_F(Simulate, ClassesNodesThatAreInNoPool) {
  objects_[0] = labeled(node("n1"), "pool", "a");
  objects_.push_back(pod("a", "n1", "3"));
  const Json low = {{"cpu", 20}};
  const Json pool = {{"name", "a"}, {"nodeSelector", {{"matchLabels", {{"pool", "a"}}}}}, {"thresholds", low}};
  Json both = pool;
  both["targetThresholds"] = {{"cpu", 50}};
  for (const auto& [name, with] : {std::pair("LowNodeUtilization", both), std::pair("HighNodeUtilization", pool)}) {
    const Json result = plan(name, {{"nodePools", Json::array({with})}});
    const Json& classes = result["strategies"][0]["nodeClasses"];
    EXPECT_EQ(classes["notConsidered"], 1) << out_;
    EXPECT_EQ(classes["nodes"].back()["node"], "n2");
    EXPECT_EQ(classes["nodes"].back()["reason"], "it is in no pool");
  }
}

}  // namespace simulate_test
}  // namespace cmd
