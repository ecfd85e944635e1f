#include "planner/strategies/utilization/low_node_utilization.hpp"

#include <gmock/gmock.h>

#include "planner/strategies/eviction_order.hpp"
#include "planner/strategies/utilization/node_usage.hpp"
#include "test/builders/strategy_run.hpp"

namespace strategies {
namespace low_node_utilization_test {

using builders::ClusterBuilder;
using builders::NodeBuilder;
using builders::PodBuilder;
using builders::StrategyRun;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

constexpr auto kArgs = R"({"thresholds":{"cpu":30,"pods":30},"targetThresholds":{"cpu":50,"pods":50}})";

PodBuilder sized(std::string name, std::string node, std::int64_t cpu = 400) {
  return PodBuilder(std::move(name)).on(std::move(node)).cpu(cpu);
}

/// n1 has 4000m and runs 8 pods of 400m (80 %). n2 runs one pod of 400m (10 %).
ClusterBuilder full_and_empty() {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
  for (int i = 1; i <= 8; ++i) builder.add(sized("p" + std::to_string(i), "n1"));
  return builder.add(sized("q", "n2"));
}

std::vector<std::string> evicted(ClusterBuilder builder, const std::string& args = kArgs) {
  return StrategyRun(builder).run("LowNodeUtilization", args).sink.accepted;
}

TEST(LowNodeUtilization, TakesPodsUntilTheTargetIsReached) {
  // 3200m → 2000m is no longer above 50 %, which takes three pods. The number of pods (8 of 10) requires three as well.
  EXPECT_THAT(evicted(full_and_empty()), ElementsAre("p1", "p2", "p3"));
}

TEST(LowNodeUtilization, ReportsTheReasonWithNumbers) {
  StrategyRun run(full_and_empty());
  run.run("LowNodeUtilization", kArgs);
  EXPECT_EQ(run.sink.reasons.at("p1"), "its node is overutilized: cpu 80.0 % of allocatable, target 50 %");
}

TEST(LowNodeUtilization, StopsIfTheOthersHaveNoFreeCapacity) {
  // n2 may be filled to 2000m and uses 1200m. After two pods of 400m it has no free capacity up to the target.
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
  for (int i = 1; i <= 9; ++i) builder.add(sized("p" + std::to_string(i), "n1"));
  builder.add(sized("q", "n2", 1200));
  EXPECT_THAT(evicted(builder), ElementsAre("p1", "p2"));
}

TEST(LowNodeUtilization, StopsOnAResourceWithoutThreshold) {
  // Memory has no threshold, but n2 has no free memory for pods that request some.
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
  for (int i = 1; i <= 8; ++i) builder.add(sized("p" + std::to_string(i), "n1").memory(1));
  EXPECT_THAT(evicted(builder.add(sized("q", "n2").memory(4000))), IsEmpty());
}

TEST(LowNodeUtilization, CountsProtectedPodsInTheUse) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
  for (int i = 1; i <= 7; ++i) builder.add(sized("d" + std::to_string(i), "n1").owned_by("DaemonSet", "ds"));
  StrategyRun run(builder.add(sized("p1", "n1")).add(sized("q", "n2")));
  run.run("LowNodeUtilization", kArgs);
  EXPECT_THAT(run.sink.accepted, ElementsAre("p1"));
  EXPECT_THAT(run.sink.refusals, testing::Contains(Pair("d1", "DaemonSetPod")));
}

struct BoundaryCase {
  std::string name;
  std::int64_t low_cpu;   ///< On n2, of 4000
  std::int64_t high_cpu;  ///< On n1
  bool want;
};

class BoundaryTest : public testing::TestWithParam<BoundaryCase> {};

/// Upstream does not check whether the pod fits below the target of its destination.
TEST_P(BoundaryTest, Classifies) {
  StrategyRun run(ClusterBuilder()
                      .add(NodeBuilder("n1"))
                      .add(NodeBuilder("n2"))
                      .add(sized("p", "n1", GetParam().high_cpu))
                      .add(sized("q", "n2", GetParam().low_cpu)));
  run.compatibility = api::Compatibility::kUpstream;
  run.run("LowNodeUtilization", R"({"thresholds":{"cpu":30},"targetThresholds":{"cpu":50}})");
  EXPECT_EQ(!run.sink.accepted.empty(), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Thresholds, BoundaryTest,
                         testing::Values(BoundaryCase{"TakesTheLowThresholdForUnder", 1200, 2400, true},
                                         BoundaryCase{"TakesMoreForAppropriate", 1201, 2400, false},
                                         BoundaryCase{"TakesTheHighThresholdForAppropriate", 400, 2000, false},
                                         BoundaryCase{"TakesMoreForOver", 400, 2001, true}),
                         [](const auto& test) { return test.param.name; });

TEST(LowNodeUtilization, NeverTreatsACordonedNodeAsUnderutilized) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(NodeBuilder("n2").cordoned());
  for (int i = 1; i <= 8; ++i) builder.add(sized("p" + std::to_string(i), "n1"));
  EXPECT_THAT(evicted(builder), IsEmpty());
}

TEST(LowNodeUtilization, RelievesACordonedNode) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1").cordoned()).add(NodeBuilder("n2"));
  for (int i = 1; i <= 8; ++i) builder.add(sized("p" + std::to_string(i), "n1"));
  EXPECT_THAT(evicted(builder), SizeIs(3));
}

