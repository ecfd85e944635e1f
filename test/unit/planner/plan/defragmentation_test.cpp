/// The strategy Defragmentation in complete planning cycles. It asks the plan builder where replacements go.

#include <gmock/gmock.h>

#include <functional>
#include <limits>
#include <map>
#include <set>

#include "api/meta/well_known.hpp"
#include "planner/plan/planner.hpp"
#include "test/builders/cluster.hpp"

namespace planner {
namespace defragmentation_test {

using builders::ClusterBuilder;
using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

PodBuilder web(const std::string& name, const std::string& node, std::int64_t cpu = 1000) {
  return PodBuilder(name).on(node).cpu(cpu).label("app", "web");
}
/// Pod that shares labels and affinity with its siblings, like pods of one template.
PodBuilder quorum(const std::string& name, const std::string& node, std::int64_t cpu = 1000) {
  static const api::StringMap labels = {{"app", "quorum"}};
  static const std::shared_ptr<const api::Affinity> affinity =
      PodBuilder("").anti_affinity("app", "quorum", std::string(api::well_known::kHostnameLabel)).build().affinity;
  return PodBuilder(name).on(node).cpu(cpu).with([&](api::Pod& pod) {
    pod.meta.labels = labels;
    pod.affinity = affinity;
  });
}

struct PlanSettings {
  std::string args = "{}";
  PlanOptions options{.spend_pdbs = false, .taint_value = "p"};
  api::PerCycleLimits limits{};
};

Plan plan_of(const ClusterBuilder& builder, const PlanSettings& settings = {}) {
  api::DeschedulerPolicySpec policy;
  policy.strategies.push_back({"Defragmentation", settings.args});
  policy.limits.per_cycle = settings.limits;
  const PlanSpec spec(policy);
  EXPECT_THAT(spec.strategy_specs.errors, IsEmpty());
  const auto cluster = builder.build();
  return plan_cycle({.spec = spec, .cluster = *cluster, .leaving = {}, .now = kNoon, .options = settings.options});
}

const strategies::EmptyingReport& report_of(const Plan& plan) { return plan.strategies.at(0).emptying.value(); }

std::vector<std::string> moves_of(const Plan& plan) {
  std::vector<std::string> moves;
  for (const api::PlannedMove& move : plan.moves)
    moves.push_back(std::to_string(move.wave) + ": " + move.pod + " " + move.from + " > " + move.to);
  return moves;
}

/// One node full of ordinary pods and `open` nodes, each held by one pod.
ClusterBuilder fragmented(int open) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("full"));
  for (const char* name : {"web-1", "web-2", "web-3", "web-4"}) cluster.add(web(name, "full"));
  for (int i = 1; i <= open; ++i) {
    const std::string number = std::to_string(i);
    cluster.add(NodeBuilder("open-" + number)).add(quorum("quorum-" + number, "open-" + number));
  }
  return cluster;
}

// --- the cheapest of equal moves

struct CheapCase {
  std::string name;
  std::function<void(PodBuilder&)> make_dear;   ///< Applied to all pods of a node except one
  std::function<void(PodBuilder&)> make_cheap;  ///< Applied to the remaining pod
};
class CheapTest : public testing::TestWithParam<CheapCase> {};

/// Every pod of `full` frees the same capacity, and either open node can be emptied with one move.
TEST_P(CheapTest, MovesPodsWithTheSmallestDisruption) {
  ClusterBuilder cluster;
  const auto add = [&](PodBuilder pod, bool is_cheap) {
    (is_cheap ? GetParam().make_cheap : GetParam().make_dear)(pod);
    cluster.add(pod);
  };
  for (const char* node : {"full", "open-1", "open-2"}) cluster.add(NodeBuilder(node));
  for (const std::string name : {"web-1", "web-2", "web-3", "web-4"}) add(web(name, "full"), name == "web-3");
  add(quorum("quorum-1", "open-1"), false);
  add(quorum("quorum-2", "open-2"), true);
  std::set<std::string> moved;
  for (const api::PlannedMove& move : plan_of(cluster).moves) moved.insert(move.pod);
  EXPECT_THAT(moved, ElementsAre("quorum-2", "web-3"));
}

