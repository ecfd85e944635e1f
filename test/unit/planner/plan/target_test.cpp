#include "planner/plan/target.hpp"

#include <gtest/gtest.h>

#include <random>

#include "planner/scheduling/scoring/preferences.hpp"
#include "test/builders/cluster.hpp"

namespace planner {
namespace target_test {

using builders::ClusterBuilder;
using builders::NodeBuilder;
using builders::PodBuilder;
using scheduling::kNoNode;
using scheduling::NodeIndex;
using scheduling::NodeScoring::kLeastAllocated;

std::string target_of(const ClusterBuilder& builder, const std::string& pod) {
  const auto cluster = builder.build();
  scheduling::WhatIf what_if(*cluster);
  const auto index = cluster->find_pod("default", pod).value();
  what_if.move(index, kNoNode);
  const auto node = TargetPredictor(*cluster, kLeastAllocated).predict(what_if, index).node;
  return node ? cluster->node(*node).meta.name : "";
}

TEST(TargetPredictor, ChoosesTheEmptiestNode) {
  EXPECT_EQ(target_of(ClusterBuilder()
                          .add(NodeBuilder("n1"))
                          .add(NodeBuilder("n2"))
                          .add(PodBuilder("a").on("n1").cpu(1000))
                          .add(PodBuilder("p").cpu(100)),
                      "p"),
            "n2");
}

TEST(TargetPredictor, BreaksTiesByName) {
  EXPECT_EQ(target_of(ClusterBuilder().add(NodeBuilder("n3")).add(NodeBuilder("n2")).add(PodBuilder("p")), "p"), "n2");
}

TEST(TargetPredictor, WeighsCpuAndMemoryTogether) {
  EXPECT_EQ(target_of(ClusterBuilder()
                          .add(NodeBuilder("n1"))
                          .add(NodeBuilder("n2"))
                          .add(PodBuilder("cpu").on("n1").cpu(2000))
                          .add(PodBuilder("memory").on("n2").memory(1000))
                          .add(PodBuilder("p")),
                      "p"),
            "n2");
}

TEST(TargetPredictor, TakesTheNextBestNodeThatPasses) {
  EXPECT_EQ(target_of(ClusterBuilder()
                          .add(NodeBuilder("n1").taint("gpu"))
                          .add(NodeBuilder("n2").cordoned())
                          .add(NodeBuilder("n3"))
                          .add(NodeBuilder("n4"))
                          .add(PodBuilder("a").on("n3").cpu(1000))
                          .add(PodBuilder("b").on("n4").cpu(500))
                          .add(PodBuilder("p")),
                      "p"),
            "n4");
}

TEST(TargetPredictor, MayChooseTheNodeThatThePodLeaves) {
  EXPECT_EQ(target_of(ClusterBuilder()
                          .add(NodeBuilder("n1"))
                          .add(NodeBuilder("n2"))
                          .add(PodBuilder("a").on("n2").cpu(3000))
                          .add(PodBuilder("p").on("n1").cpu(1000)),
                      "p"),
            "n1");
}

TEST(TargetPredictor, FindsNoneForAPodThatIsTooLarge) {
  EXPECT_EQ(target_of(ClusterBuilder().add(NodeBuilder("n1")).add(PodBuilder("p").cpu(4001)), "p"), "");
}

TEST(TargetPredictor, FindsNoneWithoutNodes) { EXPECT_EQ(target_of(ClusterBuilder().add(PodBuilder("p")), "p"), ""); }

// --- with a goal

struct GoalCase {
  const char* name;
  std::function<void(ClusterBuilder&)> edit;  ///< n1 and n2 exist and are empty. The pod p has no owner and no node.
  std::string goal;                           ///< The only node that improves the placement
  std::string node;                           ///< Predicted node, empty if none
  std::string competing_node;
  scheduling::NodeScoring scoring = kLeastAllocated;
};

class TowardsAGoal : public testing::TestWithParam<GoalCase> {};

TEST_P(TowardsAGoal, TheFavouriteMustSatisfyIt) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1").sized(4000, 4000, 20)).add(NodeBuilder("n2").sized(4000, 4000, 20));
  GetParam().edit(builder);
  const auto cluster = builder.build();
  const scheduling::WhatIf what_if(*cluster);
  const auto goal = [&](NodeIndex node) { return cluster->node(node).meta.name == GetParam().goal; };
  TargetPredictor predictor(*cluster, GetParam().scoring);
  const Placement placement = predictor.predict(what_if, cluster->find_pod("default", "p").value(), goal);
  const auto name_of = [&](std::optional<NodeIndex> node) { return node ? cluster->node(*node).meta.name : ""; };
  EXPECT_EQ(name_of(placement.node), GetParam().node);
  EXPECT_EQ(name_of(placement.competing_node), GetParam().competing_node);
}

PodBuilder even(const char* name, std::int64_t size) { return PodBuilder(name).bare().cpu(size).memory(size); }

INSTANTIATE_TEST_SUITE_P(
    Goals, TowardsAGoal,
    testing::Values(
        GoalCase{"TheEmptiestIsInIt", [](auto& builder) { builder.add(even("p", 100)).add(even("a", 1000).on("n1")); },
                 "n2", "n2", ""},
        GoalCase{"TheEmptiestIsNot", [](auto& builder) { builder.add(even("p", 100)).add(even("a", 1000).on("n1")); },
                 "n1", "", "n2"},
        GoalCase{"OneThatTiesIsNot", [](auto& builder) { builder.add(even("p", 100)); }, "n1", "", "n2"},
        GoalCase{"OneThatTiesHasNoRoom",
                 [](auto& builder) {
                   builder.add(even("p", 100).with([](api::Pod& pod) { pod.node_selector = {{"disk", "ssd"}}; }));
                   builder.add(NodeBuilder("n3").label("disk", "ssd"));
                 },
                 "n3", "n3", ""},
        GoalCase{"NoneOfItTakesThePod",
                 [](auto& builder) { builder.add(even("p", 100)).add(NodeBuilder("n3").cordoned()); }, "n3", "", "n1"},
        GoalCase{"NoNodeTakesThePod", [](auto& builder) { builder.add(even("p", 4001)); }, "n1", "", ""},
        GoalCase{"TheFullestIsInItWhereTheSchedulerPacks",
                 [](auto& builder) { builder.add(even("p", 100)).add(even("a", 1000).on("n1")); }, "n1", "n1", "",
                 scheduling::NodeScoring::kMostAllocated},
        GoalCase{"AnAffinityOutweighsRoom",
                 [](auto& builder) {
                   builder.add(even("a", 1000).on("n1"));
                   builder.add(even("p", 100).affinity([](api::Affinity& affinity) {
                     using enum api::SelectorOperator;
                     affinity.preferred_node_terms = {{1, {{{"kubernetes.io/hostname", kIn, {"n1"}}}, {}}}};
                   }));
                 },
                 "n2", "", "n1"},
        GoalCase{"SiblingsOutweighRoom",
                 [](auto& builder) {
                   builder.add(even("a", 1000).on("n1"));
                   builder.add(even("s1", 10).owned_by("ReplicaSet", "web").on("n2"));
                   builder.add(even("p", 100).owned_by("ReplicaSet", "web"));
                 },
                 "n2", "", "n1"},
        GoalCase{"RoomOutweighsASibling",
                 [](auto& builder) {
                   builder.add(even("a", 3900).on("n1"));
                   for (const char* name : {"s1", "s2", "s3"}) {
                     builder.add(even(name, 1).owned_by("ReplicaSet", "web").on(name[1] == '3' ? "n2" : "n1"));
                   }
                   builder.add(even("p", 90).owned_by("ReplicaSet", "web"));
                 },
                 "n2", "n2", ""}),
    [](const auto& test) { return test.param.name; });

// --- with a placement hint

struct HintCase {
  const char* name;
  std::function<void(ClusterBuilder&)> edit;  ///< n1 and n2 exist and are empty
  std::vector<std::string> goal;              ///< Nodes that improve the placement
  std::string node;                           ///< Target of p, empty if a hint cannot decide
};

class WithAHint : public testing::TestWithParam<HintCase> {};

TEST_P(WithAHint, TheSchedulerTakesTheBestThatHelps) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1").sized(4000, 4000, 20)).add(NodeBuilder("n2").sized(4000, 4000, 20));
  GetParam().edit(builder);
  const auto cluster = builder.build();
  const scheduling::WhatIf what_if(*cluster);
  const auto goal = [&](NodeIndex node) {
    return std::ranges::find(GetParam().goal, cluster->node(node).meta.name) != GetParam().goal.end();
  };
  TargetPredictor predictor(*cluster, kLeastAllocated);
  const auto node = predictor.predict_hinted(what_if, cluster->find_pod("default", "p").value(), goal);
  EXPECT_EQ(node ? cluster->node(*node).meta.name : "", GetParam().node);
}

