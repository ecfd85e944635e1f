/// Capacities, and the nodes that can be emptied as far as sums of capacity are concerned.

#include <gmock/gmock.h>

#include "planner/strategies/defragmentation/node_choice.hpp"
#include "test/unit/planner/strategies/defragmentation/small_problem.hpp"

namespace strategies {
namespace capacities_test {

using builders::NodeBuilder;
using builders::PodBuilder;

/// "small" has half of the average cpu, "large" one and a half times as much. Both have the average memory.
const std::vector<NodeBuilder> kUnlike = {NodeBuilder("small").sized(2000, 4000, 10),
                                          NodeBuilder("large").sized(6000, 4000, 10)};

struct WorthCase {
  std::string name;
  CapacityWorth worth;
  double small;
  double large;
};

class WorthTest : public testing::TestWithParam<WorthCase> {};

TEST_P(WorthTest, IsInAverageNodes) {
  const SmallProblem problem(cluster_of(kUnlike, {}));
  const Capacities capacities(*problem);
  EXPECT_DOUBLE_EQ(capacities.worth_of(problem.node("small"), GetParam().worth), GetParam().small);
  EXPECT_DOUBLE_EQ(capacities.worth_of(problem.node("large"), GetParam().worth), GetParam().large);
}

INSTANTIATE_TEST_SUITE_P(Worths, WorthTest,
                         testing::Values(WorthCase{"ByCpu", worth_of_mix(1), 0.5, 1.5},
                                         WorthCase{"ByMemory", worth_of_mix(0), 1, 1},
                                         WorthCase{"ByBoth", worth_of_mix(0.5), 0.75, 1.25},
                                         WorthCase{"ByPods", kWorthOfPods, 1, 1},
                                         WorthCase{"ByTheLargerShare", {}, 1, 1.5}),
                         [](const auto& test) { return test.param.name; });

struct DifferCase {
  std::string name;
  NodeBuilder other;
  bool want;
};

class DifferTest : public testing::TestWithParam<DifferCase> {};

TEST_P(DifferTest, ComparesNodesOf4Cpu4000BytesAnd10Pods) {
  const SmallProblem problem(cluster_of({NodeBuilder("a"), GetParam().other}, {}));
  EXPECT_EQ(Capacities(*problem).differ(), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Nodes, DifferTest,
                         testing::Values(DifferCase{"Equal", NodeBuilder("b"), false},
                                         DifferCase{"Nearly", NodeBuilder("b").sized(4200, 4000, 10), false},
                                         DifferCase{"InCpu", NodeBuilder("b").sized(5000, 4000, 10), true},
                                         DifferCase{"InMemory", NodeBuilder("b").sized(4000, 3000, 10), true},
                                         DifferCase{"InPods", NodeBuilder("b").sized(4000, 4000, 20), true}),
                         [](const auto& test) { return test.param.name; });

struct SumsCase {
  std::string name;
  std::vector<NodeBuilder> nodes;
  std::vector<PodBuilder> pods;
  std::vector<std::string> emptied;
  std::size_t most;  ///< of `emptied`, from the front
};

class SumsTest : public testing::TestWithParam<SumsCase> {};

TEST_P(SumsTest, CountTheNodesThatCanGo) {
  const SumsCase& each = GetParam();
  const SmallProblem problem(cluster_of(each.nodes, each.pods));
  const Capacities capacities(*problem);
  std::vector<NodeIndex> nodes;
  for (const std::string& name : each.emptied) nodes.push_back(problem.node(name));
  EXPECT_EQ(capacities.most_of(nodes), each.most);
  EXPECT_EQ(capacities.suffices_without(problem.only(each.emptied)), each.most == each.emptied.size());
}

INSTANTIATE_TEST_SUITE_P(Sums, SumsTest,
                         testing::Values(SumsCase{"One",
                                                  {NodeBuilder("a"), NodeBuilder("b"), NodeBuilder("c")},
                                                  {pod("a1", "a", 1500), pod("b1", "b", 2000), pod("c1", "c", 2500)},
                                                  {"a"},
                                                  1},
                                         SumsCase{"OneOfTwo",
                                                  {NodeBuilder("a"), NodeBuilder("b"), NodeBuilder("c")},
                                                  {pod("a1", "a", 1500), pod("b1", "b", 2000), pod("c1", "c", 2500)},
                                                  {"a", "b"},
                                                  1},
                                         SumsCase{"NoneOfFullNodes",
                                                  {NodeBuilder("a"), NodeBuilder("b")},
                                                  {pod("a1", "a", 4000), pod("b1", "b", 4000)},
                                                  {"a"},
                                                  0},
                                         SumsCase{"OneThatFitsExactly",
                                                  {NodeBuilder("a"), NodeBuilder("b")},
                                                  {pod("a1", "a", 1000), pod("b1", "b", 3000)},
                                                  {"a"},
                                                  1},
                                         SumsCase{"NoneThatLacksMemory",
                                                  {NodeBuilder("a"), NodeBuilder("b")},
                                                  {pod("a1", "a", 100, 1001), pod("b1", "b", 100, 3000)},
                                                  {"a"},
                                                  0},
                                         SumsCase{"NoneThatLacksPods",
                                                  {NodeBuilder("a"), NodeBuilder("b").sized(4000, 4000, 1)},
                                                  {pod("a1", "a", 100), pod("b1", "b", 100)},
                                                  {"a"},
                                                  0},
                                         SumsCase{"ACordonedOneWhoseCapacityIsOfNoUse",
                                                  {NodeBuilder("a").cordoned(), NodeBuilder("b")},
                                                  {pod("a1", "a", 1000), pod("b1", "b", 3000)},
                                                  {"a"},
                                                  1},
                                         SumsCase{"NoneForACordonedOne",
                                                  {NodeBuilder("a").cordoned(), NodeBuilder("b")},
                                                  {pod("a1", "a", 1001), pod("b1", "b", 3000)},
                                                  {"a"},
                                                  0},
                                         SumsCase{"OneBesideAnOvercommittedNode",
                                                  {NodeBuilder("a"), NodeBuilder("b"), NodeBuilder("c")},
                                                  {pod("a1", "a", 1000), pod("b1", "b", 6000), pod("c1", "c", 3000)},
                                                  {"a"},
                                                  1}),
                         [](const auto& test) { return test.param.name; });

}  // namespace capacities_test
}  // namespace strategies
