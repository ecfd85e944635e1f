/// Defragmentation: how many nodes can be freed at most, and which pods hold the others.

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>

#include "test/unit/planner/plan/defragmentation/defragmentation_fixture.hpp"

namespace planner {
namespace defragmentation_bound_test {

using namespace defragmentation_fixture;

TEST(Defragmentation, ReportsImmediatelyThatNothingCanBeFreed) {
  ClusterBuilder cluster;
  for (const char* node : {"n1", "n2", "n3"})
    cluster.add(NodeBuilder(node)).add(web(std::string("on-") + node, node, 4000));
  const Plan plan = plan_of(cluster);
  EXPECT_THAT(plan.moves, IsEmpty());
  EXPECT_THAT(plan.taints, IsEmpty());
  EXPECT_EQ(report_of(plan).bound, 0);
  EXPECT_EQ(report_of(plan).bound_reason, "requests of cpu");
}

struct BoundCase {
  std::string name;
  ClusterBuilder cluster;
  int bound;
  std::string reason;
};

class BoundTest : public testing::TestWithParam<BoundCase> {};

TEST_P(BoundTest, FreesNoMoreThan) {
  const auto report = report_of(plan_of(GetParam().cluster));
  EXPECT_EQ(report.bound, GetParam().bound);
  EXPECT_EQ(report.bound_reason, GetParam().reason);
  EXPECT_LE(report.freed, report.bound);
}

/// Pod of the class "lonely" with anti-affinity against all pods of that class.
PodBuilder repelling(const std::string& app, const std::string& node) {
  return web(app, node, 100)
      .label("app", app)
      .label("class", "lonely")
      .anti_affinity("class", "lonely", std::string(api::well_known::kHostnameLabel));
}

/// The pod on the fourth node cannot leave it, and the other pods do not tolerate that node's taint.
ClusterBuilder three_nodes_and_a_master(const std::vector<PodBuilder>& pods) {
  ClusterBuilder cluster = three_nodes(pods);
  cluster.add(NodeBuilder("master").taint("master")).add(web("api", "master", 100).bare());
  return cluster;
}

ClusterBuilder with_gpus() {
  ClusterBuilder cluster;
  for (const std::string node : {"n1", "n2", "n3"}) {
    cluster.add(NodeBuilder(node).offer("example.com/gpu", 2));
    cluster.add(web("on-" + node, node, 100).request("example.com/gpu", 1000));
  }
  return cluster;
}

/// Two nodes have enough cpu for all pods and two have enough memory, but no two nodes have enough of both.
ClusterBuilder unlike_nodes() {
  constexpr std::int64_t kGi = std::int64_t{1} << 30;
  ClusterBuilder cluster;
  for (const std::string node : {"c1", "c2"}) {
    cluster.add(NodeBuilder(node).sized(3000, kGi, 10));
    for (const char* pod : {"a-on-", "b-on-"}) cluster.add(web(pod + node, node, 1000).memory(kGi / 4));
  }
  for (const std::string node : {"m1", "m2"}) {
    cluster.add(NodeBuilder(node).sized(1000, 3 * kGi, 10));
    for (const char* pod : {"a-on-", "b-on-"}) cluster.add(web(pod + node, node, 250).memory(kGi));
  }
  return cluster;
}

/// Each pool has two nodes. All pods would fit on two of the four nodes, but the first pool needs both of its own, and
/// those have no free capacity for the other pods.
ClusterBuilder two_pools(const std::function<void(NodeBuilder&)>& mark,
                         const std::function<void(PodBuilder&)>& choose) {
  ClusterBuilder cluster;
  for (const std::string node : {"n1", "n2", "n3", "n4"}) {
    const bool is_first = node < "n3";
    NodeBuilder built(node);
    if (is_first) mark(built.sized(2500, 4000, 10));
    cluster.add(built);
    for (const std::int64_t cpu : is_first ? std::vector<std::int64_t>{2000, 500} : std::vector<std::int64_t>{500}) {
      PodBuilder pod = web("on-" + node + "-" + std::to_string(cpu), node, cpu);
      if (is_first) choose(pod);
      cluster.add(pod);
    }
  }
  return cluster;
}

/// Only the two large nodes of the four fit the first two pods.
ClusterBuilder large_and_small() {
  ClusterBuilder cluster;
  for (const std::string node : {"l1", "l2"}) {
    cluster.add(NodeBuilder(node).sized(4000, 4000, 10));
    cluster.add(web("on-" + node, node, 2100));
  }
  for (const std::string node : {"s1", "s2"}) {
    cluster.add(NodeBuilder(node).sized(2000, 4000, 10));
    cluster.add(web("on-" + node, node, 100).tolerate("unrelated"));
  }
  return cluster;
}

/// Two small nodes are needed for their GPUs, and one of the other nodes for the rest.
ClusterBuilder small_with_gpus() {
  ClusterBuilder cluster;
  for (const std::string node : {"g1", "g2"}) {
    cluster.add(NodeBuilder(node).sized(1000, 4000, 10).offer("example.com/gpu", 2));
    cluster.add(web("on-" + node, node, 500).request("example.com/gpu", 2000));
  }
  for (const std::string node : {"n1", "n2", "n3"}) cluster.add(NodeBuilder(node)).add(web("on-" + node, node, 1500));
  return cluster;
}

auto asks_for_port(std::int32_t port) {
  return [port](api::Pod& pod) { pod.containers.edit()[0].host_ports.push_back({"", "TCP", port}); };
}

/// Pods of one template share their labels.
PodBuilder even(const std::string& app, const std::string& node, std::int64_t cpu, std::string_view topology,
                std::int32_t skew = 1, const std::string& number = "") {
  static std::map<std::string, api::StringMap> labels;
  const api::StringMap& own = labels.try_emplace(app, api::StringMap({{"app", app}})).first->second;
  return PodBuilder(app + number + "-on-" + node).on(node).cpu(cpu).with([&](api::Pod& pod) {
    pod.meta.labels = own;
    api::TopologySpreadConstraint constraint;
    constraint.max_skew = skew;
    constraint.topology_key = topology;
    constraint.label_selector = builders::labels_in("app", {app});
    pod.topology_spread.push_back(std::move(constraint));
  });
}

/// Three zones of two nodes each, one of which has two of the three pods. Without zones five nodes fit all nine pods.
ClusterBuilder three_zones(std::int32_t skew, bool is_even = true) {
  ClusterBuilder cluster;
  for (const std::string zone : {"a", "b", "c"}) {
    for (const char* number : {"1", "2"})
      cluster.add(NodeBuilder(zone + number).label(api::well_known::kZoneLabel, zone));
    cluster.add(even("x", zone + "1", 1500, api::well_known::kZoneLabel, skew));
    cluster.add(even("y", zone + "1", 1500, api::well_known::kZoneLabel, skew));
    const std::string other = is_even || zone != "c" ? zone + "2" : "b2";
    cluster.add(even("z", other, 1500, api::well_known::kZoneLabel, skew, "-" + zone));
  }
  if (!is_even) cluster.add(web("w", "c2", 100));
  return cluster;
}

INSTANTIATE_TEST_SUITE_P(
    Bound, BoundTest,
    testing::Values(
        BoundCase{"Requests", three_nodes({web("a", "n1", 2000), web("b", "n2", 2000), web("c", "n3", 2000)}), 1,
                  "requests of cpu"},
        BoundCase{"RequestsThatLeaveARest",
                  three_nodes({web("a", "n1", 3000), web("b", "n2", 3000), web("c", "n3", 3000)}), 0,
                  "requests of cpu"},
        BoundCase{"ExtendedResource", with_gpus(), 1, "requests of example.com/gpu"},
        BoundCase{"CpuAndMemoryTogether", unlike_nodes(), 1, "requests of cpu and memory together"},
        BoundCase{"Repelling", three_nodes({quorum("q-1", "n1", 100), quorum("q-2", "n2", 100), web("c", "n3", 100)}),
                  1, "2 pods with anti-affinity against each other, such as default/q-1"},
        BoundCase{"RepellingThatShareANodeNow",
                  three_nodes({quorum("q-1", "n1", 100), quorum("q-2", "n1", 100), web("c", "n3", 100)}), 1,
                  "requests of cpu"},
        BoundCase{"RepellingOfTwoWorkloads",
                  three_nodes({repelling("a", "n1"), repelling("b", "n2"), web("c", "n3", 100)}), 1,
                  "2 pods with anti-affinity against each other, such as default/a"},
        BoundCase{"RepellingBesideAPoolThatStays",
                  three_nodes_and_a_master({quorum("q-1", "n1", 100), quorum("q-2", "n2", 100), web("c", "n3", 100)}),
                  1, "requests of pods that can run on some nodes only"},
        BoundCase{"PoolOfASelector",
                  two_pools([](NodeBuilder& node) { node.label("pool", "a"); },
                            [](PodBuilder& pod) { pod.with([](api::Pod& p) {
                                                    p.node_selector = {{"pool", "a"}};
                                                  }); }),
                  1, "requests of pods that can run on some nodes only"},
        BoundCase{"PoolThatOthersDoNotTolerate",
                  two_pools([](NodeBuilder& node) { node.label("pool", "a").taint("a"); },
                            [](PodBuilder& pod) {
                              pod.tolerate("a").with([](api::Pod& p) { p.node_selector = {{"pool", "a"}}; });
                            }),
                  1, "requests of pods that can run on some nodes only"},
        BoundCase{"PoolOfARequiredNodeAffinity",
                  two_pools([](NodeBuilder& node) { node.label("pool", "a"); },
                            [](PodBuilder& pod) {
                              pod.affinity([](api::Affinity& affinity) {
                                affinity.required_node_terms = {{{{"pool", api::SelectorOperator::kIn, {"a"}}}, {}}};
                              });
                            }),
                  1, "requests of pods that can run on some nodes only"},
        BoundCase{
            "PoolThatIsOnlyPreferred",
            two_pools(
                [](NodeBuilder& node) { node.label("pool", "a").taint("a", api::TaintEffect::kPreferNoSchedule); },
                [](PodBuilder&) {}),
            2, "requests of cpu"},
        BoundCase{"PodsThatOnlySomeNodesCouldHold", large_and_small(), 2, "requests of cpu"},
        BoundCase{"ExtendedResourceOfSmallNodes", small_with_gpus(), 1,
                  "requests of pods that can run on some nodes only"},
        BoundCase{"HostPorts",
                  three_nodes({web("a", "n1", 100).with(asks_for_port(80)), web("b", "n2", 100).with(asks_for_port(80)),
                               web("c", "n3", 100).with(asks_for_port(81))}),
                  1, "2 pods with host port 80"},
        BoundCase{"SpreadEvenly", three_zones(1), 0,
                  "requests of pods that can run on some nodes only, or are spread evenly"},
        BoundCase{"SpreadWithALargerSkew", three_zones(2), 1, "requests of cpu"},
        BoundCase{"SpreadThatIsNotEvenNow", three_zones(1, false), 2, "requests of cpu"},
        BoundCase{"SpreadOverNodes",
                  three_nodes({even("e", "n1", 100, api::well_known::kHostnameLabel),
                               even("e", "n2", 100, api::well_known::kHostnameLabel), web("c", "n3", 100)}),
                  1, "2 pods that are spread evenly, such as default/e-on-n1"},
        BoundCase{"SpreadOverAllNodes",
                  three_nodes({even("e", "n1", 100, api::well_known::kHostnameLabel),
                               even("e", "n2", 100, api::well_known::kHostnameLabel),
                               even("e", "n3", 100, api::well_known::kHostnameLabel),
                               even("e", "n3", 100, api::well_known::kHostnameLabel, 1, "2")}),
                  0, "pods that are spread evenly"},
        BoundCase{"Staying", three_nodes({web("a", "n1", 100).bare(), web("b", "n2", 100).bare(), web("c", "n3", 100)}),
                  1, "2 nodes with pods that may not leave"}),
    [](const auto& test) { return test.param.name; });

struct HeldCase {
  std::string name;
  PodBuilder pod;     ///< The only pod of n2
  NodeBuilder other;  ///< n1, the node of the pod "there"
  PodBuilder there;
  std::string reason;
};

class HeldTest : public testing::TestWithParam<HeldCase> {};

TEST_P(HeldTest, NamesPodAndRule) {
  const HeldCase& c = GetParam();
  ClusterBuilder cluster;
  cluster.add(c.other).add(NodeBuilder("n2").label("zone", "b")).add(c.there).add(c.pod);
  const Plan plan = plan_of(cluster);
  EXPECT_THAT(plan.moves, IsEmpty());
  const auto& held = report_of(plan).held;
  const auto row = std::ranges::find(held, "n2", &strategies::EmptyingReport::Held::node);
  ASSERT_NE(row, held.end());
  EXPECT_EQ(row->pod, "held");
  EXPECT_EQ(row->reason, c.reason) << row->message;
}

PodBuilder held() { return PodBuilder("held").on("n2").cpu(1000); }
PodBuilder bare_there() { return PodBuilder("there").on("n1").cpu(2000).bare(); }
NodeBuilder n1() { return NodeBuilder("n1").label("zone", "a"); }
const auto kPort = [](api::Pod& pod) { pod.containers[0].host_ports.push_back({"", "TCP", 80}); };
const auto kSpread = [](api::Pod& pod) {
  pod.meta.labels = {{"app", "s"}};
  pod.topology_spread.push_back({1, "zone", false, builders::labels_in("app", {"s"}), {}, true, false, {}});
};
const auto kBesideFriend = [](api::Affinity& affinity) {
  api::PodAffinityTerm& term = affinity.required_pod_affinity.emplace_back();
  term.label_selector = builders::labels_in("app", {"friend"});
  term.topology_key = api::well_known::kHostnameLabel;
};

INSTANTIATE_TEST_SUITE_P(
    Held, HeldTest,
    testing::Values(
        HeldCase{"Bare", held().bare(), n1(), bare_there(), "BarePod"},
        HeldCase{"NobodyReplacesIt", held().bare().annotate("descheduler.alpha.kubernetes.io/evict", "true"), n1(),
                 bare_there(), "NoReplacement"},
        HeldCase{"LocalStorage", held().with([](api::Pod& pod) {
                   pod.volumes.push_back({api::VolumeKind::kEmptyDir, ""});
                 }),
                 n1(), bare_there(), "LocalStorage"},
        HeldCase{"AntiAffinity",
                 held().label("app", "q").anti_affinity("app", "q", std::string(api::well_known::kHostnameLabel)), n1(),
                 bare_there().label("app", "q"), "AntiAffinity"},
        HeldCase{"AntiAffinityOfTheOther", held().label("app", "q"), n1(),
                 bare_there().anti_affinity("app", "q", std::string(api::well_known::kHostnameLabel)),
                 "ExistingAntiAffinity"},
        HeldCase{"Affinity", held().label("app", "friend").affinity(kBesideFriend), n1(), bare_there(),
                 "AffinityUnsatisfied"},
        HeldCase{"NodeSelector", held().with([](api::Pod& pod) {
                   pod.node_selector = {{"zone", "b"}};
                 }),
                 n1(), bare_there(), "NodeSelectorMismatch"},
        HeldCase{"Taint", held(), n1().taint("dedicated"), bare_there(), "UntoleratedTaint"},
        HeldCase{"HostPort", held().with(kPort), n1(), bare_there().with(kPort), "HostPortInUse"},
        HeldCase{"Resources", held().cpu(2000), n1(), bare_there(), "InsufficientResource"},
        HeldCase{"NumberOfPods", held(), n1().sized(4000, 4000, 1), bare_there(), "TooManyPods"},
        HeldCase{"Cordon", held(), n1().cordoned(), bare_there(), "NoOtherNode"}),
    [](const auto& test) { return test.param.name; });

}  // namespace defragmentation_bound_test
}  // namespace planner
