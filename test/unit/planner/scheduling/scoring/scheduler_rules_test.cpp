#include "planner/scheduling/scoring/scheduler_rules.hpp"

#include <gmock/gmock.h>

#include "api/policy/scheduler_version.hpp"
#include "planner/scheduling/scoring/preferences.hpp"
#include "planner/scheduling/scoring/resource_scores.hpp"
#include "test/builders/cluster.hpp"

namespace scheduling {
namespace scheduler_rules_test {

using builders::ClusterBuilder;
using builders::NodeBuilder;
using builders::PodBuilder;

// --- the table

struct Version {
  int minor;
  BalanceFormula balance;
  bool balance_skips, affinity_from_zero, spread_cuts_off, spread_needs_labels;
  int taints, node_affinity, pod_affinity;
};

constexpr auto kDifference = BalanceFormula::kDifference;
constexpr auto kDeviation = BalanceFormula::kDeviation;
constexpr auto kImprovement = BalanceFormula::kImprovement;

class RulesOfVersion : public testing::TestWithParam<Version> {};

TEST_P(RulesOfVersion, MatchTheSchedulerOfTheVersion) {
  const Version& want = GetParam();
  const SchedulerRules rules = scheduler_rules(want.minor);
  EXPECT_EQ(rules.balance, want.balance);
  EXPECT_EQ(rules.balance_skips_pods_without_requests, want.balance_skips);
  EXPECT_EQ(rules.affinity_counts_from_zero, want.affinity_from_zero);
  EXPECT_EQ(rules.spread_cuts_off, want.spread_cuts_off);
  EXPECT_EQ(rules.built_in_spread_needs_labels, want.spread_needs_labels);
  EXPECT_EQ(rules.weights, (ScoreWeights{.fit = 1,
                                         .balance = 1,
                                         .taints = want.taints,
                                         .node_affinity = want.node_affinity,
                                         .pod_affinity = want.pod_affinity,
                                         .spread = 2}));
}

INSTANTIATE_TEST_SUITE_P(Versions, RulesOfVersion,
                         testing::Values(Version{20, kDifference, false, true, true, true, 1, 1, 1},
                                         Version{21, kDifference, false, false, true, true, 1, 1, 1},
                                         Version{22, kDeviation, false, false, true, true, 1, 1, 1},
                                         Version{23, kDeviation, false, false, true, false, 3, 2, 2},
                                         Version{24, kDeviation, false, false, false, false, 3, 2, 2},
                                         Version{32, kDeviation, false, false, false, false, 3, 2, 2},
                                         Version{33, kDeviation, true, false, false, false, 3, 2, 2},
                                         Version{35, kDeviation, true, false, false, false, 3, 2, 2},
                                         Version{36, kImprovement, true, false, false, false, 3, 2, 2}),
                         [](const auto& test) { return "Minor" + std::to_string(test.param.minor); });

TEST(SchedulerRules, TakesTheNearestVersionOutsideOfTheTable) {
  EXPECT_EQ(scheduler_rules(0), scheduler_rules(api::kOldestSchedulerMinor));
  EXPECT_EQ(scheduler_rules(99), scheduler_rules(api::kNewestSchedulerMinor));
  EXPECT_EQ(scheduler_rules(api::kNewestSchedulerMinor), SchedulerRules{});
}

TEST(SchedulerRules, NamesTheSourceOfEachChange) {
  int last = api::kOldestSchedulerMinor;
  for (const SchedulerChange& each : scheduler_changes()) {
    EXPECT_GE(each.since, last);
    EXPECT_LE(each.since, api::kNewestSchedulerMinor);
    EXPECT_TRUE(each.change.starts_with('#')) << each.change;
    last = each.since;
  }
}

TEST(MinorVersion, IsParsedFromServerVersions) {
  EXPECT_EQ(minor_version("v1.20.2"), 20);
  EXPECT_EQ(minor_version("v1.32.1-gke.7"), 32);
  EXPECT_EQ(minor_version("v1.33+"), 33);
  EXPECT_EQ(minor_version("1.36"), 36);
  for (const char* text : {"", "v", "v1", "1.", "v1.x", "v2.1.0", "v1.-3", "v1.99999999999", "Auto"})
    EXPECT_EQ(minor_version(text), std::nullopt) << text;
}

// --- the scores of each version

struct BalanceCase {
  const char* name;
  int minor;
  std::int64_t used_cpu, used_memory;  ///< Of a capacity of 1000 each
  std::int64_t wanted_cpu, wanted_memory;
  int points;
};

class BalanceScore : public testing::TestWithParam<BalanceCase> {};

TEST_P(BalanceScore, MatchesItsVersion) {
  const BalanceCase& want = GetParam();
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n").sized(1000, 1000, 10))
                           .add(PodBuilder("there").on("n").cpu(want.used_cpu).memory(want.used_memory))
                           .add(PodBuilder("pod").cpu(want.wanted_cpu).memory(want.wanted_memory))
                           .build();
  SchedulerRules rules = scheduler_rules(want.minor);
  rules.weights.fit = 0;
  const ResourceScores scores(NodeScoring::kLeastAllocated, rules);
  EXPECT_EQ(scores.score(WhatIf(*cluster), cluster->find_pod("default", "pod").value(), 0), want.points);
}

INSTANTIATE_TEST_SUITE_P(Formulas, BalanceScore,
                         testing::Values(BalanceCase{"DifferenceAt20", 20, 400, 0, 200, 200, 60},
                                         BalanceCase{"DifferenceAt21", 21, 400, 0, 200, 200, 60},
                                         BalanceCase{"NothingOnAFullNodeAt21", 21, 800, 0, 200, 0, 0},
                                         BalanceCase{"DeviationAt22", 22, 400, 0, 200, 200, 80},
                                         BalanceCase{"DeviationOnAFullNodeAt22", 22, 800, 0, 200, 0, 50},
                                         BalanceCase{"DeviationAt35", 35, 400, 0, 200, 200, 80},
                                         BalanceCase{"ImprovementAt36", 36, 400, 0, 200, 200, 75},
                                         BalanceCase{"MuchImprovedAt36", 36, 800, 0, 0, 800, 95},
                                         BalanceCase{"MuchWorseAt36", 36, 0, 0, 800, 0, 55},
                                         BalanceCase{"WithoutRequestsAt32", 32, 400, 0, 0, 0, 80},
                                         BalanceCase{"WithoutRequestsAt33", 33, 400, 0, 0, 0, 0},
                                         BalanceCase{"WithoutRequestsAt36", 36, 400, 0, 0, 0, 0}),
                         [](const auto& test) { return test.param.name; });

/// Node n0 is in zone a, n1 in zone b, n2 has no zone. Two siblings run on n0, one on n1.
std::vector<int> sibling_scores(int minor) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n0").label("topology.kubernetes.io/zone", "a"));
  builder.add(NodeBuilder("n1").label("topology.kubernetes.io/zone", "b")).add(NodeBuilder("n2"));
  builder.add(PodBuilder("s0").on("n0")).add(PodBuilder("s1").on("n0")).add(PodBuilder("s2").on("n1"));
  const auto cluster = builder.add(PodBuilder("pod")).build();
  const WhatIf what_if(*cluster);
  const FitQuery query(what_if, cluster->find_pod("default", "pod").value(), FitLevel::kScheduler);
  SchedulerRules rules = scheduler_rules(minor);
  rules.weights = {.fit = 0, .balance = 0, .taints = 0, .node_affinity = 0, .pod_affinity = 0, .spread = 1};
  return Preferences(query, rules).scores(std::vector<NodeIndex>{0, 1, 2});
}

/// Up to 1.22 each topology key has two domains: 4 ln 4 + 6 = 11.5 and 2 ln 4 + 6 = 8.7. Later versions have three: 4
/// ln 5 + 6 = 12.4, 2 ln 5 + 6 = 9.2, and 2 on the node without a zone.
TEST(SchedulerRules, SpreadLikeTheirVersion) {
  EXPECT_EQ(sibling_scores(22), (std::vector<int>{100 * 8 / 11, 100, 0}));
  EXPECT_EQ(sibling_scores(23), (std::vector<int>{100 * 2 / 12, 100 * 5 / 12, 100}));
  EXPECT_EQ(sibling_scores(24), (std::vector<int>{100 * 2 / 12, 100 * 5 / 12, 100}));
}

/// The pod weakly prefers pods of n1 and strongly prefers pods of n2. Without the pod's own terms no node has a score.
TEST(SchedulerRules, CountAffinityLikeTheirVersion) {
  const auto towards = [](const char* app) {
    api::PodAffinityTerm term;
    term.label_selector = builders::labels_in("app", {app});
    term.topology_key = "kubernetes.io/hostname";
    return term;
  };
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n1"))
                           .add(NodeBuilder("n2"))
                           .add(PodBuilder("a").bare().on("n1").label("app", "a"))
                           .add(PodBuilder("b").bare().on("n2").label("app", "b"))
                           .add(PodBuilder("pod").bare().affinity([&](api::Affinity& affinity) {
                             affinity.preferred_pod_affinity = {{10, towards("a")}, {40, towards("b")}};
                           }))
                           .build();
  const WhatIf what_if(*cluster);
  const FitQuery query(what_if, cluster->find_pod("default", "pod").value(), FitLevel::kScheduler);
  const auto scores = [&](int minor) {
    SchedulerRules rules = scheduler_rules(minor);
    rules.weights = {.fit = 0, .balance = 0, .taints = 0, .node_affinity = 0, .pod_affinity = 1, .spread = 0};
    return Preferences(query, rules).scores(std::vector<NodeIndex>{0, 1});
  };
  EXPECT_EQ(scores(20), (std::vector<int>{25, 100}));
  EXPECT_EQ(scores(21), (std::vector<int>{0, 100}));
}

}  // namespace scheduler_rules_test
}  // namespace scheduling