const auto kPriority = [](std::int32_t value) { return [=](PodBuilder& pod) { pod.priority(value); }; };
const auto kGrace = [](std::int64_t seconds) {
  return [=](PodBuilder& pod) { pod.with([=](api::Pod& each) { each.termination_grace_period_seconds = seconds; }); };
};
const auto kReluctant = [](PodBuilder& pod) { pod.annotate(api::well_known::kPreferNoEviction); };
const auto kPlain = [](PodBuilder&) {};

INSTANTIATE_TEST_SUITE_P(
    Defragmentation, CheapTest,
    testing::Values(CheapCase{"OfLowerPriority", kPriority(1000), kPriority(10)},
                    CheapCase{"OfNegativePriority", kPlain, kPriority(-1)},
                    CheapCase{"WithAShorterGracePeriod", kGrace(300), kGrace(10)},
                    CheapCase{"WithAShorterGracePeriodThanTheLongestOfAll",
                              kGrace(std::numeric_limits<std::int64_t>::max()), kGrace(10)},
                    CheapCase{"ThatSayNothingOfTheirGracePeriod", kGrace(31), kPlain},
                    CheapCase{"ThatDoNotAskToBeSpared", kReluctant, kPlain},
                    CheapCase{"OfHigherPriorityThatDoNotAskToBeSpared", kReluctant, kPriority(1000)},
                    CheapCase{"OfLowerPriorityWithALongerGracePeriod", kPriority(1), kGrace(3600)}),
    [](const auto& info) { return info.param.name; });

/// More freed nodes take precedence over fewer moves, and fewer moves over cheaper pods.
TEST(Defragmentation, PrefersFewerMovesOverCheaperPods) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
  cluster.add(web("dear", "n1", 500).priority(1000));
  cluster.add(web("cheap-1", "n2", 200)).add(web("cheap-2", "n2", 200));
  EXPECT_THAT(moves_of(plan_of(cluster)), ElementsAre("1: dear n1 > n2"));
}

// --- swaps, chains, waves

TEST(Defragmentation, SwapsAnOrdinaryPodForOneThatFitsNowhere) {
  const Plan plan = plan_of(fragmented(2));
  EXPECT_EQ(report_of(plan).freed, 1);
  EXPECT_EQ(report_of(plan).bound, 1);
  ASSERT_THAT(plan.moves, SizeIs(2));
  EXPECT_EQ(plan.moves[0].from, "full");
  EXPECT_EQ(plan.moves[0].wave, 1);
  EXPECT_EQ(plan.moves[1].to, "full");
  EXPECT_EQ(plan.moves[1].wave, 2) << "the room is free once the first move has been made";
}

TEST(Defragmentation, MovesDirectlyIfThereIsFreeCapacity) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
  cluster.add(web("a", "n1")).add(web("b", "n1")).add(web("c", "n2"));
  EXPECT_THAT(moves_of(plan_of(cluster)), ElementsAre("1: c n2 > n1"));
}

TEST(Defragmentation, MovesChainsOfPods) {
  ClusterBuilder cluster;
  const auto only_on = [](const std::string& pool) {
    return [pool](api::Pod& pod) { pod.node_selector = {{"pool", pool}}; };
  };
  // "big" fits only on a, from which "medium" must leave. "medium" fits only on b, from which "small" must leave.
  cluster.add(NodeBuilder("a").label("pool", "a")).add(NodeBuilder("b").label("pool", "a").label("also", "b"));
  cluster.add(NodeBuilder("c")).add(NodeBuilder("d").label("pool", "a"));
  cluster.add(web("keep-a", "a", 2000).bare()).add(web("medium", "a", 2000).with(only_on("a")));
  cluster.add(web("keep-b", "b", 3000).bare()).add(web("small", "b", 1000));
  cluster.add(web("keep-c", "c", 3000).bare());
  cluster.add(web("big", "d", 1000).with(only_on("a")));
  const Plan plan = plan_of(cluster);
  EXPECT_EQ(report_of(plan).freed, 1) << testing::PrintToString(moves_of(plan));
}

