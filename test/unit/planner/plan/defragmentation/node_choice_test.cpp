/// Defragmentation: order in which nodes are emptied and targets of a packing, one decision at a time.

#include <gmock/gmock.h>

#include "test/unit/planner/plan/defragmentation/ground.hpp"

namespace planner {
namespace node_choice_test {

using builders::ClusterBuilder;
using builders::NodeBuilder;
using builders::PodBuilder;
using testing::ElementsAre;
using testing::IsEmpty;

PodBuilder pod(const std::string& name, const std::string& node, std::int64_t cpu, std::int64_t memory = 0) {
  PodBuilder built = PodBuilder(name).on(node).cpu(cpu);
  return memory > 0 ? built.memory(memory) : built;
}

/// Nodes "a", "b" and "c" and their pods.
struct ChoiceCase {
  std::string name;
  std::vector<NodeBuilder> nodes;
  std::vector<PodBuilder> pods;
  std::vector<std::string> chosen;
};

class NodeChoiceTest : public testing::TestWithParam<ChoiceCase> {};

TEST_P(NodeChoiceTest, ChoosesTheExpectedNodes) {
  ClusterBuilder cluster;
  for (const NodeBuilder& node : GetParam().nodes) cluster.add(node);
  for (const PodBuilder& each : GetParam().pods) cluster.add(each);
  EXPECT_EQ(DefragmentationGround(cluster).chosen(), GetParam().chosen);
}

NodeBuilder sized(const std::string& name, std::int64_t cpu, std::int64_t memory, std::int64_t pods = 10) {
  return NodeBuilder(name).sized(cpu, memory, pods);
}

INSTANTIATE_TEST_SUITE_P(
    Choices, NodeChoiceTest,
    testing::Values(ChoiceCase{"TheOneWithTheLeastToMove",
                               {NodeBuilder("a"), NodeBuilder("b"), NodeBuilder("c")},
                               {pod("a1", "a", 3000), pod("b1", "b", 1000), pod("c1", "c", 3000)},
                               {"b"}},
                    ChoiceCase{"AsManyAsTheOthersHold",
                               {NodeBuilder("a"), NodeBuilder("b"), NodeBuilder("c")},
                               {pod("a1", "a", 1500), pod("b1", "b", 1000), pod("c1", "c", 1200)},
                               {"b", "c"}},
                    ChoiceCase{"NoneWhereAllAreFull",
                               {NodeBuilder("a"), NodeBuilder("b"), NodeBuilder("c")},
                               {pod("a1", "a", 4000), pod("b1", "b", 4000), pod("c1", "c", 4000)},
                               {}},
                    // Emptying "a" takes the fewest moves, but b1 and c1 need its capacity.
                    ChoiceCase{"TheSmallOnesWhereMoreCanGoThatWay",
                               {sized("a", 8000, 8000), sized("b", 3000, 3000), sized("c", 3000, 3000)},
                               {pod("a1", "a", 100), pod("b1", "b", 2500), pod("b2", "b", 100), pod("c1", "c", 2500)},
                               {"b", "c"}},
                    // By cpu, "a" is the smallest node, by memory the largest. Memory is the scarce resource.
                    ChoiceCase{"ByWhatIsScarce",
                               {sized("a", 3000, 8000), sized("b", 8000, 3000), sized("c", 8000, 3000)},
                               {pod("a1", "a", 100, 500), pod("b1", "b", 100, 2500), pod("b2", "b", 100, 100),
                                pod("c1", "c", 100, 2500)},
                               {"b", "c"}},
                    // Equal except for the maximum number of pods.
                    ChoiceCase{"ByTheNumberOfPods",
                               {sized("a", 4000, 4000, 8), sized("b", 4000, 4000, 3), sized("c", 4000, 4000, 3)},
                               {pod("a1", "a", 50), pod("b1", "b", 50), pod("b2", "b", 50), pod("b3", "b", 50),
                                pod("c1", "c", 50), pod("c2", "c", 50), pod("c3", "c", 50)},
                               {"b", "c"}}),
    [](const auto& test) { return test.param.name; });

TEST(NodeChoice, StopsIfNoMovesAreLeft) {
  ClusterBuilder cluster;
  for (const char* name : {"a", "b", "c"}) cluster.add(NodeBuilder(name));
  cluster.add(pod("a1", "a", 1500)).add(pod("b1", "b", 1000)).add(pod("c1", "c", 1200));
  EXPECT_THAT(DefragmentationGround(cluster).chosen(1), ElementsAre("b"));
  EXPECT_THAT(DefragmentationGround(cluster).chosen(0), IsEmpty());
}

/// "even" has equal amounts of both resources left and is nearly full. The other nodes have much of one resource left.
ClusterBuilder unlike_rests(std::int64_t cpu, std::int64_t memory) {
  ClusterBuilder cluster;
  for (const char* name : {"cpu", "even", "from", "memory"}) cluster.add(sized(name, 8000, 8000));
  cluster.add(pod("on-cpu", "cpu", 1000, 6000));
  cluster.add(pod("on-even", "even", 5500, 5500));
  cluster.add(pod("on-memory", "memory", 6050, 1000));
  cluster.add(pod("moves", "from", cpu, memory));
  return cluster;
}

struct ShapeCase {
  std::string name;
  std::int64_t cpu;
  std::int64_t memory;
  bool by_shape;
  std::string to;
};

class PackingByShapeTest : public testing::TestWithParam<ShapeCase> {};

TEST_P(PackingByShapeTest, PicksTheNodeWithTheMostEvenRemainder) {
  const ShapeCase& each = GetParam();
  EXPECT_THAT(DefragmentationGround(unlike_rests(each.cpu, each.memory)).packed("from", {.by_shape = each.by_shape}),
              ElementsAre("moves > " + each.to));
}

INSTANTIATE_TEST_SUITE_P(Shapes, PackingByShapeTest,
                         testing::Values(ShapeCase{"MuchCpu", 1900, 200, true, "cpu"},
                                         ShapeCase{"MuchMemory", 200, 2000, true, "memory"},
                                         ShapeCase{"MuchCpuWithoutALookAtTheShape", 1900, 200, false, "memory"},
                                         ShapeCase{"BothAlikeSoWhereTheLeastIsLeft", 1000, 1000, true, "memory"}),
                         [](const auto& test) { return test.param.name; });

TEST(UnlikePods, HaveAMuchHigherRatioOfCpuToMemory) {
  EXPECT_TRUE(DefragmentationGround(unlike_rests(1900, 200)).problem().has_unlike_pods());
  ClusterBuilder alike;
  alike.add(NodeBuilder("n1")).add(pod("a", "n1", 1000, 1000)).add(pod("b", "n1", 1000, 500));
  EXPECT_FALSE(DefragmentationGround(alike).problem().has_unlike_pods());
}

}  // namespace node_choice_test
}  // namespace planner
