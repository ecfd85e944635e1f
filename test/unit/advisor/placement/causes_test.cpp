#include "advisor/placement/causes.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "advisor/placement/advise.hpp"
#include "advisor/placement/changes.hpp"
#include "test/builders/cluster.hpp"

namespace advisor {
namespace causes_test {

using builders::ClusterBuilder;
using builders::NodeBuilder;
using builders::PodBuilder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Finding> found(const ClusterBuilder& cluster, Cause cause,
                           const scheduling::MeasuredUsage* measured = nullptr) {
  std::vector<Finding> findings;
  for (const FoundCause& each : find_causes(cluster.input(), measured)) {
    if (each.finding.cause == cause) findings.push_back(each.finding);
  }
  return findings;
}

PodBuilder web(const std::string& name, const std::string& node, const std::string& owner = "web") {
  return PodBuilder(name).on(node).cpu(1000).owned_by("ReplicaSet", owner).label("app", owner);
}

ClusterBuilder nodes(int count) {
  ClusterBuilder cluster;
  for (int i = 1; i <= count; ++i)
    cluster.add(NodeBuilder("n" + std::to_string(i)).label(api::well_known::kZoneLabel, i % 2 == 0 ? "a" : "b"));
  return cluster;
}

TEST(Causes, ADeploymentIsNamedNotItsReplicaSet) {
  ClusterBuilder cluster = nodes(2);
  const auto repel = [](const char* name, const char* node) {
    return web(name, node, "web-5d4f")
        .label("pod-template-hash", "5d4f")
        .anti_affinity("app", "web", "kubernetes.io/hostname");
  };
  cluster.add(repel("a", "n1")).add(repel("b", "n2"));
  const auto findings = found(cluster, Cause::kRequiredAntiAffinity);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, "Deployment");
  EXPECT_EQ(findings[0].name, "web");
  EXPECT_EQ(findings[0].pods, 2);
  EXPECT_EQ(findings[0].nodes, 2);
}

TEST(Causes, ASmallStatefulSetMayBeAQuorum) {
  ClusterBuilder cluster = nodes(3);
  for (const char* each : {"1", "2", "3"})
    cluster.add(web(std::string("zk-") + each, std::string("n") + each, "zk")
                    .owned_by("StatefulSet", "zk")
                    .anti_affinity("app", "zk", "kubernetes.io/hostname"));
  EXPECT_EQ(found(cluster, Cause::kRequiredAntiAffinity).at(0).risk, Risk::kHigh);
}

TEST(Causes, SpreadIsReportedByItsTopology) {
  ClusterBuilder cluster = nodes(2);
  const auto spread = [](const char* name, std::string_view topology, bool soft) {
    return web(name, "n1", name).with([&](api::Pod& pod) {
      api::TopologySpreadConstraint& each = pod.topology_spread.emplace_back();
      each.topology_key = topology;
      each.schedule_anyway = soft;
    });
  };
  cluster.add(spread("host", api::well_known::kHostnameLabel, false))
      .add(spread("zone", api::well_known::kZoneLabel, false))
      .add(spread("soft", api::well_known::kHostnameLabel, true));
  EXPECT_EQ(found(cluster, Cause::kHostnameSpread).at(0).name, "host");
  EXPECT_THAT(found(cluster, Cause::kHostnameSpread), SizeIs(1));
  EXPECT_EQ(found(cluster, Cause::kZoneSpread).at(0).name, "zone");
}

TEST(Causes, ASelectorThatMatchesAllNodesIsNoCause) {
  ClusterBuilder cluster = nodes(4);
  const auto pinned = [](const char* name, const char* zone) {
    return web(name, "n1", name).with([&](api::Pod& pod) {
      if (zone != nullptr) pod.node_selector = {{std::string(api::well_known::kZoneLabel), zone}};
    });
  };
  cluster.add(pinned("pinned", "b")).add(pinned("free", nullptr));
  const auto findings = found(cluster, Cause::kNodeSelector);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].why, HasSubstr("2 of 4 nodes"));
}

