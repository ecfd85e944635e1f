#include "simulator/scheduler/scheduler.hpp"

#include <algorithm>
#include <map>

#include "test/unit/simulator/world.hpp"

namespace simulator {
namespace scheduler_test {

using api::Json;

/// Two nodes in zones a and b and the pod "p". `prepare` edits the world first.
struct FilterCase {
  const char* name;
  void (*prepare)(World& world);
  const char* spec;  ///< Merged into the spec of the pod
  const char* want;  ///< Node, or text of the refusal
};

Json pod_with(const char* name, const char* spec) {
  Json pod = objects::pod("shop", name, "100m", "64Mi");
  pod["spec"].merge_patch(Json::parse(spec));
  return pod;
}

void nothing(World&) {}
void edit_a(World& world, const std::function<void(Json&)>& change) { world.edit(kube::kNodes, "", "node-a", change); }

/// Pod of app "first" that runs on node-a.
void put_first_on_a(World& world, const char* spec = "{}") {
  Json pod = pod_with("first", spec);
  pod["spec"]["nodeName"] = "node-a";
  world.add(pod);
}

class SchedulerFilter : public testing::TestWithParam<FilterCase> {};

TEST_P(SchedulerFilter, Decides) {
  const FilterCase& c = GetParam();
  World world;
  world.add(objects::node("node-a", "4", "8Gi", {{"topology.kubernetes.io/zone", "a"}, {"disk", "ssd"}}));
  world.add(objects::node("node-b", "4", "8Gi", {{"topology.kubernetes.io/zone", "b"}}));
  c.prepare(world);
  world.add(pod_with("p", c.spec));
  world.advance(seconds(0));
  const std::string node = world.node_of("p");
  if (std::string(c.want).starts_with("node-")) {
    EXPECT_EQ(node, c.want);
    EXPECT_EQ(world.condition(world.pod("p"), "PodScheduled"), "True");
    EXPECT_TRUE(world.has_event("Scheduled", "p"));
    return;
  }
  EXPECT_EQ(node, "");
  EXPECT_EQ(world.condition(world.pod("p"), "PodScheduled"), "False");
  EXPECT_EQ(world.condition(world.pod("p"), "PodScheduled", "reason"), "Unschedulable");
  EXPECT_EQ(world.condition(world.pod("p"), "PodScheduled", "message"), c.want);
  EXPECT_TRUE(world.has_event("FailedScheduling", "p"));
}

constexpr const char* kAntiFirst =
    R"({"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"first"}}}]}}})";
constexpr const char* kWithFirst =
    R"({"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"topology.kubernetes.io/zone","labelSelector":{"matchLabels":{"app":"first"}}}]}}})";

