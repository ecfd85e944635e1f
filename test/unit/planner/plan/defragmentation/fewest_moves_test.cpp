/// Defragmentation: the minimum number of moves that frees nodes, and a search that stops when it has reached that
/// minimum.

#include <gmock/gmock.h>

#include "api/meta/well_known.hpp"
#include "planner/strategies/defragmentation/bound/bound.hpp"
#include "planner/strategies/defragmentation/search.hpp"
#include "test/unit/planner/plan/defragmentation/ground.hpp"

namespace planner {
namespace fewest_moves_test {

using builders::ClusterBuilder;
using builders::NodeBuilder;
using builders::PodBuilder;

PodBuilder pod(const std::string& name, const std::string& node, std::int64_t cpu) {
  return PodBuilder(name).on(node).cpu(cpu);
}

/// Pod with anti-affinity against the other pods of its app, so that at most one runs on a node.
PodBuilder lone(const std::string& name, const std::string& node, std::int64_t cpu) {
  static const api::StringMap labels = {{"app", "lone"}};
  static const std::shared_ptr<const api::Affinity> affinity =
      PodBuilder("").anti_affinity("app", "lone", std::string(api::well_known::kHostnameLabel)).build().affinity;
  return pod(name, node, cpu).with([&](api::Pod& object) {
    object.meta.labels = labels;
    object.affinity = affinity;
  });
}

PodBuilder with_port(const std::string& name, const std::string& node, std::int64_t cpu) {
  return pod(name, node, cpu).with([](api::Pod& object) {
    std::vector<api::Container> containers(object.containers.begin(), object.containers.end());
    containers[0].host_ports.push_back({"", "TCP", 80});
    object.containers = std::move(containers);
  });
}

std::vector<PodBuilder> pods_on(const std::string& node, const std::vector<std::int64_t>& cpu) {
  std::vector<PodBuilder> pods;
  for (std::size_t i = 0; i < cpu.size(); ++i) pods.push_back(pod(node + std::to_string(i), node, cpu[i]));
  return pods;
}

using Pods = std::vector<std::vector<PodBuilder>>;  // By node

/// Nodes have 4 cpu each.
struct MovesCase {
  std::string name;
  Pods pods;
  std::size_t freed;
  std::size_t fewest;
};

ClusterBuilder cluster_of(const Pods& pods) {
  ClusterBuilder cluster;
  for (std::size_t i = 0; i < pods.size(); ++i) cluster.add(NodeBuilder(std::string(1, static_cast<char>('a' + i))));
  for (const auto& on_node : pods) {
    for (const PodBuilder& each : on_node) cluster.add(each);
  }
  return cluster;
}

class FewestMovesTest : public testing::TestWithParam<MovesCase> {};

TEST_P(FewestMovesTest, FreeTheExpectedNodes) {
  const DefragmentationGround ground(cluster_of(GetParam().pods));
  const auto fewest = strategies::fewest_moves(ground.problem(), [] { return false; });
  ASSERT_LT(GetParam().freed, fewest.size());
  EXPECT_EQ(fewest[GetParam().freed], GetParam().fewest);
}

INSTANTIATE_TEST_SUITE_P(
    Moves, FewestMovesTest,
    testing::Values(
        MovesCase{"AllPodsOfTheLightestNodes",
                  {pods_on("a", {100, 100}), pods_on("b", {100}), pods_on("c", {100, 100, 100})},
                  2,
                  3},
        MovesCase{"RepellingPodsThatFindRoom",
                  {{lone("a", "a", 1000)}, {lone("b", "b", 1000)}, pods_on("c", {1000, 1000})},
                  1,
                  1},
        MovesCase{"RepellingPodsThatAnotherMakesRoomFor",
                  {{lone("a", "a", 1000)}, {lone("b", "b", 1000)}, pods_on("c", {1000, 1000, 1000, 900})},
                  1,
                  2},
        MovesCase{
            "RepellingPodsThatTwoMakeRoomFor",
            {{lone("a", "a", 1000)}, {lone("b", "b", 1000)}, pods_on("c", {500, 500, 500, 500, 500, 500, 500, 400})},
            1,
            3},
        MovesCase{"OnlyTheSecondNeedsRoom",
                  {{lone("a", "a", 1000)},
                   {lone("b", "b", 1000)},
                   pods_on("c", {1000, 1000}),
                   pods_on("d", {1000, 1000, 1000, 900}),
                   {lone("e", "e", 1000), pod("e1", "e", 1000), pod("e2", "e", 1000)}},
                  2,
                  3},
        // One pod of 500m fits elsewhere, and its node is freed.
        MovesCase{"TheSmallOneFindsRoom",
                  {{lone("a", "a", 500)}, {lone("b", "b", 1000)}, pods_on("c", {1000, 1000, 1000, 400})},
                  1,
                  1},
        MovesCase{"PodsOfOneHostPort",
                  {{with_port("a", "a", 1000)}, {with_port("b", "b", 1000)}, pods_on("c", {1000, 1000, 1000, 900})},
                  1,
                  2}),
    [](const auto& test) { return test.param.name; });

struct Search {
  strategies::DefragmentationPlan plan;
  std::size_t looks = 0;  ///< Number of calls of should_stop()
};

Search search(const DefragmentationGround& ground, const std::vector<std::size_t>& fewest_moves) {
  Search found;
  const strategies::Capacities capacities(ground.problem());
  strategies::SearchLimits limits{.max_freed = 3, .fewest_moves = fewest_moves};
  limits.should_stop = [&] {
    ++found.looks;
    return false;
  };
  strategies::SearchBudget budget(1'000'000'000, limits.should_stop);
  const auto origin = ground.try_placements();
  found.plan =
      strategies::DefragmentationSearch(ground.problem(), capacities, origin.get(), false, limits, budget, 1).run();
  return found;
}

TEST(FewestMoves, EndTheSearchThatReachesThem) {
  Pods pods;
  for (const char* node : {"a", "b", "c"}) pods.push_back(pods_on(node, {1000, 1000, 1000, 1000}));
  for (const char* node : {"d", "e", "f", "g"}) pods.push_back({lone(node, node, 1000)});
  const DefragmentationGround ground(cluster_of(pods));
  const auto fewest = strategies::fewest_moves(ground.problem(), [] { return false; });
  EXPECT_EQ(fewest.at(3), 6U);
  const Search with = search(ground, fewest);
  const Search without = search(ground, {});
  EXPECT_EQ(with.plan.emptied.size(), 3U);
  EXPECT_EQ(with.plan.moves.size(), 6U);
  EXPECT_EQ(with.plan.waves(), without.plan.waves());
  EXPECT_LT(with.looks * 4, without.looks);
}

}  // namespace fewest_moves_test
}  // namespace planner