TEST(Causes, VolumesOfANodeAndOfAZone) {
  ClusterBuilder cluster = nodes(2);
  const auto volume = [&](const std::string& name, bool local) {
    api::PersistentVolumeClaim claim;
    claim.meta.ns = "default";
    claim.meta.name = name;
    claim.volume_name = "pv-" + name;
    api::PersistentVolume made;
    made.meta.name = claim.volume_name;
    made.is_local = local;
    made.required_node_terms = {{{{std::string(api::well_known::kZoneLabel), api::SelectorOperator::kIn, {"a"}}}, {}}};
    cluster.add(claim).add(made).add(web(name, "n2", name).with([&](api::Pod& pod) {
      pod.volumes.push_back({api::VolumeKind::kPersistentVolumeClaim, name});
    }));
  };
  volume("disk", true);
  volume("zonal", false);
  EXPECT_EQ(found(cluster, Cause::kLocalVolume).at(0).name, "disk");
  EXPECT_EQ(found(cluster, Cause::kZonalVolume).at(0).name, "zonal");
}

struct BudgetCase {
  const char* name;
  std::optional<api::IntOrPercent> min;
  std::optional<api::IntOrPercent> max;
  bool blocks;
};
class Budget : public ::testing::TestWithParam<BudgetCase> {};

TEST_P(Budget, BlocksIfItNeverAllowsAnEviction) {
  ClusterBuilder cluster = nodes(2);
  cluster.add(web("a", "n1")).add(web("b", "n2"));
  auto budget = builders::pdb("budget", "web", 0);
  budget.min_available = GetParam().min;
  budget.max_unavailable = GetParam().max;
  cluster.add(budget);
  EXPECT_EQ(found(cluster, Cause::kBlockingBudget).size(), GetParam().blocks ? 1U : 0U);
  EXPECT_EQ(blocked_pods(cluster.input()).size(), GetParam().blocks ? 2U : 0U);
}

INSTANTIATE_TEST_SUITE_P(All, Budget,
                         ::testing::Values(BudgetCase{"MaxZero", {}, api::IntOrPercent{0, false}, true},
                                           BudgetCase{"MaxZeroPercent", {}, api::IntOrPercent{0, true}, true},
                                           BudgetCase{"MaxOne", {}, api::IntOrPercent{1, false}, false},
                                           BudgetCase{"MinAll", api::IntOrPercent{2, false}, {}, true},
                                           BudgetCase{"MinAllPercent", api::IntOrPercent{100, true}, {}, true},
                                           BudgetCase{"MinOne", api::IntOrPercent{1, false}, {}, false},
                                           BudgetCase{"OnlyNow", {}, {}, false}),
                         [](const auto& test) { return test.param.name; });

TEST(Budgets, TwoForOnePodBlockItAndOneWithoutPodsIsEmpty) {
  ClusterBuilder cluster = nodes(1);
  cluster.add(web("a", "n1"));
  cluster.add(builders::pdb("first", "web", 1))
      .add(builders::pdb("second", "web", 1))
      .add(builders::pdb("none", "x", 1));
  EXPECT_EQ(found(cluster, Cause::kOverlappingBudgets).at(0).name, "second");
  EXPECT_EQ(found(cluster, Cause::kEmptyBudget).at(0).name, "none");
  EXPECT_THAT(blocked_pods(cluster.input()), SizeIs(1));
}

TEST(Risks, SingleReplicasAndMissingBudgets) {
  ClusterBuilder cluster = nodes(2);
  cluster.add(web("a", "n1", "one")).add(web("b", "n1", "two")).add(web("c", "n2", "two"));
  cluster.add(web("d", "n1", "safe")).add(web("e", "n2", "safe")).add(builders::pdb("budget", "safe", 1));
  EXPECT_EQ(found(cluster, Cause::kSingleReplica).at(0).name, "one");
  EXPECT_THAT(found(cluster, Cause::kSingleReplica), SizeIs(1));
  EXPECT_EQ(found(cluster, Cause::kMissingBudget).at(0).name, "two");
  EXPECT_THAT(found(cluster, Cause::kMissingBudget), SizeIs(1));
}