/// p prefers n2 with the given weight.
PodBuilder prefers_n2(std::int32_t weight) {
  return even("p", 100).affinity([weight](api::Affinity& affinity) {
    using enum api::SelectorOperator;
    affinity.preferred_node_terms = {{weight, {{{"kubernetes.io/hostname", kIn, {"n2"}}}, {}}}};
  });
}

INSTANTIATE_TEST_SUITE_P(
    Hints, WithAHint,
    testing::Values(
        HintCase{"OutweighsCapacity",
                 [](auto& builder) { builder.add(even("p", 100)).add(even("a", 3000).on("n1")); },
                 {"n1"},
                 "n1"},
        HintCase{"DecidesWhereChanceWould", [](auto& builder) { builder.add(even("p", 100)); }, {"n1"}, "n1"},
        HintCase{"IsForTheBestThatHelps",
                 [](auto& builder) {
                   builder.add(even("p", 100)).add(NodeBuilder("n3").sized(4000, 4000, 20));
                   builder.add(even("a", 1000).on("n1")).add(even("b", 500).on("n2"));
                 },
                 {"n1", "n2"},
                 "n2"},
        HintCase{"GoesOnlyWhereThePodFits",
                 [](auto& builder) { builder.add(even("p", 100)).add(even("a", 4000).on("n1")); },
                 {"n1"},
                 ""},
        HintCase{"OutweighsAWeakPreference",
                 [](auto& builder) { builder.add(prefers_n2(1)).add(even("a", 1000).on("n1")); },
                 {"n1"},
                 "n1"},
        HintCase{"LosesAgainstAPreferenceAsStrong",
                 [](auto& builder) { builder.add(prefers_n2(100)).add(even("a", 1000).on("n1")); },
                 {"n1"},
                 ""},
        HintCase{"LosesAgainstASoftTaint",
                 [](auto& builder) {
                   builder.add(
                       NodeBuilder("n3").sized(4000, 4000, 20).taint("soft", api::TaintEffect::kPreferNoSchedule));
                   builder.add(even("p", 100));
                 },
                 {"n3"},
                 ""},
        HintCase{"DecidesNothingAmongMoreNodesThanTheSchedulerLooksAt",
                 [](auto& builder) {
                   builder.add(even("p", 100));
                   for (int i = 0; i < 100; ++i)
                     builder.add(NodeBuilder("x" + std::to_string(i)).sized(4000, 4000, 20));
                 },
                 {"n1"},
                 ""}),
    [](const auto& test) { return test.param.name; });