TEST(Defragmentation, NeverMovesAPodTwice) {
  const Plan plan = plan_of(fragmented(4));
  std::set<std::string> moved;
  for (const api::PlannedMove& move : plan.moves) EXPECT_TRUE(moved.insert(move.pod).second) << move.pod;
  EXPECT_EQ(report_of(plan).freed, report_of(plan).bound);
}

TEST(Defragmentation, AsksForTheTaintOnEmptiedNodesOnly) {
  const Plan plan = plan_of(fragmented(2));
  ASSERT_THAT(plan.taints, SizeIs(1));
  EXPECT_EQ(plan.taints[0].key, api::well_known::kEmptyingTaint);
  EXPECT_EQ(plan.taints[0].node, plan.moves.at(1).from);
}

TEST(Defragmentation, SpendsABudgetOnceAWave) {
  ClusterBuilder cluster = fragmented(1);
  cluster.add(NodeBuilder("wide").sized(8000, 8000, 20)).add(web("other", "wide"));
  cluster.add(NodeBuilder("n2")).add(web("x-1", "n2", 500)).add(web("x-2", "n2", 500)).add(web("x-3", "n2", 500));
  cluster.add(builders::pdb("web", "web", 1));
  const Plan plan = plan_of(cluster);
  ASSERT_GT(report_of(plan).freed, 0);
  std::map<std::int32_t, int> in_wave;
  for (const api::PlannedMove& move : plan.moves) in_wave[move.wave] += move.pod.starts_with("quorum") ? 0 : 1;
  for (const auto& [wave, count] : in_wave) EXPECT_LE(count, 1) << "wave " << wave;
}

TEST(Defragmentation, MakesTheSamePlanAgain) { EXPECT_EQ(plan_of(fragmented(5)), plan_of(fragmented(5))); }

TEST(Defragmentation, PlacesPodsOnItsTargetsWithHints) {
  const Plan plan = plan_of(fragmented(2), {.options = {.spend_pdbs = false, .placement_hints = true}});
  EXPECT_EQ(report_of(plan).freed, 1) << testing::PrintToString(moves_of(plan));
  EXPECT_THAT(plan.moves, SizeIs(2));
}

/// Row 8 of the comparison with kube-scheduler.
TEST(Defragmentation, Row8FreesNoNodeThatAPendingPodNeeds) {
  ClusterBuilder cluster = fragmented(2);
  cluster.add(PodBuilder("waiting").cpu(4000));
  const Plan plan = plan_of(cluster);
  EXPECT_EQ(report_of(plan).freed, 0) << testing::PrintToString(moves_of(plan));
  EXPECT_THAT(plan.moves, IsEmpty());
}

TEST(Defragmentation, SparesAPodThatNeedNotMove) {
  // By memory, x is the largest pod on n. Without y-1 and y-2, p fits whether x stays or not.
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n").label("pool", "n")).add(NodeBuilder("m")).add(NodeBuilder("from"));
  cluster.add(web("keep-n", "n", 1900).memory(100).bare());
  cluster.add(web("x", "n", 100).memory(1500))
      .add(web("y-1", "n", 1000).memory(10))
      .add(web("y-2", "n", 1000).memory(10));
  cluster.add(web("keep-m", "m", 2000).memory(3000).bare());
  cluster.add(web("p", "from", 2000).memory(2000).with([](api::Pod& pod) { pod.node_selector = {{"pool", "n"}}; }));
  const Plan plan = plan_of(cluster, {.options = {.spend_pdbs = false, .placement_hints = true}});
  EXPECT_EQ(report_of(plan).freed, 1);
  EXPECT_THAT(plan.moves, SizeIs(3)) << testing::PrintToString(moves_of(plan));
  for (const api::PlannedMove& move : plan.moves) EXPECT_NE(move.from, move.to) << move.pod;
}

TEST(Defragmentation, FreesANodeBesideAnOvercommittedOne) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("shrunk")).add(NodeBuilder("b")).add(NodeBuilder("c"));
  cluster.add(web("a-1", "shrunk", 3000)).add(web("a-2", "shrunk", 2000));
  cluster.add(web("on-b", "b", 2000)).add(web("on-c", "c", 2000));
  const Plan plan = plan_of(cluster);
  EXPECT_EQ(report_of(plan).bound, 1);
  EXPECT_EQ(report_of(plan).freed, 1);
}