TEST(LowNodeUtilization, WaitsForMoreUnderutilizedNodesThanNumberOfNodes) {
  const std::string args = R"({"thresholds":{"cpu":30},"targetThresholds":{"cpu":50},"numberOfNodes":)";
  EXPECT_THAT(evicted(full_and_empty(), args + "1}"), IsEmpty());
  EXPECT_THAT(evicted(full_and_empty().add(NodeBuilder("n3")), args + "1}"), SizeIs(3));
}

TEST(LowNodeUtilization, DoesNothingWithoutOverutilizedNodes) {
  EXPECT_THAT(evicted(ClusterBuilder().add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(sized("q", "n2"))), IsEmpty());
}

TEST(LowNodeUtilization, DoesNothingOnAnEmptyCluster) { EXPECT_THAT(evicted(ClusterBuilder()), IsEmpty()); }

TEST(LowNodeUtilization, MeasuresDeviationsFromTheMean) {
  // Mean cpu 45 %: n1 (80 %) is above 55 %, n2 (10 %) below 35 %. n2 may be filled to 55 %, n1 may keep 55 %.
  EXPECT_THAT(evicted(full_and_empty(),
                      R"({"useDeviationThresholds":true,"thresholds":{"cpu":10},"targetThresholds":{"cpu":10}})"),
              SizeIs(3));
}

TEST(LowNodeUtilization, ClampsDeviationsAtTheEnds) {
  // Mean 45 % + 60 is clamped to 100 %, and no node is above that.
  EXPECT_THAT(evicted(full_and_empty(),
                      R"({"useDeviationThresholds":true,"thresholds":{"cpu":60},"targetThresholds":{"cpu":60}})"),
              IsEmpty());
}

TEST(LowNodeUtilization, FollowsExtendedResources) {
  const auto args = R"({"thresholds":{"x/gpu":30},"targetThresholds":{"x/gpu":50}})";
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1").offer("x/gpu", 8)).add(NodeBuilder("n2").offer("x/gpu", 8));
  for (int i = 1; i <= 8; ++i) builder.add(PodBuilder("p" + std::to_string(i)).on("n1").request("x/gpu", 1000));
  builder.add(PodBuilder("q").on("n2").request("x/gpu", 1000));
  EXPECT_THAT(evicted(builder, args), SizeIs(3)) << "the target allows 4 on n2, which holds 1";
}

TEST(LowNodeUtilization, HasNoCapacityIfTheResourceIsMissing) {
  const auto args = R"({"thresholds":{"x/gpu":30},"targetThresholds":{"x/gpu":50}})";
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1").offer("x/gpu", 8)).add(NodeBuilder("n2"));
  for (int i = 1; i <= 8; ++i) builder.add(PodBuilder("p" + std::to_string(i)).on("n1").request("x/gpu", 1000));
  EXPECT_THAT(evicted(builder, args), IsEmpty());
}

TEST(LowNodeUtilization, LimitsEvictionsPerNode) {
  EXPECT_THAT(evicted(full_and_empty(),
                      R"({"thresholds":{"cpu":30},"targetThresholds":{"cpu":50},"evictionLimits":{"node":2}})"),
              SizeIs(2));
  EXPECT_THAT(evicted(full_and_empty(),
                      R"({"thresholds":{"cpu":30},"targetThresholds":{"cpu":50},"evictionLimits":{"node":0}})"),
              IsEmpty());
}

