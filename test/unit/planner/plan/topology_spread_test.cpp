/// RemovePodsViolatingTopologySpreadConstraint in complete planning cycles, with kube-scheduler's choice of target
/// nodes.

#include <gmock/gmock.h>

#include <map>
#include <random>
#include <set>

#include "planner/plan/planner.hpp"
#include "test/builders/cluster.hpp"

namespace planner {
namespace topology_spread_test {

using builders::ClusterBuilder;
using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr auto kRack = "example.com/rack";
constexpr auto kHost = "kubernetes.io/hostname";

std::string node_name(std::size_t i) { return (i < 9 ? "n0" : "n") + std::to_string(i + 1); }

/// One workload over racks with equal numbers of nodes.
struct Workload {
  std::vector<int> pods;  ///< By node
  std::size_t nodes_of_rack;
  bool schedule_anyway = false;
  std::vector<std::string> keys{kRack, kHost};
  std::int32_t max_skew = 1;
  std::vector<std::int64_t> milli_cpus{};  ///< By node. Empty for 16 CPUs each.
};

/// Cluster that gives each replacement a new name.
class Cluster {
 public:
  Cluster(Workload workload, std::uint32_t seed) : workload_(std::move(workload)), random_(seed) {
    for (std::size_t node = 0; node < workload_.pods.size(); ++node) {
      for (int i = 0; i < workload_.pods[node]; ++i) node_of_[new_name()] = node_name(node);
    }
  }

  ClusterBuilder build() const {
    ClusterBuilder builder;
    for (std::size_t i = 0; i < workload_.pods.size(); ++i) {
      builder.add(
          NodeBuilder(node_name(i))
              .sized(workload_.milli_cpus.empty() ? 16000 : workload_.milli_cpus[i], std::int64_t{64} << 30, 110)
              .label(kRack, "rack" + std::to_string(i / workload_.nodes_of_rack)));
    }
    for (const auto& [name, node] : node_of_) {
      builder.add(PodBuilder(name).on(node).cpu(200).memory(200 << 20).label("app", "web").with([&](api::Pod& pod) {
        for (const std::string& key : workload_.keys) pod.topology_spread.push_back(constraint(key));
      }));
    }
    return builder;
  }

  void carry_out(const Plan& plan) {
    for (const api::PlannedMove& move : plan.moves) {
      ASSERT_EQ(node_of_.erase(move.pod), 1U);
      node_of_[new_name()] = move.to;
    }
  }

  std::vector<int> by_node() const {
    std::vector<int> counts(workload_.pods.size());
    for (std::size_t i = 0; i < counts.size(); ++i) {
      for (const auto& [name, node] : node_of_) counts[i] += node == node_name(i) ? 1 : 0;
    }
    return counts;
  }
  std::vector<int> by_rack() const {
    std::vector<int> counts(workload_.pods.size() / workload_.nodes_of_rack);
    const std::vector<int> nodes = by_node();
    for (std::size_t i = 0; i < nodes.size(); ++i) counts[i / workload_.nodes_of_rack] += nodes[i];
    return counts;
  }

 private:
  std::string new_name() { return "web-" + std::to_string(random_()); }
  api::TopologySpreadConstraint constraint(const std::string& key) const {
    api::TopologySpreadConstraint constraint;
    constraint.topology_key = key;
    constraint.max_skew = workload_.max_skew;
    constraint.schedule_anyway = workload_.schedule_anyway;
    constraint.label_selector = builders::labels_in("app", {"web"});
    return constraint;
  }