// --- bound and held nodes

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

ClusterBuilder three_nodes(const std::vector<PodBuilder>& pods) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(NodeBuilder("n3"));
  for (const PodBuilder& pod : pods) cluster.add(pod);
  return cluster;
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
    [](const auto& info) { return info.param.name; });

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
    [](const auto& info) { return info.param.name; });

// --- arguments

TEST(DefragmentationArgs, MaxMovesLimitsTheNumberOfFreedNodes) {
  const Plan plan = plan_of(fragmented(4), {.args = R"({"maxMoves": 3})"});
  EXPECT_EQ(report_of(plan).freed, 1);
  EXPECT_LE(plan.moves.size(), 3U);
}

TEST(DefragmentationArgs, TheLimitOfACycleCountsAsWell) {
  const Plan plan = plan_of(fragmented(4), {.limits = {2, {}, {}}});
  EXPECT_EQ(report_of(plan).freed, 1) << testing::PrintToString(moves_of(plan));
  EXPECT_THAT(plan.moves, SizeIs(2));
}

TEST(DefragmentationArgs, AZeroLimitIsReportedAndNothingIsSearched) {
  int looks = 0;
  const auto look = [&] { return ++looks, false; };
  const Plan plan =
      plan_of(fragmented(4), {.options = {.taint_value = "p", .is_cancelled = look}, .limits = {0, {}, {}}});
  EXPECT_THAT(plan.moves, IsEmpty());
  EXPECT_THAT(plan.taints, IsEmpty());
  EXPECT_EQ(report_of(plan).note, "limits.perCycle.total allows no moves");
  EXPECT_EQ(report_of(plan).bound, 1) << "what could be had";
  EXPECT_LE(looks, 10);
}

struct CutCase {
  std::string name;
  api::PerCycleLimits limits;
  std::string note;
};

class CutTest : public testing::TestWithParam<CutCase> {};

TEST_P(CutTest, MovesNothingUnlessTheWholePlanMayGo) {
  ClusterBuilder cluster = fragmented(1);
  cluster.add(NodeBuilder("open-2")).add(quorum("quorum-2", "open-2", 600)).add(web("web-5", "open-2", 500));
  const Plan plan = plan_of(cluster, {.limits = GetParam().limits});
  EXPECT_THAT(moves_of(plan), IsEmpty()) << "of what only makes room nobody gains";
  EXPECT_THAT(plan.taints, IsEmpty());
  EXPECT_EQ(plan.strategies.at(0).nominated, 0);
  EXPECT_EQ(report_of(plan).freed, 0);
  EXPECT_EQ(report_of(plan).note, GetParam().note);
}

INSTANTIATE_TEST_SUITE_P(
    Limits, CutTest,
    testing::Values(CutCase{"PerNamespace",
                            {{}, {}, 1},
                            "the plan of 2 moves that frees 1 nodes is not executed: limits.perCycle.perNamespace does "
                            "not allow default/quorum-1 to move with the others"},
                    CutCase{"PerNode",
                            {{}, 0, {}},
                            "the plan of 2 moves that frees 1 nodes is not executed: limits.perCycle.perNode does not "
                            "allow default/web-1 to move with the others"}),
    [](const auto& info) { return info.param.name; });

/// The cycle's time starts with the first offer.
TEST(DefragmentationLimits, ReportThatTheTimeOfTheCycleIsUsedUp) {
  PlanSettings settings;
  settings.options.time_limit = base::Duration{};
  settings.options.elapsed = [time = base::Duration{}]() mutable { return ++time; };
  const Plan plan = plan_of(fragmented(2), settings);
  EXPECT_THAT(moves_of(plan), IsEmpty());
  EXPECT_THAT(report_of(plan).note, testing::HasSubstr("is not made: the time limit of the cycle does not let "));
}

TEST(DefragmentationArgs, MinNodesFreedRefusesASmallerGain) {
  const Plan plan = plan_of(fragmented(2), {.args = R"({"minNodesFreed": 2})"});
  EXPECT_THAT(plan.moves, IsEmpty());
  EXPECT_THAT(plan.taints, IsEmpty());
  EXPECT_EQ(report_of(plan).note, "1 nodes could be freed with 2 moves, minNodesFreed is 2");
}