/// Random nodes in three zones and replicas of a few owners.
std::shared_ptr<const scheduling::ClusterSnapshot> crowd(std::mt19937& random, int nodes, int pods) {
  const auto below = [&](std::uint32_t limit) { return static_cast<int>(random() % limit); };
  ClusterBuilder builder;
  for (int i = 0; i < nodes; ++i) {
    builder.add(NodeBuilder("n" + std::to_string(i))
                    .sized(4000 * (1 + below(2)), 8000, 110)
                    .label("topology.kubernetes.io/zone", "z" + std::to_string(i % 3)));
  }
  for (int i = 0; i < pods; ++i) {
    builder.add(PodBuilder("p" + std::to_string(i))
                    .on("n" + std::to_string(below(static_cast<std::uint32_t>(nodes))))
                    .cpu(100 * (1 + below(5)))
                    .memory(100 * (1 + below(5)))
                    .owned_by("ReplicaSet", "rs" + std::to_string(below(static_cast<std::uint32_t>(pods) / 8))));
  }
  return builder.build();
}

struct Agreement {
  int nodes;
  int at_least;  ///< Minimum number of agreements in 200 moves
};

class FullComparison : public testing::TestWithParam<Agreement> {};

/// Shortcuts must not change the answer. It is exact for small clusters and a good approximation for large ones.
TEST_P(FullComparison, EqualsThePrediction) {
  std::mt19937 random(4711);
  const auto cluster = crowd(random, GetParam().nodes, GetParam().nodes * 10);
  scheduling::WhatIf what_if(*cluster);
  TargetPredictor predictor(*cluster, kLeastAllocated);
  const scheduling::ResourceScores scores(kLeastAllocated);
  int agreed = 0;
  for (int step = 0; step < 200; ++step) {
    const auto pod = static_cast<scheduling::PodIndex>(random() % cluster->pod_count());
    const auto goal = [&](NodeIndex node) { return node % 8 != static_cast<NodeIndex>(step) % 8; };
    what_if.move(pod, kNoNode);
    const Placement placement = predictor.predict(what_if, pod, goal);
    const scheduling::FitQuery query(what_if, pod, scheduling::FitLevel::kScheduler);
    std::vector<NodeIndex> nodes;
    std::vector<int> capacity;
    for (const NodeIndex node : cluster->nodes()) {
      if (!query.fits(node)) continue;
      nodes.push_back(node);
      capacity.push_back(scores.score(what_if, pod, node));
    }
    const auto best = scheduling::best_nodes(scheduling::Preferences(query), nodes, capacity);
    const bool some_help = std::ranges::any_of(nodes, goal);
    const bool all_help = std::ranges::all_of(best, goal);
    const auto& expected = all_help ? placement.node : placement.competing_node;
    const bool is_among_best = expected && std::ranges::find(best, *expected) != best.end();
    // If no node that fits would help, the predictor need not name the favourite.
    if (is_among_best || (!some_help && !placement.node && !placement.competing_node)) ++agreed;
    what_if.move(pod, best.empty() ? kNoNode : best.front());
  }
  EXPECT_GE(agreed, GetParam().at_least);
}

