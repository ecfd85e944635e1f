#include "simulator/controllers/controllers.hpp"

#include "test/unit/simulator/world.hpp"

namespace simulator {
namespace kubelet_test {

using api::Json;

struct LifeCase {
  const char* name;
  std::vector<std::pair<std::string_view, std::string>> behaviour;
  const char* restart_policy;
  base::Duration after;
  const char* want_phase;
  bool want_ready;
  int want_restarts;
};

class KubeletLife : public testing::TestWithParam<LifeCase> {};

TEST_P(KubeletLife, BringsThePodTo) {
  const LifeCase& c = GetParam();
  World world;
  world.add_nodes(1);
  Json pod = bound_pod("p");
  pod["spec"]["restartPolicy"] = c.restart_policy;
  for (const auto& [key, value] : c.behaviour) objects::annotate(pod, key, value);
  world.add(pod);
  world.advance(c.after);

  const Object seen = world.pod("p");
  ASSERT_TRUE(seen);
  EXPECT_EQ(api::text_at(*seen, {"status", "phase"}), c.want_phase);
  EXPECT_EQ(facts_of(*seen).ready, c.want_ready);
  const Json* statuses = api::find_at(*seen, {"status", "containerStatuses"});
  EXPECT_EQ(statuses ? api::number_at(statuses->front(), {"restartCount"}).value_or(-1) : 0, c.want_restarts);
}

INSTANTIATE_TEST_SUITE_P(
    Kubelet, KubeletLife,
    testing::Values(
        LifeCase{"PendingAtFirst", {}, "Always", milliseconds(900), "Pending", false, 0},
        LifeCase{"RunningAfterASecond", {}, "Always", seconds(1), "Running", false, 0},
        LifeCase{"ReadyAfterTwo", {}, "Always", seconds(2), "Running", true, 0},
        LifeCase{"SlowToStart", {{behaviour::kStartSeconds, "30"}}, "Always", seconds(29), "Pending", false, 0},
        LifeCase{"SlowToStartThenRuns", {{behaviour::kStartSeconds, "30"}}, "Always", seconds(31), "Running", true, 0},
        LifeCase{"SlowToGetReady", {{behaviour::kReadySeconds, "1m"}}, "Always", seconds(60), "Running", false, 0},
        LifeCase{"ReadyAtOnce",
                 {{behaviour::kStartSeconds, "0"}, {behaviour::kReadySeconds, "0"}},
                 "Always",
                 seconds(0),
                 "Running",
                 true,
                 0},
        LifeCase{"NeverReady", {{behaviour::kNeverReady, ""}}, "Always", minutes(60), "Running", false, 0},
        LifeCase{"NonsenseAnnotationIsIgnored",
                 {{behaviour::kReadySeconds, "soon"}},
                 "Always",
                 seconds(2),
                 "Running",
                 true,
                 0},
        LifeCase{"WaitsForEver",
                 {{behaviour::kWaitingReason, "ImagePullBackOff"}},
                 "Always",
                 minutes(60),
                 "Pending",
                 false,
                 0},
        LifeCase{"BeginsWithRestarts", {{behaviour::kRestarts, "120"}}, "Always", seconds(2), "Running", true, 120},
        LifeCase{"Succeeds", {{behaviour::kRunSeconds, "10"}}, "Never", seconds(11), "Succeeded", false, 0},
        LifeCase{
            "StillRunsBefore", {{behaviour::kRunSeconds, "10"}}, "Never", milliseconds(10'900), "Running", true, 0},
        LifeCase{"Fails",
                 {{behaviour::kRunSeconds, "10"}, {behaviour::kExitCode, "3"}},
                 "Never",
                 seconds(11),
                 "Failed",
                 false,
                 0},
        LifeCase{"RestartsOnFailure",
                 {{behaviour::kRunSeconds, "10"}, {behaviour::kExitCode, "1"}},
                 "OnFailure",
                 seconds(32),
                 "Running",
                 true,
                 3},
        LifeCase{
            "OnFailureSucceeds", {{behaviour::kRunSeconds, "10"}}, "OnFailure", seconds(32), "Succeeded", false, 0},
        LifeCase{"RestartsAlways", {{behaviour::kRunSeconds, "10"}}, "Always", seconds(22), "Running", true, 2}),
    [](const auto& test) { return test.param.name; });

TEST(KubeletTest, FillsInTheStatusThatKubectlShows) {
  World world;
  world.add_nodes(1);
  world.add(bound_pod("p"));
  world.advance(seconds(2));
  const Object pod = world.pod("p");
  EXPECT_EQ(api::text_at(*pod, {"status", "startTime"}), "2026-11-21T12:00:00Z");
  EXPECT_TRUE(api::text_at(*pod, {"status", "podIP"}).starts_with("10."));
  for (const char* type : {"PodScheduled", "Initialized", "ContainersReady", "Ready"})
    EXPECT_EQ(world.condition(pod, type), "True") << type;
  const Json& container = pod->at("status").at("containerStatuses").at(0);
  EXPECT_EQ(api::text_at(container, {"name"}), "main");
  EXPECT_EQ(api::text_at(container, {"state", "running", "startedAt"}), "2026-11-21T12:00:01Z");
  EXPECT_TRUE(api::flag_at(container, {"ready"}));
}

TEST(KubeletTest, ShowsWhyAContainerWaits) {
  World world;
  world.add_nodes(1);
  Json pod = bound_pod("p");
  world.add(objects::annotate(pod, behaviour::kWaitingReason, "ImagePullBackOff"));
  world.advance(seconds(5));
  EXPECT_EQ(api::text_at(world.pod("p")->at("status").at("containerStatuses").at(0), {"state", "waiting", "reason"}),
            "ImagePullBackOff");
}

TEST(KubeletTest, KeepsTheLastStateOfARestart) {
  World world;
  world.add_nodes(1);
  Json pod = bound_pod("p");
  objects::annotate(pod, behaviour::kRunSeconds, "10");
  world.add(objects::annotate(pod, behaviour::kExitCode, "137"));
  world.advance(seconds(12));
  const Json& container = world.pod("p")->at("status").at("containerStatuses").at(0);
  EXPECT_EQ(api::number_at(container, {"lastState", "terminated", "exitCode"}), 137);
  EXPECT_EQ(api::text_at(container, {"lastState", "terminated", "reason"}), "Error");
}

TEST(KubeletTest, FollowsANeverReadyAnnotationThatComesAndGoes) {
  World world;
  world.add_nodes(1);
  world.add(bound_pod("p"));
  world.advance(seconds(2));
  world.annotate(kube::kPods, "shop", "p", behaviour::kNeverReady, "yes");
  world.advance(seconds(0));
  EXPECT_FALSE(facts_of(*world.pod("p")).ready);
  world.unannotate(kube::kPods, "shop", "p", behaviour::kNeverReady);
  world.advance(seconds(0));
  EXPECT_TRUE(facts_of(*world.pod("p")).ready);
}

struct StopCase {
  const char* name;
  const char* stop_seconds;  ///< nullptr for the default of 1 s
  int grace;
  base::Duration still_there;
  base::Duration gone;
};

class KubeletStop : public testing::TestWithParam<StopCase> {};

TEST_P(KubeletStop, TakesAsLongAs) {
  const StopCase& c = GetParam();
  World world;
  world.add_nodes(1);
  Json pod = bound_pod("p");
  pod["spec"]["terminationGracePeriodSeconds"] = c.grace;
  if (c.stop_seconds) objects::annotate(pod, behaviour::kStopSeconds, c.stop_seconds);
  world.add(pod);
  world.advance(seconds(2));
  world.remove(kube::kPods, "shop", "p");
  world.advance(c.still_there);
  ASSERT_TRUE(world.pod("p"));
  EXPECT_TRUE(is_terminating(*world.pod("p")));
  EXPECT_EQ(api::text_at(*world.pod("p"), {"status", "phase"}), "Running");
  world.advance(c.gone - c.still_there);
  EXPECT_FALSE(world.pod("p"));
}

INSTANTIATE_TEST_SUITE_P(Kubelet, KubeletStop,
                         testing::Values(StopCase{"ASecondByDefault", nullptr, 30, milliseconds(900), seconds(1)},
                                         StopCase{"ItsOwnTime", "10", 30, milliseconds(9'900), seconds(10)},
                                         StopCase{"AtMostTheGracePeriod", "120", 30, milliseconds(29'900),
                                                  seconds(30)}),
                         [](const auto& test) { return test.param.name; });

TEST(KubeletTest, LeavesAPodWithFinalizersUntilTheyAreGone) {
  World world;
  world.add_nodes(1);
  Json pod = bound_pod("p");
  pod["metadata"]["finalizers"] = Json::array({"example.dev/hold"});
  world.add(pod);
  world.advance(seconds(2));
  world.remove(kube::kPods, "shop", "p");
  world.advance(minutes(5));
  ASSERT_TRUE(world.pod("p"));
  EXPECT_EQ(api::text_at(*world.pod("p"), {"status", "phase"}), "Succeeded");
  EXPECT_FALSE(facts_of(*world.pod("p")).ready);
  world.edit(kube::kPods, "shop", "p", [](Json& object) { object["metadata"].erase("finalizers"); });
  EXPECT_FALSE(world.pod("p"));
}

TEST(KubeletTest, TreatsASuccessorOfTheSameNameAsNew) {
  World world;
  world.add_nodes(1);
  world.add(bound_pod("p"));
  world.advance(seconds(5));
  const std::string first = uid_of(*world.pod("p"));
  ASSERT_TRUE(world.cluster.store().remove(kube::kPods, {"shop", "p"}, {}, 0).ok());
  world.add(bound_pod("p"));
  world.advance(milliseconds(500));
  EXPECT_NE(uid_of(*world.pod("p")), first);
  EXPECT_EQ(api::text_at(*world.pod("p"), {"status", "phase"}), "Pending");
  world.advance(seconds(2));
  EXPECT_TRUE(facts_of(*world.pod("p")).ready);
}

TEST(KubeletTest, DoesNothingOnANodeThatDoesNotExistYet) {
  World world;
  world.add(bound_pod("p", "node-9"));
  world.advance(seconds(20));
  EXPECT_EQ(api::text_at(*world.pod("p"), {"status", "phase"}), "Pending");
  world.add(objects::node("node-9", "4", "8Gi"));
  world.advance(seconds(2));
  EXPECT_TRUE(facts_of(*world.pod("p")).ready);
}

TEST(DeadKubeletTest, NodeTurnsNotReadyAfterFortySecondsAndPodsNeverTerminate) {
  World world;
  world.add_nodes(1);
  world.add(bound_pod("p"));
  world.add(bound_pod("waiting"));
  world.advance(seconds(2));
  world.annotate(kube::kNodes, "", "node-1", behaviour::kDead, "true");
  world.add(bound_pod("late"));
  world.remove(kube::kPods, "shop", "p");
  world.advance(seconds(39));
  EXPECT_EQ(world.condition(world.get(kube::kNodes, "", "node-1"), "Ready"), "True");
  world.advance(seconds(1));
  EXPECT_EQ(world.condition(world.get(kube::kNodes, "", "node-1"), "Ready"), "Unknown");
  EXPECT_FALSE(facts_of(*world.pod("waiting")).ready) << "pods of a silent node are not ready";
  world.advance(minutes(30));
  EXPECT_TRUE(world.pod("p")) << "nobody confirms the deletion";
  EXPECT_EQ(api::text_at(*world.pod("late"), {"status", "phase"}), "Pending");
}

TEST(DeadKubeletTest, EverythingContinuesWhenTheKubeletIsBack) {
  World world;
  world.add_nodes(1);
  world.add(bound_pod("leaving"));
  world.add(bound_pod("staying"));
  world.advance(seconds(2));
  world.annotate(kube::kNodes, "", "node-1", behaviour::kDead, "true");
  world.remove(kube::kPods, "shop", "leaving");
  world.advance(minutes(2));
  world.unannotate(kube::kNodes, "", "node-1", behaviour::kDead);
  world.advance(seconds(2));
  EXPECT_FALSE(world.pod("leaving"));
  EXPECT_TRUE(facts_of(*world.pod("staying")).ready);
  const Object node = world.get(kube::kNodes, "", "node-1");
  EXPECT_EQ(world.condition(node, "Ready"), "True");
  EXPECT_TRUE(taints_of(*node).empty());
}

TEST(NodeLifecycleTest, EvictsFromAnUnreachableNodeAfterTheToleratedTime) {
  World world;
  world.add_nodes(1);
  world.add(bound_pod("usual"));
  Json tolerant = bound_pod("tolerant");
  tolerant["spec"]["tolerations"] = Json::array({Json{{"operator", "Exists"}}});
  world.add(tolerant);
  world.advance(seconds(2));
  world.annotate(kube::kNodes, "", "node-1", behaviour::kDead, "true");
  world.advance(seconds(339));
  EXPECT_FALSE(is_terminating(*world.pod("usual")));
  world.advance(seconds(2));
  EXPECT_TRUE(is_terminating(*world.pod("usual"))) << "40 s of silence and 300 s of toleration are over";
  EXPECT_EQ(world.condition(world.pod("usual"), "DisruptionTarget", "reason"), "DeletionByTaintManager");
  EXPECT_FALSE(is_terminating(*world.pod("tolerant")));
}

TEST(NodeLifecycleTest, MirrorsCordonInATaint) {
  World world;
  world.add_nodes(1);
  world.edit(kube::kNodes, "", "node-1", [](Json& node) { node["spec"]["unschedulable"] = true; });
  world.advance(seconds(0));
  ASSERT_EQ(taints_of(*world.get(kube::kNodes, "", "node-1")).size(), 1U);
  EXPECT_EQ(taints_of(*world.get(kube::kNodes, "", "node-1")).front().key, "node.kubernetes.io/unschedulable");
  world.edit(kube::kNodes, "", "node-1", [](Json& node) { node["spec"].erase("unschedulable"); });
  world.advance(seconds(0));
  EXPECT_TRUE(taints_of(*world.get(kube::kNodes, "", "node-1")).empty());
}

TEST(NodeLifecycleTest, RegistersANodeWithoutStatus) {
  World world;
  world.add({{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", "bare"}}}});
  world.advance(seconds(0));
  const Object node = world.get(kube::kNodes, "", "bare");
  EXPECT_EQ(world.condition(node, "Ready"), "True");
  EXPECT_FALSE(api::text_at(*node, {"status", "allocatable", "cpu"}).empty());
  EXPECT_EQ(api::text_at(*node, {"metadata", "labels", "kubernetes.io/hostname"}), "bare");
}

TEST(KubeletTest, SurvivesHostilePods) {
  World world;
  world.add_nodes(1);
  for (const char* spec :
       {R"({"nodeName":"node-1","containers":7})", R"({"nodeName":"node-1","containers":[1,null,{"name":3}]})",
        R"({"nodeName":"node-1","terminationGracePeriodSeconds":"x","volumes":{},"tolerations":[5]})"}) {
    Json pod = bound_pod("p");
    pod["spec"] = Json::parse(spec);
    pod["metadata"]["annotations"] = {{behaviour::kStopSeconds, 5}, {behaviour::kRestarts, "99999999999999"}};
    world.add(pod);
    world.advance(seconds(3));
    world.remove(kube::kPods, "shop", "p");
    world.advance(minutes(1));
    EXPECT_FALSE(world.pod("p")) << spec;
  }
}

}  // namespace kubelet_test
}  // namespace simulator