TEST(LowNodeUtilization, SparesExcludedNamespaces) {
  StrategyRun run(full_and_empty());
  run.run("LowNodeUtilization",
          R"({"thresholds":{"cpu":30},"targetThresholds":{"cpu":50},"evictableNamespaces":{"exclude":["default"]}})");
  EXPECT_THAT(run.sink.accepted, IsEmpty());
  EXPECT_EQ(run.sink.refusals.at("p1"), "NamespaceExcluded");
}

TEST(LowNodeUtilization, RelievesTheFullestNodeFirst) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(NodeBuilder("n3"));
  for (int i = 1; i <= 6; ++i) builder.add(sized("a" + std::to_string(i), "n1"));
  for (int i = 1; i <= 8; ++i) builder.add(sized("b" + std::to_string(i), "n2"));
  StrategyRun run(builder);
  run.run("LowNodeUtilization", kArgs);
  ASSERT_FALSE(run.sink.accepted.empty());
  EXPECT_EQ(run.sink.accepted.front(), "b1");
}

TEST(LowNodeUtilization, RequiresDestinationsThatThePodTolerates) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(NodeBuilder("n2").taint("gpu"));
  for (int i = 1; i <= 7; ++i) builder.add(sized("p" + std::to_string(i), "n1"));
  StrategyRun run(builder.add(sized("t", "n1").tolerate("gpu")));
  run.run("LowNodeUtilization", kArgs);
  EXPECT_THAT(run.sink.accepted, ElementsAre("t"));
  EXPECT_EQ(run.sink.refusals.at("p1"), "NoDestinationHasCapacity");
}

TEST(LowNodeUtilization, LeavesANodeAtItsLimit) {
  StrategyRun run(full_and_empty());
  run.sink.answer = [](const api::Pod&) { return NominationResult::kNodeLimit; };
  EXPECT_THAT(run.run("LowNodeUtilization", kArgs).sink.offered, ElementsAre("p1"));
}

TEST(LowNodeUtilization, TriesTheNextPodAfterARefusal) {
  StrategyRun run(full_and_empty());
  run.sink.answer = [](const api::Pod& pod) {
    return pod.meta.name < "p3" ? NominationResult::kRefused : NominationResult::kAccepted;
  };
  EXPECT_THAT(run.run("LowNodeUtilization", kArgs).sink.accepted, ElementsAre("p3", "p4", "p5"));
}

TEST(LowNodeUtilization, EndsAtTheTotalLimit) {
  ClusterBuilder builder = full_and_empty();
  builder.add(NodeBuilder("n3"));
  for (int i = 1; i <= 9; ++i) builder.add(sized("r" + std::to_string(i), "n3"));
  StrategyRun run(builder);
  run.sink.answer = [](const api::Pod&) { return NominationResult::kTotalLimit; };
  EXPECT_THAT(run.run("LowNodeUtilization", kArgs).sink.offered, SizeIs(1));
}

TEST(LowNodeUtilization, TreatsLeavingPodsAsGone) {
  StrategyRun run(full_and_empty());
  for (const char* name : {"p1", "p2"})
    run.what_if().move(run.cluster().find_pod("default", name).value(), scheduling::kNoNode);
  EXPECT_THAT(run.run("LowNodeUtilization", kArgs).sink.accepted, ElementsAre("p3"));
}

TEST(LowNodeUtilization, UsesCapacityIfNothingIsAllocatable) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1").with([](api::Node& node) { node.allocatable.clear(); })).add(NodeBuilder("n2"));
  for (int i = 1; i <= 8; ++i) builder.add(sized("p" + std::to_string(i), "n1"));
  EXPECT_THAT(evicted(builder), SizeIs(3));
}

/// Measured usage with fixed values.
class FixedUsage final : public UsageView {
 public:
  std::optional<std::int64_t> of_node(NodeIndex node, std::string_view resource) const override {
    if (missing) return std::nullopt;
    return resource == "cpu" ? (node == 0 ? 3600 : 100) : 0;
  }
  std::optional<std::int64_t> of_pod_by(std::size_t number, PodIndex) const override { return number == 0 ? 400 : 0; }
  std::size_t number_of(std::string_view resource) const override { return resource == "cpu" ? 0 : 1; }
  bool has_pod_usage() const override { return pods; }
  bool missing = false;
  bool pods = true;
};

