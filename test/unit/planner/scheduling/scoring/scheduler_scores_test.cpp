/// Nodes that kube-scheduler's default profile would choose by free capacity and preferences.

#include <gmock/gmock.h>

#include <functional>

#include "planner/scheduling/scoring/preferences.hpp"
#include "planner/scheduling/scoring/resource_scores.hpp"
#include "test/builders/cluster.hpp"

namespace scheduler_scores_test {

using builders::ClusterBuilder;
using builders::NodeBuilder;
using builders::PodBuilder;
using scheduling::NodeIndex;
using scheduling::NodeScoring;

// --- free capacity

struct CapacityCase {
  const char* name;
  NodeScoring scoring;
  std::int64_t used_cpu, used_memory;      ///< Of a capacity of 1000m and 1000 bytes
  std::int64_t wanted_cpu, wanted_memory;  ///< -1 if the pod has no request
  int score;
};

class CapacityScore : public testing::TestWithParam<CapacityCase> {};

TEST_P(CapacityScore, MatchesKubeScheduler) {
  const CapacityCase& want = GetParam();
  ClusterBuilder builder;
  builder.add(NodeBuilder("n").sized(1000, 1000, 10));
  builder.add(PodBuilder("there").on("n").cpu(want.used_cpu).memory(want.used_memory));
  PodBuilder pod("pod");
  if (want.wanted_cpu >= 0) pod.cpu(want.wanted_cpu);
  if (want.wanted_memory >= 0) pod.memory(want.wanted_memory);
  const auto cluster = builder.add(pod).build();
  const scheduling::WhatIf what_if(*cluster);
  const auto pod_index = cluster->find_pod("default", "pod").value();
  EXPECT_EQ(scheduling::ResourceScores(want.scoring).score(what_if, pod_index, 0), want.score);
}

constexpr auto kMin = NodeScoring::kLeastAllocated;
constexpr auto kMax = NodeScoring::kMostAllocated;

INSTANTIATE_TEST_SUITE_P(
    Capacity, CapacityScore,
    testing::Values(CapacityCase{"AsksForNothing", kMin, 0, 0, 0, 0, 100 + 0},
                    CapacityCase{"HalfOfBoth", kMin, 300, 300, 200, 200, 50 + 75},
                    CapacityCase{"HalfOfBothPacked", kMax, 300, 300, 200, 200, 50 + 75},
                    CapacityCase{"OutOfBalance", kMin, 400, 0, 200, 0, (40 + 100) / 2 + 70},
                    CapacityCase{"OutOfBalancePacked", kMax, 400, 0, 200, 0, (60 + 0) / 2 + 70},
                    CapacityCase{"BringsBalance", kMin, 400, 0, 0, 400, (60 + 60) / 2 + 85},
                    CapacityCase{"CutsOffHalfAPoint", kMin, 0, 0, 100, 0, (90 + 100) / 2 + 72},
                    CapacityCase{"NoCpuWrittenCountsAsATenthOfACore", kMin, 0, 0, -1, 0, (90 + 100) / 2 + 0},
                    CapacityCase{"JustFits", kMin, 500, 0, 500, 0, (0 + 100) / 2 + 62},
                    CapacityCase{"DoesNotFit", kMin, 501, 0, 500, 0, scheduling::ResourceScores::kNoCapacity}),
    [](const auto& test) { return test.param.name; });

TEST(CapacityScore, AppliesTheWeights) {
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n").sized(1000, 1000, 10))
                           .add(PodBuilder("there").on("n").cpu(400).memory(0))
                           .add(PodBuilder("pod").cpu(200).memory(0))
                           .build();
  const scheduling::WhatIf what_if(*cluster);
  const auto pod = cluster->find_pod("default", "pod").value();
  const auto score = [&](const scheduling::ScoreWeights& weights) {
    return scheduling::ResourceScores(kMin, {.weights = weights}).score(what_if, pod, 0);
  };
  EXPECT_EQ(score({.balance = 0}), (40 + 100) / 2);
  EXPECT_EQ(score({.fit = 0}), 70);
}

TEST(CapacityScore, ReportsANodeWithoutCapacityForOneMorePod) {
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n").sized(1000, 1000, 1))
                           .add(PodBuilder("there").on("n"))
                           .add(PodBuilder("pod"))
                           .build();
  EXPECT_EQ(scheduling::ResourceScores(kMin).score(scheduling::WhatIf(*cluster), 1, 0),
            scheduling::ResourceScores::kNoCapacity);
}

/// On a node with 4 cores and 16 GiB, each of the ten pods without requests counts as 100m and 200Mi.
TEST(CapacityScore, CountsRunningPodsWithoutRequestsAsWell) {
  ClusterBuilder builder;
  for (const char* node : {"n0", "n1"}) builder.add(NodeBuilder(node).sized(4000, std::int64_t{16} << 30, 110));
  for (int i = 0; i < 10; ++i) builder.add(PodBuilder("idle-" + std::to_string(i)).on("n0"));
  const auto cluster = builder.add(PodBuilder("pod").cpu(0).memory(0)).build();
  const scheduling::WhatIf what_if(*cluster);
  const auto pod = cluster->find_pod("default", "pod").value();
  const scheduling::ResourceScores scores(kMin);
  EXPECT_EQ(scores.score(what_if, pod, 1), 100);
  EXPECT_EQ(scores.score(what_if, pod, 0), (75 + 87) / 2);
}

// --- preferences

struct Preference {
  const char* name;
  std::function<void(ClusterBuilder&, PodBuilder&)> edit;
  std::vector<int> scores;  ///< Scores of n0, n1 and n2
};

class PreferenceScore : public testing::TestWithParam<Preference> {};

constexpr int kUntainted = 300;  // Score of each node when no node has a PreferNoSchedule taint

PodBuilder bare(const char* name, const char* node) { return PodBuilder(name).bare().on(node).label("app", "db"); }

api::PodAffinityTerm towards(const char* app, const char* key) {
  api::PodAffinityTerm term;
  term.label_selector = builders::labels_in("app", {app});
  term.topology_key = key;
  return term;
}

void spread(PodBuilder& pod, const char* key, int max_skew) {
  pod.with([&](api::Pod& each) {
    api::TopologySpreadConstraint constraint;
    constraint.topology_key = key;
    constraint.max_skew = max_skew;
    constraint.schedule_anyway = true;
    constraint.label_selector = builders::labels_in("app", {"web"});
    each.topology_spread.push_back(constraint);
  });
}

/// n0 and n1 are in zone a, n2 is in zone b. The pod has the label app=web and no owner unless the case adds one.
TEST_P(PreferenceScore, MatchesKubeScheduler) {
  ClusterBuilder builder;
  PodBuilder pod("pod");
  pod.bare().label("app", "web");
  for (const auto& [name, zone] : {std::pair{"n0", "a"}, {"n1", "a"}, {"n2", "b"}}) {
    builder.add(NodeBuilder(name).label("topology.kubernetes.io/zone", zone));
  }
  GetParam().edit(builder, pod);
  const auto cluster = builder.add(pod).build();
  const scheduling::WhatIf what_if(*cluster);
  const scheduling::FitQuery query(what_if, cluster->find_pod("default", "pod").value(),
                                   scheduling::FitLevel::kScheduler);
  const scheduling::Preferences preferences(query);
  std::vector<NodeIndex> nodes;
  for (const char* name : {"n0", "n1", "n2"}) nodes.push_back(cluster->find_node(name).value());
  const std::vector<int> scores = preferences.scores(nodes);
  EXPECT_EQ(scores, GetParam().scores);
  const int most = std::ranges::max(scores);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (preferences.is_best(nodes[i])) {
      EXPECT_EQ(scores[i], most) << i;
    }
    const bool some_are_best = std::ranges::any_of(nodes, [&](NodeIndex node) { return preferences.is_best(node); });
    if (some_are_best) {
      EXPECT_LE(preferences.min_loss(nodes[i]), most - scores[i]) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Preferences, PreferenceScore,
    testing::Values(
        Preference{"NothingInParticular", [](auto&, auto&) {}, {kUntainted, kUntainted, kUntainted}},
        Preference{"TaintsThatSayPreferNot",
                   [](auto& builder, auto&) {
                     using enum api::TaintEffect;
                     builder.add(NodeBuilder("n3").taint("x", kPreferNoSchedule));  // not a candidate
                   },
                   {kUntainted, kUntainted, kUntainted}},
        Preference{"NodesItLikes",
                   [](auto&, auto& pod) {
                     pod.affinity([](api::Affinity& affinity) {
                       using enum api::SelectorOperator;
                       affinity.preferred_node_terms = {{10, {{{"topology.kubernetes.io/zone", kIn, {"a"}}}, {}}},
                                                        {30, {{{"kubernetes.io/hostname", kIn, {"n1"}}}, {}}}};
                     });
                   },
                   {kUntainted + 2 * 25, kUntainted + 2 * 100, kUntainted}},
        Preference{"PodsItLikes",
                   [](auto& builder, auto& pod) {
                     builder.add(bare("db", "n0"));
                     pod.affinity([](api::Affinity& affinity) {
                       affinity.preferred_pod_affinity = {{5, towards("db", "topology.kubernetes.io/zone")}};
                     });
                   },
                   {kUntainted + 200, kUntainted + 200, kUntainted}},
        // In floating point 0.29 * 100 is less than 29.
        Preference{"PodsItLikesInTheSchedulersArithmetic",
                   [](auto& builder, auto& pod) {
                     builder.add(bare("db", "n0")).add(bare("cache", "n1").label("app", "cache"));
                     pod.affinity([](api::Affinity& affinity) {
                       affinity.preferred_pod_affinity = {{100, towards("db", "kubernetes.io/hostname")},
                                                          {29, towards("cache", "kubernetes.io/hostname")}};
                     });
                   },
                   {kUntainted + 200, kUntainted + 2 * 28, kUntainted}},
        Preference{"PodsItShuns",
                   [](auto& builder, auto& pod) {
                     builder.add(bare("db-0", "n0")).add(bare("db-1", "n0")).add(bare("db-2", "n1"));
                     pod.affinity([](api::Affinity& affinity) {
                       affinity.preferred_pod_anti_affinity = {{1, towards("db", "kubernetes.io/hostname")}};
                     });
                   },
                   {kUntainted, kUntainted + 2 * 50, kUntainted + 200}},
        Preference{"PodsThatLikeIt",
                   [](auto& builder, auto&) {
                     builder.add(bare("db", "n2").affinity([](api::Affinity& affinity) {
                       affinity.required_pod_affinity = {towards("web", "kubernetes.io/hostname")};
                     }));
                   },
                   {kUntainted, kUntainted, kUntainted + 200}},
        Preference{"PodsThatShunIt",
                   [](auto& builder, auto&) {
                     builder.add(bare("db", "n2").affinity([](api::Affinity& affinity) {
                       affinity.preferred_pod_anti_affinity = {{1, towards("web", "kubernetes.io/hostname")}};
                     }));
                   },
                   {kUntainted + 200, kUntainted + 200, kUntainted}},
        // Zones: 2 of 3 pods in a. ln(2 + 2) = 1.386, truncated to 3 and 1.
        Preference{"ItsOwnSpread",
                   [](auto& builder, auto& pod) {
                     for (const auto& [name, node] : {std::pair{"w0", "n0"}, {"w1", "n1"}, {"w2", "n2"}})
                       builder.add(PodBuilder(name).on(node).label("app", "web"));
                     spread(pod, "topology.kubernetes.io/zone", 1);
                   },
                   {kUntainted + 2 * 33, kUntainted + 2 * 33, kUntainted + 200}},
        Preference{"ItsOwnSpreadOfNobody",
                   [](auto& builder, auto& pod) {
                     builder.add(PodBuilder("w").on("n2").label("app", "web"));
                     spread(pod, "topology.kubernetes.io/zone", 1);
                     pod.with([](api::Pod& each) { each.topology_spread[0].label_selector->requirements.clear(); });
                   },
                   {kUntainted + 200, kUntainted + 200, kUntainted + 200}},
        Preference{"NodesOutsideOfItsSpreadScoreNothing",
                   [](auto& builder, auto& pod) {
                     builder.add(PodBuilder("w").on("n2").label("app", "web"));
                     spread(pod, "rack", 1);
                   },
                   {kUntainted, kUntainted, kUntainted}},
        // Nodes: 2 pods in 3 domains, 2 ln 5 + 2. Zones: 2 in 2, 2 ln 4 + 4. Truncated: 12, 9 and 6.
        Preference{"SiblingsSpreadWithoutAConstraint",
                   [](auto& builder, auto& pod) {
                     builder.add(PodBuilder("s0").on("n0")).add(PodBuilder("s1").on("n0"));
                     builder.add(PodBuilder("other").on("n2").owned_by("ReplicaSet", "other"));
                     pod.owned_by("ReplicaSet", "rs");
                   },
                   {kUntainted + 2 * 50, kUntainted + 2 * 75, kUntainted + 200}},
        Preference{"PodsOfAStatefulSetOfAnotherGroupDoNotSpread",
                   [](auto& builder, auto& pod) {
                     const auto of_kruise = [](PodBuilder& each) {
                       each.owned_by("StatefulSet", "db").with([](api::Pod& object) {
                         object.meta.owner_references[0].api_version = "apps.kruise.io/v1beta1";
                       });
                     };
                     PodBuilder sibling("s0");
                     of_kruise(sibling.on("n0"));
                     builder.add(sibling);
                     of_kruise(pod);
                   },
                   {kUntainted, kUntainted, kUntainted}},
        Preference{"PodsOfAJobDoNotSpread",
                   [](auto& builder, auto& pod) {
                     builder.add(PodBuilder("s0").on("n0").owned_by("Job", "job"));
                     pod.owned_by("Job", "job");
                   },
                   {kUntainted, kUntainted, kUntainted}}),
    [](const auto& test) { return test.param.name; });

TEST(Preferences, PreferNoScheduleTaintsCountAgainstANode) {
  using enum api::TaintEffect;
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n0"))
                           .add(NodeBuilder("n1").taint("x", kPreferNoSchedule))
                           .add(NodeBuilder("n2").taint("x", kPreferNoSchedule).taint("y", kPreferNoSchedule))
                           .add(PodBuilder("pod").bare())
                           .add(PodBuilder("tolerant").bare().tolerate("x"))
                           .build();
  const scheduling::WhatIf what_if(*cluster);
  const auto scores_of = [&](const char* pod) {
    const scheduling::FitQuery query(what_if, cluster->find_pod("default", pod).value(),
                                     scheduling::FitLevel::kScheduler);
    return scheduling::Preferences(query).scores(std::vector<NodeIndex>{0, 1, 2});
  };
  EXPECT_EQ(scores_of("pod"), (std::vector<int>{300, 150, 0}));
  EXPECT_EQ(scores_of("tolerant"), (std::vector<int>{300, 300, 0}));
}

TEST(Preferences, ACandidateWithoutAZoneCountsAsAZoneOfItsOwnForTheBuiltInSpread) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n0").label("topology.kubernetes.io/zone", "a"));
  builder.add(NodeBuilder("n1").label("topology.kubernetes.io/zone", "b")).add(NodeBuilder("n2"));
  for (const char* name : {"s0", "s1", "s2"}) builder.add(PodBuilder(name).on("n0"));
  const auto cluster = builder.add(PodBuilder("pod")).build();
  const scheduling::WhatIf what_if(*cluster);
  const scheduling::FitQuery query(what_if, cluster->find_pod("default", "pod").value(),
                                   scheduling::FitLevel::kScheduler);
  scheduling::ScoreWeights spread_only{.fit = 0, .balance = 0, .taints = 0, .node_affinity = 0, .pod_affinity = 0};
  spread_only.spread = 1;
  // n0: 3 pods, (3 ln 5 + 2) + (3 ln 5 + 4), truncated to 16. With two zones it would be 3 ln 4 and 15. n1: 6. n2: 2.
  EXPECT_EQ(scheduling::Preferences(query, {.weights = spread_only}).scores(std::vector<NodeIndex>{0, 1, 2}),
            (std::vector<int>{100 * 2 / 16, 100 * 12 / 16, 100}));
}

TEST(Preferences, NodesWithoutOneTopologyKeyCountForNoConstraint) {
  constexpr auto kZone = "topology.kubernetes.io/zone";
  ClusterBuilder builder;
  builder.add(NodeBuilder("n0").label(kZone, "b").label("rack", "r"));
  builder.add(NodeBuilder("n1").label(kZone, "a").label("rack", "r")).add(NodeBuilder("n2").label(kZone, "b"));
  builder.add(PodBuilder("w0").on("n1").label("app", "web"));
  for (const char* name : {"w1", "w2", "w3"}) builder.add(PodBuilder(name).on("n2").label("app", "web"));
  PodBuilder pod("pod");
  spread(pod.bare().label("app", "web"), kZone, 1);
  spread(pod, "rack", 1);
  const auto cluster = builder.add(pod).build();
  const scheduling::WhatIf what_if(*cluster);
  const scheduling::FitQuery query(what_if, cluster->find_pod("default", "pod").value(),
                                   scheduling::FitLevel::kScheduler);
  // n0: ln 3 for its rack, 1. n1: ln 4 in addition for its zone, 2.
  EXPECT_EQ(scheduling::Preferences(query).scores(std::vector<NodeIndex>{0, 1, 2}),
            (std::vector<int>{kUntainted + 200, kUntainted + 2 * 50, kUntainted}));
}

TEST(Preferences, FavouritesAreAllThatShareTheBestSum) {
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n0"))
                           .add(NodeBuilder("n1"))
                           .add(NodeBuilder("n2"))
                           .add(PodBuilder("pod").bare())
                           .build();
  const scheduling::WhatIf what_if(*cluster);
  const scheduling::FitQuery query(what_if, 0, scheduling::FitLevel::kScheduler);
  const std::vector<NodeIndex> nodes = {0, 1, 2};
  EXPECT_THAT(scheduling::best_nodes(scheduling::Preferences(query), nodes, std::vector<int>{70, 90, 90}),
              testing::ElementsAre(1, 2));
}

}  // namespace scheduler_scores_test