TEST(DefragmentationArgs, MaxDisruptionPerWorkloadSparesPods) {
  ClusterBuilder cluster =
      three_nodes({web("a", "n1", 500), web("b", "n1", 500), web("c", "n2", 100).owned_by("ReplicaSet", "o")});
  cluster.add(web("d", "n3", 2000).bare());
  EXPECT_EQ(report_of(plan_of(cluster)).freed, 2);
  EXPECT_EQ(report_of(plan_of(cluster, {.args = R"({"maxDisruptionPerWorkload": 1})"})).freed, 1);
}

TEST(DefragmentationArgs, NodeSelectorLeavesOtherNodesAsTheyAre) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1").label("pool", "a")).add(NodeBuilder("n2").label("pool", "b"));
  cluster.add(web("a", "n1", 500)).add(web("b", "n2", 100));
  const Plan plan = plan_of(cluster, {.args = R"({"nodeSelector": {"matchLabels": {"pool": "a"}}})"});
  EXPECT_THAT(moves_of(plan), ElementsAre("1: a n1 > n2"));
}

TEST(DefragmentationArgs, EmptyFirstOrdersByPrice) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1").label("price", "9.5")).add(NodeBuilder("n2").label("price", "10"));
  cluster.add(web("a", "n1", 100)).add(web("b", "n2", 200));
  EXPECT_THAT(moves_of(plan_of(cluster, {.args = R"({"emptyFirst": [{"label": "price"}]})"})),
              ElementsAre("1: b n2 > n1"));
  EXPECT_THAT(moves_of(plan_of(cluster, {.args = R"({"emptyFirst": [{"label": "price", "order": "LowestFirst"}]})"})),
              ElementsAre("1: a n1 > n2"));
}

TEST(DefragmentationArgs, HeadroomStaysFree) {
  const ClusterBuilder cluster = three_nodes({web("a", "n1", 2000), web("b", "n2", 1900)});
  EXPECT_THAT(plan_of(cluster).moves, SizeIs(1));
  EXPECT_THAT(plan_of(cluster, {.args = R"({"headroom": {"cpu": 10}})"}).moves, IsEmpty());
}

TEST(DefragmentationArgs, ANodeThatCostsTooManyMovesStays) {
  ClusterBuilder cluster = three_nodes({web("a", "n1", 100), web("b", "n1", 100), web("c", "n1", 100)});
  cluster.add(web("d", "n2", 2000).bare());
  EXPECT_THAT(plan_of(cluster, {.args = R"({"weights": {"nodeFreed": 4, "move": 1}})"}).moves, SizeIs(3));
  EXPECT_THAT(plan_of(cluster, {.args = R"({"weights": {"nodeFreed": 3, "move": 1}})"}).moves, IsEmpty());
}

TEST(DefragmentationArgs, AnAbsurdWeightIsRefused) {
  api::DeschedulerPolicySpec policy;
  policy.strategies.push_back({"Defragmentation", R"({"weights": {"nodeFreed": 1e308}})"});
  const PlanSpec spec(policy);
  ASSERT_THAT(spec.strategy_specs.errors, SizeIs(1));
}

TEST(DefragmentationArgs, ACancelledSearchMovesNothing) {
  const Plan plan = plan_of(fragmented(3), {.options = {.taint_value = "p", .is_cancelled = [] { return true; }}});
  EXPECT_THAT(plan.moves, IsEmpty());
  EXPECT_NE(plan.strategies.at(0).problem, "") << "that is not the same as nothing to move";
}

/// Three nodes can be freed.
ClusterBuilder thrice_full() {
  ClusterBuilder cluster = fragmented(6);
  for (const std::string node : {"full-2", "full-3"}) {
    cluster.add(NodeBuilder(node));
    for (const char* name : {"-1", "-2", "-3", "-4"}) cluster.add(web(node + name, node));
  }
  return cluster;
}