TEST(Risks, APriorityPreemptsNoPodIfNoneIsLower) {
  ClusterBuilder cluster = nodes(1);
  const auto with_class = [](const char* name, const char* of, int value) {
    return web(name, "n1", name).priority(value).with([&](api::Pod& pod) { pod.priority_class_name = of; });
  };
  cluster.add(with_class("a", "high", 1000)).add(with_class("b", "low", 10));
  auto input = cluster.input();
  for (const auto& [name, value] : {std::pair("high", 1000), std::pair("low", 10), std::pair("unused", 5)}) {
    api::PriorityClass made;
    made.meta.name = name;
    made.value = value;
    input.priority_classes.push_back(std::make_shared<const api::PriorityClass>(made));
  }
  std::vector<std::string> idle;
  for (const FoundCause& each : find_causes(input, nullptr)) {
    if (each.finding.cause == Cause::kIdlePriority) idle.push_back(each.finding.name);
  }
  EXPECT_THAT(idle, testing::ElementsAre("low"));
}

TEST(Requests, AreOversizedIfLessThanHalfIsUsed) {
  ClusterBuilder cluster = nodes(1);
  cluster.add(web("idle", "n1", "idle")).add(web("busy", "n1", "busy")).add(web("new", "n1", "new"));
  scheduling::MeasuredUsage measured;
  measured.resources = {{"cpu", false}};
  measured.pods = {{"default", "busy"}, {"default", "idle"}};
  measured.pod_amounts = {900, 100};
  const auto findings = found(cluster, Cause::kOversizedRequests, &measured);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].name, "idle");
  const auto causes = find_causes(cluster.input(), &measured);
  const auto idle =
      std::ranges::find(causes, Cause::kOversizedRequests, [](const FoundCause& each) { return each.finding.cause; });
  const auto changed = apply_changes(cluster.input(), {&*idle}, Grade::kPreferred);
  const auto pod = std::ranges::find(changed.pods, "idle", [](const auto& each) { return each->meta.name; });
  EXPECT_EQ(api::amount_of((*pod)->containers[0].requests, "cpu").milli(), 130);
}

// --- effects of changes

TEST(Advice, ABarePodHoldsItsNode) {
  ClusterBuilder cluster = nodes(2);
  cluster.add(web("a", "n1")).add(PodBuilder("lonely").on("n2").cpu(500).bare());
  const auto report = advise_placement({.cluster = cluster.input(), .now = builders::kNoon});
  // n1 can already be emptied onto n2. If the bare pod had an owner, one node would be needed as well.
  EXPECT_EQ(report.busy, 2);
  EXPECT_EQ(report.now.freed, 1);
}

TEST(Advice, ABlockingBudgetIsReportedWithTheHeldNodes) {
  ClusterBuilder cluster = nodes(2);
  cluster.add(web("a", "n1", "web")).add(web("b", "n2", "web"));
  auto budget = builders::pdb("budget", "web", 0);
  budget.max_unavailable = api::IntOrPercent{0, false};
  cluster.add(budget);
  const auto input = cluster.input();
  const auto report = advise_placement({.cluster = input, .now = builders::kNoon});
  EXPECT_EQ(report.now.freed, 0);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].cause, Cause::kBlockingBudget);
  ASSERT_TRUE(report.findings[0].then);
  EXPECT_EQ(gained_nodes(report.findings[0], report.now), 1);
}

TEST(Advice, ChangesWithoutGainAreOmittedAndUntriedOnesAreCounted) {
  ClusterBuilder cluster = nodes(1);
  cluster.add(web("a", "n1").with([](api::Pod& pod) { pod.node_selector = {{"kubernetes.io/hostname", "n1"}}; }));
  const auto input = cluster.input();
  const auto tried = advise_placement({.cluster = input, .now = builders::kNoon});
  EXPECT_TRUE(std::ranges::none_of(tried.findings, [](const Finding& each) { return has_effect(each.cause); }));
  cluster.add(NodeBuilder("n2"));
  const auto none = advise_placement({.cluster = cluster.input(), .now = builders::kNoon, .max_plans = 0});
  EXPECT_EQ(none.unplanned, 1);
}

TEST(Alerts, DependOnTheSizeOfTheCluster) {
  const auto alerts = alerts_for(nodes(10).input());
  ASSERT_THAT(alerts, SizeIs(3));
  EXPECT_EQ(alerts[0].percent, 72);
  EXPECT_EQ(alerts[1].percent, 90);
  EXPECT_THAT(alerts[0].expression, HasSubstr("< 72"));
}

}  // namespace causes_test
}  // namespace advisor