  Workload workload_;
  std::mt19937 random_;
  std::map<std::string, std::string> node_of_;
};

Plan plan_of(const ClusterBuilder& builder, std::int32_t per_cycle, bool hints, const std::string& args) {
  api::DeschedulerPolicySpec policy;
  policy.strategies.push_back({"RemovePodsViolatingTopologySpreadConstraint", args});
  if (per_cycle > 0) policy.limits.per_cycle.total = per_cycle;
  const PlanSpec spec(policy);
  EXPECT_THAT(spec.strategy_specs.errors, IsEmpty());
  const auto cluster = builder.build();
  PlanInput input{.spec = spec, .cluster = *cluster, .leaving = {}, .now = kNoon};
  input.options.placement_hints = hints;
  return plan_cycle(input);
}

constexpr auto kBothKinds = R"({"constraints":["DoNotSchedule","ScheduleAnyway"]})";

/// Runs cycles until one plans no move. Returns the total number of moves.
std::size_t run_cycles(Cluster& cluster, std::int32_t per_cycle, bool hints) {
  std::size_t moves = 0;
  for (int cycle = 0; cycle < 100; ++cycle) {
    const Plan plan = plan_of(cluster.build(), per_cycle, hints, kBothKinds);
    if (plan.moves.empty()) return moves;
    moves += plan.moves.size();
    cluster.carry_out(plan);
  }
  return moves;
}

// --- a rack fails and recovers

struct Recovery {
  const char* name;
  std::int32_t per_cycle = 0;  ///< Limit of moves, 0 for none
  bool schedule_anyway = false;
  bool hints = false;
};

class RackComesBack : public testing::TestWithParam<Recovery> {};

TEST_P(RackComesBack, TakesTheFewestMovesToTheOnlyEvenState) {
  const Recovery& how = GetParam();
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    Cluster cluster({{6, 6, 5, 4, 6, 5, 5, 5, 0, 0, 0, 0, 6, 6, 5, 5}, 4, how.schedule_anyway}, seed);
    EXPECT_EQ(run_cycles(cluster, how.per_cycle, how.hints), 16U) << seed;
    EXPECT_THAT(cluster.by_rack(), Each(16)) << seed;
    EXPECT_THAT(cluster.by_node(), Each(4)) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Cycles, RackComesBack,
                         testing::Values(Recovery{"InOneCycle"}, Recovery{"OneMoveACycle", 1},
                                         Recovery{"FourMovesACycle", 4}, Recovery{"ScheduleAnyway", 0, true},
                                         Recovery{"ScheduleAnywayFourMovesACycle", 4, true},
                                         Recovery{"WithPlacementHints", 0, false, true},
                                         Recovery{"ScheduleAnywayWithPlacementHints", 0, true, true}),
                         [](const auto& test) { return test.param.name; });

TEST(TopologySpreadPlan, LeavesNoNodeOfAnOverfullRackEmpty) {
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    Cluster cluster({{3, 3, 3, 0, 0, 0}, 3}, seed);
    EXPECT_EQ(run_cycles(cluster, 0, false), 4U) << seed;
    EXPECT_THAT(cluster.by_rack(), ElementsAre(5, 4)) << seed;
    EXPECT_THAT(cluster.by_node(), Each(testing::AllOf(testing::Ge(1), testing::Le(2)))) << seed;
  }
}

TEST(TopologySpreadPlan, MovesNothingIfBothConstraintsHold) {
  Cluster cluster({{2, 1, 2, 1, 1, 2}, 3}, 1);
  EXPECT_EQ(run_cycles(cluster, 0, false), 0U);
}

// --- the scheduler prefers nodes that the chosen outcome avoids

struct OtherPreference {
  const char* name;
  Workload workload;
  std::size_t fewest_moves;
  std::size_t max_moves;  ///< Upper bound if the scheduler's choices do not lead to the nearest outcome
};

class SchedulerPrefersOtherNodes : public testing::TestWithParam<OtherPreference> {};

std::size_t excess_of(const std::vector<int>& counts, std::int32_t max_skew) {
  const int limit = *std::ranges::min_element(counts) + max_skew;
  std::size_t excess = 0;
  for (const int count : counts) excess += static_cast<std::size_t>(std::max(count - limit, 0));
  return excess;
}

TEST_P(SchedulerPrefersOtherNodes, MakesTheConstraintsHoldInOneCycle) {
  const OtherPreference& each = GetParam();
  Cluster cluster(each.workload, 1);
  const Plan plan = plan_of(cluster.build(), 0, false, kBothKinds);
  EXPECT_THAT(plan.moves, SizeIs(testing::AllOf(testing::Ge(each.fewest_moves), testing::Le(each.max_moves))));
  EXPECT_THAT(plan.refusals, IsEmpty()) << "no pod stays above a limit";
  cluster.carry_out(plan);
  for (const std::string& key : each.workload.keys) {
    const std::vector<int> counts = key == kRack ? cluster.by_rack() : cluster.by_node();
    EXPECT_EQ(excess_of(counts, each.workload.max_skew), 0U) << key << " " << testing::PrintToString(counts);
  }
  EXPECT_THAT(plan_of(cluster.build(), 0, false, kBothKinds).moves, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, SchedulerPrefersOtherNodes,
    testing::Values(OtherPreference{"ThreeEqualNodes", {{5, 0, 0}, 3, false, {kHost}, 2}, 2, 3},
                    OtherPreference{"ThreeEqualNodesScheduleAnyway", {{5, 0, 0}, 3, true, {kHost}, 2}, 2, 3},
                    OtherPreference{"ThreeEqualRacks", {{5, 0, 0}, 1, false, {kRack}, 2}, 2, 3},
                    OtherPreference{"RacksOfTwoNodes", {{4, 4, 0, 0, 0, 0}, 2, false, {kRack}, 3}, 3, 4},
                    OtherPreference{"TwoConstraints", {{6, 0, 0}, 1, false, {kRack, kHost}, 3}, 2, 3},
                    OtherPreference{"UnequalNodes", {{8, 0, 0}, 3, false, {kHost}, 2, {4000, 16000, 8000}}, 4, 5}),
    [](const auto& test) { return test.param.name; });

// --- topologyBalanceNodeFit: false

/// Zone b has one node, which is too small for any pod.
ClusterBuilder without_capacity_in_b(int in_zone_a, int pending, bool schedule_anyway = false) {
  ClusterBuilder builder;
  for (const char* name : {"a-0", "a-1"}) builder.add(NodeBuilder(name).sized(8000, 8000, 110).label("zone", "a"));
  builder.add(NodeBuilder("b-0").sized(1000, 8000, 110).label("zone", "b"));
  for (int i = 0; i < in_zone_a + pending; ++i) {
    PodBuilder pod("web-" + std::to_string(i));
    if (i < in_zone_a) pod.on(i % 2 == 0 ? "a-0" : "a-1");
    builder.add(pod.cpu(1500).label("app", "web").with([&](api::Pod& object) {
      api::TopologySpreadConstraint constraint;
      constraint.topology_key = "zone";
      constraint.max_skew = 1;
      constraint.schedule_anyway = schedule_anyway;
      constraint.label_selector = builders::labels_in("app", {"web"});
      object.topology_spread.push_back(constraint);
      if (object.node_name.empty()) object.phase = api::PodPhase::kPending;
    }));
  }
  return builder;
}

constexpr auto kWithoutNodeFit = R"({"topologyBalanceNodeFit":false,"constraints":["DoNotSchedule","ScheduleAnyway"]})";

TEST(TopologyBalanceNodeFit, KeepsPodsThatFitNowhereByDefault) {
  const Plan plan = plan_of(without_capacity_in_b(4, 0), 0, false, "{}");
  EXPECT_THAT(plan.moves, IsEmpty());
}

TEST(TopologyBalanceNodeFit, SwitchedOffLetsThemGo) {
  const Plan plan = plan_of(without_capacity_in_b(4, 0), 0, false, kWithoutNodeFit);
  ASSERT_THAT(plan.moves, SizeIs(2));
  for (const api::PlannedMove& move : plan.moves) EXPECT_EQ(move.to, "") << "no node is predicted";
}

TEST(TopologyBalanceNodeFit, SwitchedOffStopsWhileReplacementsArePending) {
  EXPECT_THAT(plan_of(without_capacity_in_b(2, 2), 0, false, kWithoutNodeFit).moves, IsEmpty());
}

/// The scheduler would put the pods back into zone a.
TEST(TopologyBalanceNodeFit, SwitchedOffMovesNoPodThatWouldComeBack) {
  EXPECT_THAT(plan_of(without_capacity_in_b(4, 0, true), 0, false, kWithoutNodeFit).moves, IsEmpty());
}

}  // namespace topology_spread_test
}  // namespace planner