TEST(DefragmentationArgs, ATimeoutInTheFirstAttemptLeavesASmallPlan) {
  int unfinished = 0;
  for (int looks = 1; looks < 60; ++looks) {  // Number of clock readings before the clock advances by an hour
    const auto tick = [left = looks]() mutable { return left-- > 0 ? base::Duration{} : base::minutes(60); };
    const Plan plan = plan_of(thrice_full(), {.options = {.spend_pdbs = false, .taint_value = "p", .elapsed = tick}});
    SCOPED_TRACE(looks);
    EXPECT_GT(report_of(plan).freed, 0);
    if (report_of(plan).freed == report_of(plan).bound) continue;
    ++unfinished;
    EXPECT_THAT(report_of(plan).note, testing::HasSubstr("timeBudget expired"));
  }
  EXPECT_GT(unfinished, 0);
}

TEST(DefragmentationArgs, ATimeoutBeforeTheFirstPlanIsAnError) {
  const auto late = [looks = 0]() mutable { return looks++ == 0 ? base::Duration{} : base::minutes(60); };
  const Plan plan =
      plan_of(thrice_full(), {.args = R"({"minNodesFreed": 8})", .options = {.taint_value = "p", .elapsed = late}});
  EXPECT_THAT(plan.moves, IsEmpty());
  EXPECT_THAT(plan.strategies.at(0).problem, testing::HasSubstr("timeBudget expired"));
}

TEST(DefragmentationArgs, AProfitableMoveIsMadeEvenIfTheLargestPlanIsNotProfitable) {
  // n1 can be emptied with one move. The pod of n2 requires three other moves first, each to another node.
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(web("light", "n1", 100));
  cluster.add(NodeBuilder("n2").label("pool", "b")).add(web("heavy", "n2", 3000).with([](api::Pod& pod) {
    pod.node_selector = {{"pool", "b"}};
  }));
  cluster.add(NodeBuilder("n3").label("pool", "b"));
  for (const char* name : {"x-1", "x-2", "x-3"}) cluster.add(web(name, "n3", 1000));
  cluster.add(web("keep-3", "n3", 500).bare());
  cluster.add(NodeBuilder("n4")).add(web("keep-4", "n4", 100).bare());
  const Plan plan = plan_of(cluster, {.args = R"({"weights": {"nodeFreed": 2, "move": 1}})",
                                      .options = {.spend_pdbs = false, .placement_hints = true}});
  EXPECT_EQ(report_of(plan).freed, 1);
  EXPECT_THAT(plan.moves, SizeIs(1));
}

TEST(Defragmentation, FreesANodeIfOthersLackDifferentResources) {
  ClusterBuilder cluster;
  for (const char* node : {"cpu-1", "cpu-2"})
    cluster.add(NodeBuilder(node)).add(web(std::string("on-") + node, node, 3900).memory(100).bare());
  cluster.add(NodeBuilder("memory")).add(web("on-memory", "memory", 100).memory(3900).bare());
  cluster.add(NodeBuilder("light")).add(web("small", "light", 1500).memory(50));
  EXPECT_EQ(report_of(plan_of(cluster)).freed, 1);
}

TEST(Defragmentation, KeepsAPodThatAnArrivalOfTheWaveNeeds) {
  const auto only_in = [](const std::string& pool) {
    return [pool](api::Pod& pod) { pod.node_selector = {{"pool", pool}}; };
  };
  const auto beside_friend = [](api::Affinity& affinity) {
    api::PodAffinityTerm& term = affinity.required_pod_affinity.emplace_back();
    term.label_selector = builders::labels_in("app", {"friend"});
    term.topology_key = api::well_known::kHostnameLabel;
  };
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n").label("pool", "n")).add(web("keep-n", "n", 1900).bare());
  cluster.add(PodBuilder("friend").on("n").cpu(1000).label("app", "friend"));
  cluster.add(NodeBuilder("k").label("pool", "k")).add(web("keep-k", "k", 2900).bare());
  cluster.add(web("follower", "k", 1100).affinity(beside_friend));
  cluster.add(NodeBuilder("m")).add(web("keep-m", "m", 3000).bare());
  cluster.add(NodeBuilder("emptied"));
  cluster.add(web("for-n", "emptied", 1000).with(only_in("n"))).add(web("for-k", "emptied", 1100).with(only_in("k")));
  const Plan plan = plan_of(cluster, {.options = {.spend_pdbs = false, .placement_hints = true}});
  std::map<std::string, std::int32_t> wave;
  for (const api::PlannedMove& move : plan.moves) wave[move.pod] = move.wave;
  ASSERT_EQ(report_of(plan).freed, 1) << testing::PrintToString(moves_of(plan));
  ASSERT_THAT(plan.moves, SizeIs(4)) << testing::PrintToString(moves_of(plan));
  EXPECT_LT(wave["follower"], wave["friend"]) << testing::PrintToString(moves_of(plan));
}