INSTANTIATE_TEST_SUITE_P(Clusters, FullComparison,
                         testing::Values(Agreement{3, 200}, Agreement{16, 200}, Agreement{60, 195},
                                         Agreement{150, 180}),
                         [](const auto& test) { return std::to_string(test.param.nodes) + "Nodes"; });

/// A pool of 40 nodes in a cluster of 300. One pool node is preferred and fuller.
/// The scheduler compares the entire pool.
TEST(TargetPredictor, ComparesTheEntirePoolInALargeCluster) {
  ClusterBuilder builder;
  for (int i = 0; i < 300; ++i) {
    NodeBuilder node("n" + std::to_string(i));
    if (i % 8 == 0) node.label("pool", "blue");
    builder.add(node);
  }
  for (int i = 0; i < 300; i += 8) {
    if (i != 296) builder.add(PodBuilder("small-" + std::to_string(i)).bare().on("n" + std::to_string(i)).cpu(100));
  }
  builder.add(PodBuilder("large").bare().on("n296").cpu(400).memory(400).label("app", "db"));
  builder.add(PodBuilder("p")
                  .bare()
                  .cpu(100)
                  .memory(100)
                  .with([](api::Pod& pod) {
                    pod.node_selector = {{"pool", "blue"}};
                  })
                  .affinity([](api::Affinity& affinity) {
                    api::PodAffinityTerm term;
                    term.label_selector = builders::labels_in("app", {"db"});
                    term.topology_key = "kubernetes.io/hostname";
                    affinity.preferred_pod_affinity = {{1, term}};
                  }));
  const auto cluster = builder.build();
  const scheduling::WhatIf what_if(*cluster);
  const auto pod = cluster->find_pod("default", "p").value();
  const Placement placement = TargetPredictor(*cluster, kLeastAllocated).predict(what_if, pod);
  ASSERT_TRUE(placement.node);
  EXPECT_EQ(cluster->node(*placement.node).meta.name, "n296");
}