constexpr auto kCpuOnly = R"({"thresholds":{"cpu":30},"targetThresholds":{"cpu":50}})";

TEST(LowNodeUtilization, UsesMeasuredUsageIfThereIsAny) {
  FixedUsage usage;
  StrategyRun run(full_and_empty());
  run.usage = &usage;
  EXPECT_THAT(run.run("LowNodeUtilization", kCpuOnly).sink.accepted, SizeIs(4)) << "3600m to 2000m by 400m";
}

TEST(LowNodeUtilization, TakesOnePodIfTheEffectCannotBePredicted) {
  FixedUsage usage;
  usage.pods = false;
  StrategyRun run(full_and_empty());
  run.usage = &usage;
  EXPECT_THAT(run.run("LowNodeUtilization", kCpuOnly).sink.accepted, SizeIs(1));
}

TEST(LowNodeUtilization, FailsWhenUsageIsNotKnown) {
  FixedUsage usage;
  usage.missing = true;
  StrategyRun run(full_and_empty());
  run.usage = &usage;
  run.run("LowNodeUtilization", kCpuOnly);
  ASSERT_FALSE(run.status.ok());
  EXPECT_EQ(run.status.error().message, "the usage of cpu is unknown for node n1");
}

// --- order of eviction

TEST(EvictionOrder, PutsTheCheapestFirst) {
  const auto burstable = [](std::string name) { return PodBuilder(std::move(name)).cpu(100); };
  const auto guaranteed = [](std::string name) {
    return PodBuilder(std::move(name)).cpu(100).memory(100).with([](api::Pod& pod) {
      pod.containers[0].limits = pod.containers[0].requests;
    });
  };
  constexpr auto kStay = "descheduler.alpha.kubernetes.io/prefer-no-eviction";
  const auto cluster = ClusterBuilder()
                           .add(guaranteed("8").priority(9))
                           .add(burstable("7").priority(9))
                           .add(PodBuilder("6").priority(9))
                           .add(PodBuilder("5").priority(1).annotate(kStay))
                           .add(PodBuilder("4").priority(1))
                           .add(guaranteed("3"))
                           .add(burstable("2").annotate(kStay))
                           .add(burstable("1"))
                           .add(PodBuilder("0"))
                           .build();
  std::vector<PodIndex> pods;
  for (const PodIndex pod : cluster->pods()) pods.insert(pods.begin(), pod);
  sort_for_eviction(pods, *cluster);
  std::vector<std::string> names;
  for (const PodIndex pod : pods) names.push_back(cluster->pod(pod).meta.name);
  EXPECT_THAT(names, ElementsAre("0", "1", "2", "3", "4", "5", "6", "7", "8"));
}

TEST(QosOf, PrefersTheStatus) {
  EXPECT_EQ(qos_of(PodBuilder("p").with([](api::Pod& pod) { pod.qos_class = "Guaranteed"; }).build()),
            QosClass::kGuaranteed);
}

TEST(QosOf, NeedsBothLimitsForGuaranteed) {
  const auto pod =
      PodBuilder("p").cpu(100).with([](api::Pod& each) { each.containers[0].limits = each.containers[0].requests; });
  EXPECT_EQ(qos_of(pod.build()), QosClass::kBurstable);
}

// --- numbers

TEST(ShareOf, TruncatesTheFraction) {
  EXPECT_EQ(share_of(4000, 50, "cpu"), 2000);
  EXPECT_EQ(share_of(9000, 50, "pods"), 4000);
  EXPECT_EQ(share_of(3333, 33.3, "cpu"), 1109);
}

TEST(NodeUsage, IsZeroPercentOfNothing) {
  const NodeUsage usage{0, {5, 5}, {0, std::nullopt}};
  EXPECT_EQ(usage.percent(0, "cpu"), 0.0);
  EXPECT_EQ(usage.percent(1, "memory"), std::nullopt);
}

TEST(TrackedResources, IncludeTheBasicOnes) {
  EXPECT_THAT(tracked_resources({{"memory", 1}, {"x/gpu", 1}}), ElementsAre("memory", "x/gpu", "cpu", "pods"));
}

}  // namespace low_node_utilization_test
}  // namespace strategies