/// PVC with a volume that is attached by a driver.
void give_volume(ClusterBuilder& cluster, PodBuilder& pod, const std::string& name) {
  pod.with([&](api::Pod& p) { p.volumes.push_back({api::VolumeKind::kPersistentVolumeClaim, name}); });
  api::PersistentVolumeClaim claim;
  claim.meta.ns = "default";
  claim.meta.name = name;
  claim.volume_name = "pv-" + name;
  api::PersistentVolume volume;
  volume.meta.name = claim.volume_name;
  volume.csi_driver = "disk";
  cluster.add(claim).add(volume);
}

TEST(Defragmentation, KeepsTheAttachLimitDuringAWave) {
  ClusterBuilder cluster;
  const auto only_in = [](const std::string& label) {
    return [label](api::Pod& pod) { pod.node_selector = {{label, "yes"}}; };
  };
  const auto add = [&](PodBuilder pod, const std::string& volume) {
    give_volume(cluster, pod, volume);
    cluster.add(pod);
  };
  // a, b and c fit on q, but the scheduler prefers n after "leaves" has left it.
  cluster.add(NodeBuilder("n").label("small", "yes").label("big", "yes").sized(8000, 8000, 20));
  cluster.add(NodeBuilder("q").label("small", "yes").sized(8000, 8000, 20)).add(web("keep-q", "q", 7000).bare());
  cluster.add(NodeBuilder("m").sized(8000, 8000, 20)).add(web("keep-m", "m", 4000).bare());
  cluster.add(web("filler", "n", 3000).bare());
  add(web("keep-n", "n", 1000).bare(), "v1");
  add(web("leaves", "n", 3000), "v2");
  cluster.add(NodeBuilder("emptied").sized(8000, 8000, 20));
  cluster.add(web("big", "emptied", 3000).with(only_in("big")));
  add(web("a", "emptied", 300).with(only_in("small")), "v3");
  add(web("b", "emptied", 300).with(only_in("small")), "v4");
  add(web("c", "emptied", 300).with(only_in("small")), "v5");
  api::CsiNode limits;
  limits.meta.name = "n";
  limits.drivers = {{"disk", 3}};
  cluster.add(limits);
  const Plan plan = plan_of(cluster);
  ASSERT_EQ(report_of(plan).freed, 1) << testing::PrintToString(moves_of(plan));
  std::int32_t leaving = 0;
  for (const api::PlannedMove& move : plan.moves) leaving = move.pod == "leaves" ? move.wave : leaving;
  const auto arrives = [&](const api::PlannedMove& move) {
    return move.to == "n" && move.pod != "big" && move.wave <= leaving;
  };
  EXPECT_LE(2 + std::ranges::count_if(plan.moves, arrives), 3) << testing::PrintToString(moves_of(plan));
}

/// `pods` pods of an app with topology spread over zones, each on its own node, and the same number of free nodes.
ClusterBuilder spread_over_zones(int pods, int max_skew) {
  ClusterBuilder cluster;
  for (int i = 0; i < pods; ++i) {
    const std::string number = std::to_string(i), zone = "z" + std::to_string(i % 3);
    const auto spreads = [&](api::Pod& pod) {
      api::TopologySpreadConstraint& constraint = pod.topology_spread.emplace_back();
      constraint.max_skew = max_skew;
      constraint.topology_key = api::well_known::kZoneLabel;
      constraint.label_selector = builders::labels_in("app", {"spread"});
    };
    const std::string zone_label(api::well_known::kZoneLabel);
    cluster.add(NodeBuilder("keeps-" + number).label(zone_label, zone));
    cluster.add(web("stays-" + number, "keeps-" + number, 3000).bare());
    cluster.add(NodeBuilder("open-" + number).label(zone_label, zone));
    cluster.add(PodBuilder("spread-" + number).on("open-" + number).cpu(1000).label("app", "spread").with(spreads));
  }
  return cluster;
}