INSTANTIATE_TEST_SUITE_P(
    Scheduler, SchedulerFilter,
    testing::Values(
        FilterCase{"TiesByName", nothing, "{}", "node-a"},
        FilterCase{"SkipsCordoned", [](World& w) { edit_a(w, [](Json& n) { n["spec"]["unschedulable"] = true; }); },
                   "{}", "node-b"},
        FilterCase{"NodeSelector", nothing, R"({"nodeSelector":{"topology.kubernetes.io/zone":"b"}})", "node-b"},
        FilterCase{"NodeSelectorOfNone", nothing, R"({"nodeSelector":{"disk":"tape"}})",
                   "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."},
        FilterCase{
            "RequiredNodeAffinity", nothing,
            R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"disk","operator":"DoesNotExist"}]}]}}}})",
            "node-b"},
        FilterCase{
            "MatchFields", nothing,
            R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["node-b"]}]}]}}}})",
            "node-b"},
        FilterCase{"Taint",
                   [](World& w) {
                     edit_a(w, [](Json& n) {
                       n["spec"]["taints"] = Json::array({Json{{"key", "k"}, {"effect", "NoSchedule"}}});
                     });
                   },
                   "{}", "node-b"},
        FilterCase{"ToleratedTaint",
                   [](World& w) {
                     edit_a(w, [](Json& n) {
                       n["spec"]["taints"] = Json::array({Json{{"key", "k"}, {"effect", "NoSchedule"}}});
                     });
                   },
                   R"({"tolerations":[{"key":"k","operator":"Exists"}]})", "node-a"},
        FilterCase{"PrefersUntainted",
                   [](World& w) {
                     edit_a(w, [](Json& n) {
                       n["spec"]["taints"] = Json::array({Json{{"key", "k"}, {"effect", "PreferNoSchedule"}}});
                     });
                   },
                   "{}", "node-b"},
        FilterCase{"Cpu",
                   [](World& w) {
                     put_first_on_a(w, R"({"containers":[{"name":"m","resources":{"requests":{"cpu":"3950m"}}}]})");
                   },
                   "{}", "node-b"},
        FilterCase{"CpuNowhere", nothing, R"({"containers":[{"name":"m","resources":{"requests":{"cpu":"5"}}}]})",
                   "0/2 nodes are available: 2 Insufficient cpu."},
        FilterCase{"InitContainersCount", nothing,
                   R"({"initContainers":[{"name":"i","resources":{"requests":{"memory":"9Gi"}}}]})",
                   "0/2 nodes are available: 2 Insufficient memory."},
        FilterCase{"Overhead", nothing, R"({"overhead":{"memory":"8Gi"}})",
                   "0/2 nodes are available: 2 Insufficient memory."},
        FilterCase{"ExtendedResource",
                   [](World& w) { edit_a(w, [](Json& n) { n["status"]["allocatable"]["example.dev/gpu"] = "1"; }); },
                   R"({"containers":[{"name":"m","resources":{"requests":{"example.dev/gpu":"1"}}}]})", "node-a"},
        FilterCase{"PodSlots",
                   [](World& w) {
                     edit_a(w, [](Json& n) { n["status"]["allocatable"]["pods"] = "1"; });
                     put_first_on_a(w);
                   },
                   "{}", "node-b"},
        FilterCase{"HostPort",
                   [](World& w) {
                     put_first_on_a(w, R"({"containers":[{"name":"m","ports":[{"hostPort":80,"containerPort":80}]}]})");
                   },
                   R"({"containers":[{"name":"m","ports":[{"hostPort":80,"containerPort":8080}]}]})", "node-b"},
        FilterCase{"AntiAffinity", [](World& w) { put_first_on_a(w); }, kAntiFirst, "node-b"},
        FilterCase{
            "AntiAffinityOfTheOther",
            [](World& w) {
              put_first_on_a(
                  w,
                  R"({"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"p"}}}]}}})");
            },
            "{}", "node-b"},
        FilterCase{"Affinity",
                   [](World& w) {
                     put_first_on_a(w, R"({"containers":[{"name":"m","resources":{"requests":{"cpu":"2"}}}]})");
                   },
                   kWithFirst, "node-a"},
        FilterCase{"AffinityToNobody", nothing, kWithFirst,
                   "0/2 nodes are available: 2 node(s) didn't match pod affinity rules."},
        FilterCase{
            "TopologySpread", [](World& w) { put_first_on_a(w); },
            R"({"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"app":"first"}}}]})",
            "node-b"},
        FilterCase{
            "SpreadThatIsNoMust", [](World& w) { put_first_on_a(w, R"({"containers":[{"name":"m"}]})"); },
            R"({"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"ScheduleAnyway","labelSelector":{"matchLabels":{"app":"first"}}}]})",
            "node-b"},
        FilterCase{"VolumeZone",
                   [](World& w) {
                     w.add(objects::persistent_volume("vol-b", "1Gi", "b"));
                     Json claim = objects::persistent_volume_claim("shop", "data", "1Gi");
                     claim["spec"]["volumeName"] = "vol-b";
                     w.add(claim);
                   },
                   R"({"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"data"}}]})", "node-b"},
        FilterCase{"MissingClaim", nothing,
                   R"({"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"data"}}]})",
                   "0/2 nodes are available: 2 persistentvolumeclaim \"data\" not found."},
        FilterCase{"LeastAllocated",
                   [](World& w) {
                     put_first_on_a(w, R"({"containers":[{"name":"m","resources":{"requests":{"cpu":"1"}}}]})");
                   },
                   "{}", "node-b"},
        FilterCase{"SaysAllReasons", [](World& w) { edit_a(w, [](Json& n) { n["spec"]["unschedulable"] = true; }); },
                   R"({"containers":[{"name":"m","resources":{"requests":{"cpu":"5"}}}]})",
                   "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."}),
    [](const auto& test) { return test.param.name; });

TEST(SchedulerTest, SpreadsEqualPodsOverEqualNodes) {
  World world;
  world.add_nodes(4);
  world.add(objects::replica_set("shop", "web", 12, "", ""));
  world.advance(seconds(5));
  std::map<std::string, int> per_node;
  for (const Object& pod : world.pods()) ++per_node[api::text_at(*pod, {"spec", "nodeName"})];
  for (const auto& [node, count] : per_node) EXPECT_EQ(count, 3) << node;
}

TEST(SchedulerTest, SeesItsOwnPlacementsWithinOneRound) {
  World world;
  world.add_nodes(2, "1", "4Gi");
  world.add(objects::replica_set("shop", "web", 3, "600m", "64Mi"));
  world.advance(seconds(5));
  EXPECT_EQ(world.ready_pods(), 2) << "the third does not fit";
}

TEST(SchedulerTest, HigherPriorityGoesFirst) {
  World world;
  world.add(objects::priority_class("high", 1000));
  world.add(objects::pod("shop", "a-low", "800m", ""));
  Json high = objects::pod("shop", "b-high", "800m", "");
  high["spec"]["priorityClassName"] = "high";
  world.add(high);
  world.add_nodes(1, "1", "4Gi");
  world.advance(seconds(0));
  EXPECT_EQ(world.node_of("b-high"), "node-1");
  EXPECT_EQ(world.node_of("a-low"), "");
}

