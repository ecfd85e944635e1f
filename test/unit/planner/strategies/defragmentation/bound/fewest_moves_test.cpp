#include <gmock/gmock.h>

#include "planner/strategies/defragmentation/bound/bound.hpp"
#include "test/unit/planner/strategies/defragmentation/small_problem.hpp"

namespace strategies {
namespace fewest_moves_test {

using builders::NodeBuilder;
using builders::PodBuilder;

/// Nodes "a", "b" and "c" of 4 cpu each.
struct FewestCase {
  std::string name;
  std::vector<PodBuilder> pods;
  std::vector<std::size_t> fewest;  ///< by the number of freed nodes
  bool is_stopped = false;
};

class FewestMovesTest : public testing::TestWithParam<FewestCase> {};

TEST_P(FewestMovesTest, FreeTheNodes) {
  const FewestCase& each = GetParam();
  const SmallProblem problem(cluster_of({NodeBuilder("a"), NodeBuilder("b"), NodeBuilder("c")}, each.pods));
  EXPECT_EQ(fewest_moves(*problem, [&] { return each.is_stopped; }), each.fewest);
}

/// "c" takes one of the repelling pods once one of its own has left it.
const std::vector<PodBuilder> kRepelling = {lone("a1", "a", 1000), lone("b1", "b", 1000), pod("c1", "c", 1000),
                                            pod("c2", "c", 1000),  pod("c3", "c", 1000),  pod("c4", "c", 900)};

INSTANTIATE_TEST_SUITE_P(
    Moves, FewestMovesTest,
    testing::Values(
        FewestCase{"NoneWithoutPods", {}, {0}},
        FewestCase{"AllPodsOfTheLightestNodes",
                   {pod("a1", "a", 100), pod("a2", "a", 100), pod("b1", "b", 100), pod("c1", "c", 100),
                    pod("c2", "c", 100), pod("c3", "c", 100)},
                   {0, 1, 3, 6}},
        FewestCase{"NoPodsOfHeldNodes",
                   {pod("a1", "a", 100).bare(), pod("b1", "b", 100), pod("c1", "c", 100), pod("c2", "c", 100)},
                   {0, 1, 3}},
        FewestCase{"NoMoreWhereTheRepellingPodFits",
                   {lone("a1", "a", 1000), lone("b1", "b", 1000), pod("c1", "c", 1000), pod("c2", "c", 1000)},
                   // Two repelling pods cannot share the third node: never counts as 12 departures.
                   {0, 1, 14, 28}},
        FewestCase{"OneMoreToMakeRoomForARepellingPod", kRepelling, {0, 2, 15, 30}},
        FewestCase{"NoRoomOnceStopped", kRepelling, {0, 1, 2, 6}, true}),
    [](const auto& test) { return test.param.name; });

}  // namespace fewest_moves_test
}  // namespace strategies