/// One point of balance ranks 150 nodes with pods of the same workload above the empty nodes that the spread prefers.
TEST(TargetPredictor, FindsTheBestNodeBehindManyWorseOnes) {
  const auto number = [](const char* prefix, int i) { return prefix + std::to_string(1000 + i); };
  const auto web = [](const std::string& name) {
    return PodBuilder(name).cpu(100).label("app", "web").with([](api::Pod& pod) {
      api::TopologySpreadConstraint& constraint = pod.topology_spread.emplace_back();
      constraint.max_skew = 1;
      constraint.topology_key = "kubernetes.io/hostname";
      constraint.schedule_anyway = true;
      constraint.label_selector = builders::labels_in("app", {"web"});
    });
  };
  ClusterBuilder builder;
  for (int i = 0; i < 150; ++i) {
    builder.add(NodeBuilder(number("a", i)).sized(64000, 64000, 110));
    for (const char* pod : {"x", "y", "z"}) builder.add(web(number(pod, i)).on(number("a", i)));
  }
  for (int i = 0; i < 100; ++i) builder.add(NodeBuilder(number("b", i)).sized(64000, 64000, 110));
  const auto cluster = builder.add(web("p")).build();
  scheduling::WhatIf what_if(*cluster);
  const auto is_empty = [&](NodeIndex node) { return cluster->node(node).meta.name.front() == 'b'; };
  const Placement placement =
      TargetPredictor(*cluster, kLeastAllocated).predict(what_if, cluster->find_pod("default", "p").value(), is_empty);
  EXPECT_TRUE(placement.node.has_value()) << "it would say that the scheduler disagrees";
}

/// A predictor with cached answers must return the targets of a new predictor.
TEST(TargetPredictor, CachedPredictionsFollowChangesOfTheWhatIf) {
  std::mt19937 random(20261122);
  const auto below = [&](std::uint32_t limit) { return static_cast<int>(random() % limit); };
  ClusterBuilder builder;
  for (int i = 0; i < 12; ++i) builder.add(NodeBuilder("n" + std::to_string(i)).sized(1000 * (1 + i % 4), 8000, 110));
  for (int i = 0; i < 60; ++i) {
    builder.add(PodBuilder("p" + std::to_string(i)).on("n" + std::to_string(below(12))).cpu(100 * (1 + i % 5)));
  }
  const auto cluster = builder.build();
  scheduling::WhatIf what_if(*cluster);
  TargetPredictor kept(*cluster, kLeastAllocated);
  for (int step = 0; step < 500; ++step) {
    const auto pod = static_cast<scheduling::PodIndex>(below(60));
    const auto odd = [](NodeIndex node) { return node % 2 == 1; };
    const strategies::Goal goal = step % 3 == 0 ? strategies::Goal(odd) : strategies::Goal();
    what_if.move(pod, kNoNode);
    const auto target = kept.predict(what_if, pod, goal).node;
    ASSERT_EQ(target, TargetPredictor(*cluster, kLeastAllocated).predict(what_if, pod, goal).node) << "step " << step;
    if (step % 7 == 0) {
      what_if.restore(pod);
    } else if (target) {
      what_if.move(pod, *target);
    }
  }
}

}  // namespace target_test
}  // namespace planner