struct RetryCase {
  const char* name;
  void (*help)(World& world);
};
class SchedulerRetry : public testing::TestWithParam<RetryCase> {};

TEST_P(SchedulerRetry, PlacesAnUnschedulablePodAfter) {
  World world;
  world.add_nodes(1, "1", "4Gi");
  Json blocker = bound_pod("blocker");
  blocker["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "800m";
  world.add(blocker);
  Json second = objects::node("node-2", "4", "8Gi");
  second["spec"]["unschedulable"] = true;
  world.add(second);
  world.add(objects::pod("shop", "p", "500m", ""));
  world.advance(minutes(1));
  ASSERT_EQ(world.node_of("p"), "");
  GetParam().help(world);
  world.advance(seconds(12));
  EXPECT_NE(world.node_of("p"), "");
  EXPECT_EQ(world.condition(world.pod("p"), "PodScheduled"), "True");
}

INSTANTIATE_TEST_SUITE_P(
    Scheduler, SchedulerRetry,
    testing::Values(RetryCase{"ANewNode", [](World& w) { w.add(objects::node("node-3", "4", "8Gi")); }},
                    RetryCase{"AnUncordon",
                              [](World& w) {
                                w.edit(kube::kNodes, "", "node-2", [](Json& n) { n["spec"].erase("unschedulable"); });
                              }},
                    RetryCase{"ADeletedPod", [](World& w) { w.remove(kube::kPods, "shop", "blocker"); }},
                    RetryCase{"AFinishedPod",
                              [](World& w) {
                                w.edit(kube::kPods, "shop", "blocker",
                                       [](Json& p) { p["status"]["phase"] = "Succeeded"; });
                              }},
                    RetryCase{"MoreAllocatable",
                              [](World& w) {
                                w.edit(kube::kNodes, "", "node-1",
                                       [](Json& n) { n["status"]["allocatable"]["cpu"] = "2"; });
                              }}),
    [](const auto& test) { return test.param.name; });

TEST(SchedulerTest, DoesNotRetryWhileNothingChanges) {
  World world;
  world.add_nodes(1, "1", "4Gi");
  world.add(objects::pod("shop", "p", "2", ""));
  world.advance(seconds(1));
  const auto revision = world.cluster.store().revision();
  world.advance(minutes(10));
  EXPECT_EQ(world.cluster.store().revision(), revision);
}

TEST(SchedulerTest, LeavesForeignGatedAndTerminatingPodsAlone) {
  World world;
  world.add_nodes(1);
  Json foreign = objects::pod("shop", "foreign", "", "");
  foreign["spec"]["schedulerName"] = "my-scheduler";
  world.add(foreign);
  Json gated = objects::pod("shop", "gated", "", "");
  gated["spec"]["schedulingGates"] = Json::array({Json{{"name", "wait"}}});
  world.add(gated);
  Json held = objects::pod("shop", "held", "", "");
  held["metadata"]["finalizers"] = Json::array({"example.dev/hold"});
  world.add(held);
  world.remove(kube::kPods, "shop", "held");
  world.advance(seconds(5));
  for (const char* name : {"foreign", "gated", "held"}) EXPECT_EQ(world.node_of(name), "") << name;
  world.edit(kube::kPods, "shop", "gated", [](Json& pod) { pod["spec"].erase("schedulingGates"); });
  world.advance(seconds(5));
  EXPECT_EQ(world.node_of("gated"), "node-1");
}

TEST(SchedulerTest, ReportsThatThereAreNoNodes) {
  World world;
  world.add(objects::pod("shop", "p", "", ""));
  world.advance(seconds(0));
  EXPECT_EQ(world.condition(world.pod("p"), "PodScheduled", "message"), "no nodes available to schedule pods");
}

TEST(SchedulerTest, PreferencesMoveTheScore) {
  World world;
  world.add(objects::node("node-a", "4", "8Gi", {{"disk", "ssd"}}));
  world.add(objects::node("node-b", "4", "8Gi", {{"disk", "hdd"}}));
  world.add(pod_with(
      "likes-hdd",
      R"({"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":10,"preference":{"matchExpressions":[{"key":"disk","operator":"In","values":["hdd"]}]}}]}}})"));
  world.advance(seconds(0));
  EXPECT_EQ(world.node_of("likes-hdd"), "node-b");
  const char* kShuns =
      R"({"affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":100,"podAffinityTerm":{"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"likes-hdd"}}}}]}}})";
  Json heavy = bound_pod("heavy", "node-a");
  heavy["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "2";
  world.add(heavy);
  world.add(pod_with("shuns", kShuns));
  world.advance(seconds(0));
  EXPECT_EQ(world.node_of("shuns"), "node-a") << "although node-b has more free capacity";
}

TEST(SchedulerTest, CanBeLeftOut) {
  World world({.scheduler = false});
  world.add_nodes(1);
  world.add(objects::pod("shop", "p", "", ""));
  world.advance(minutes(1));
  EXPECT_EQ(world.node_of("p"), "");
}

}  // namespace scheduler_test
}  // namespace simulator