struct SkewCase {
  std::string name;
  int pods;
  int max_skew;
  std::size_t most_waves;
};

class SkewTest : public testing::TestWithParam<SkewCase> {};

int zone_of(const std::string& node) { return (node.back() - '0') % 3; }

/// Maximum skew that a pod arriving in the wave can observe. Each other pod of the wave may have left, arrived, both or
/// neither.
int worst_skew(const std::vector<api::PlannedMove>& wave, std::vector<int> pods) {
  for (const api::PlannedMove& move : wave) --pods[zone_of(move.from)];
  int worst = 0;
  for (const api::PlannedMove& arrival : wave) {
    int most = pods[zone_of(arrival.to)] + 1;
    for (const api::PlannedMove& other : wave) {
      if (&other == &arrival) continue;
      for (const std::string& node : {other.from, other.to}) most += zone_of(node) == zone_of(arrival.to) ? 1 : 0;
    }
    worst = std::max(worst, most - std::ranges::min(pods));
  }
  return worst;
}

TEST_P(SkewTest, MovesPodsTogetherOnlyWithinTheSkew) {
  const Plan plan = plan_of(spread_over_zones(GetParam().pods, GetParam().max_skew));
  EXPECT_EQ(report_of(plan).freed, GetParam().pods) << testing::PrintToString(moves_of(plan));
  std::vector<int> pods(3, 0);
  for (int i = 0; i < GetParam().pods; ++i) ++pods[i % 3];
  std::map<std::int32_t, std::vector<api::PlannedMove>> waves;
  for (const api::PlannedMove& move : plan.moves) waves[move.wave].push_back(move);
  EXPECT_LE(waves.size(), GetParam().most_waves) << testing::PrintToString(moves_of(plan));
  for (const auto& [wave, moves] : waves) {
    EXPECT_LE(worst_skew(moves, pods), GetParam().max_skew)
        << "wave " << wave << " of " << testing::PrintToString(moves_of(plan));
    for (const api::PlannedMove& move : moves) --pods[zone_of(move.from)], ++pods[zone_of(move.to)];
  }
}

INSTANTIATE_TEST_SUITE_P(Skew, SkewTest,
                         testing::Values(SkewCase{"OnePodAZone", 9, 1, 3}, SkewCase{"SeveralPodsAZone", 9, 3, 3},
                                         SkewCase{"OneByOneWhereTheSkewIsAtItsLimit", 4, 1, 4}),
                         [](const auto& info) { return info.param.name; });

TEST(Defragmentation, MovesAsManySmallPodsAsNeeded) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("full").label("pool", "a").sized(4000, 4000, 50));
  for (int i = 0; i < 20; ++i) cluster.add(web("web-" + std::to_string(i), "full", 200));
  cluster.add(NodeBuilder("other").sized(4000, 4000, 50)).add(web("stays", "other", 2800).bare());
  cluster.add(NodeBuilder("open"));
  cluster.add(web("large", "open", 1200).with([](api::Pod& pod) { pod.node_selector = {{"pool", "a"}}; }));
  const Plan plan = plan_of(cluster);
  EXPECT_EQ(report_of(plan).freed, 1);
  EXPECT_THAT(plan.moves, SizeIs(7)) << testing::PrintToString(moves_of(plan));
}

TEST(DefragmentationArgs, TheSearchEndsWithItsTime) {
  base::Duration now{};
  const auto tick = [&] { return now += base::milliseconds(1); };
  const Plan plan =
      plan_of(fragmented(9), {.args = R"({"timeBudget": "100ms"})", .options = {.taint_value = "p", .elapsed = tick}});
  EXPECT_LT(now, base::seconds(2));
  EXPECT_GT(report_of(plan).freed, 0) << "what was found by then";
}

}  // namespace defragmentation_test
}  // namespace planner
