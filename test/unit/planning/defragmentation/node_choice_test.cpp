/// Defragmentation: which nodes are emptied first, and where a packing puts pods, one decision at a time.

#include <gmock/gmock.h>

#include "planning/plan_builder.hpp"
#include "strategies/defragmentation/node_choice.hpp"
#include "strategies/defragmentation/packing.hpp"
#include "test/builders/cluster.hpp"

namespace planning {
namespace node_choice_test {

using builders::ClusterBuilder;
using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;
using testing::ElementsAre;
using testing::IsEmpty;

/// Everything that a search decides on.
class Ground {
 public:
  explicit Ground(const ClusterBuilder& cluster)
      : cluster_(cluster.build()),
        nodes_(cluster_->nodes().begin(), cluster_->nodes().end()),
        evictability_(spec_.evictability, *cluster_, kNoon, errors_, spec_.compatibility),
        builder_(input_, evictability_, nodes_, plan_) {
    builder_.begin("Defragmentation");
  }

  const strategies::DefragmentationProblem& problem() const { return problem_; }
  scheduling::NodeIndex node(std::string_view name) const { return cluster_->find_node(name).value(); }

  std::vector<std::string> chosen(std::size_t most_moves = SIZE_MAX) {
    const strategies::Capacities capacities(problem_);
    return names_of(strategies::choose_nodes(problem_, capacities, most_moves, budget_, chance_));
  }

  /// "pod > node" for each move that empties the node; nothing: it does not work.
  std::vector<std::string> packed(std::string_view emptied, strategies::PackingStyle style) {
    std::vector<bool> takes(cluster_->node_count(), true);
    takes[node(emptied)] = false;
    strategies::Packing packing(problem_, problem_.cluster(), takes, strategies::WorkloadCounts(problem_), style,
                                budget_, chance_);
    if (!packing.place_all(problem_.pods_on(node(emptied)))) return {};
    std::vector<std::string> moves;
    for (const strategies::PackedMove& move : packing.moves())
      moves.push_back(cluster_->pod(move.pod).meta.name + " > " + cluster_->node(move.to).meta.name);
    return moves;
  }

 private:
  std::vector<std::string> names_of(const std::vector<bool>& nodes) const {
    std::vector<std::string> names;
    for (scheduling::NodeIndex i = 0; i < nodes.size(); ++i) {
      if (nodes[i]) names.push_back(cluster_->node(i).meta.name);
    }
    return names;
  }

  std::unique_ptr<const scheduling::ClusterSnapshot> cluster_;
  std::vector<scheduling::NodeIndex> nodes_;
  PlanSpec spec_{api::DeschedulerPolicySpec{}};
  PlanInput input_{.spec = spec_,
                   .cluster = *cluster_,
                   .leaving = {},
                   .now = kNoon,
                   .options = {.spend_pdbs = false, .taint_value = "p"}};
  api::FieldErrors errors_;
  scheduling::EvictabilityRules evictability_;
  Plan plan_;
  PlanBuilder builder_;
  strategies::StrategyContext context_{builder_.overlay(), nodes_, evictability_, kNoon};
  strategies::DefragmentationRules rules_;
  strategies::DefragmentationProblem problem_{context_, builder_, rules_};
  strategies::SearchBudget budget_{1'000'000'000, {}};
  strategies::Chance chance_{1};
};

PodBuilder pod(const std::string& name, const std::string& node, std::int64_t cpu, std::int64_t memory = 0) {
  PodBuilder built = PodBuilder(name).on(node).cpu(cpu);
  return memory > 0 ? built.memory(memory) : built;
}

/// Nodes "a", "b" and "c", and what runs on each.
struct ChoiceCase {
  std::string name;
  std::vector<NodeBuilder> nodes;
  std::vector<PodBuilder> pods;
  std::vector<std::string> chosen;
};

class NodeChoiceTest : public testing::TestWithParam<ChoiceCase> {};

TEST_P(NodeChoiceTest, EmptiesTheseFirst) {
  ClusterBuilder cluster;
  for (const NodeBuilder& node : GetParam().nodes) cluster.add(node);
  for (const PodBuilder& each : GetParam().pods) cluster.add(each);
  EXPECT_EQ(Ground(cluster).chosen(), GetParam().chosen);
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
                    // The large one has the least to move, but holds what the two small ones have.
                    ChoiceCase{"TheSmallOnesWhereMoreCanGoThatWay",
                               {sized("a", 8000, 8000), sized("b", 3000, 3000), sized("c", 3000, 3000)},
                               {pod("a1", "a", 100), pod("b1", "b", 2500), pod("b2", "b", 100), pod("c1", "c", 2500)},
                               {"b", "c"}},
                    // By cpu "a" is the smallest, by memory the largest, and memory is what is asked for.
                    ChoiceCase{"ByWhatIsScarce",
                               {sized("a", 3000, 8000), sized("b", 8000, 3000), sized("c", 8000, 3000)},
                               {pod("a1", "a", 100, 500), pod("b1", "b", 100, 2500), pod("b2", "b", 100, 100),
                                pod("c1", "c", 100, 2500)},
                               {"b", "c"}},
                    // Alike but for the number of pods that they take.
                    ChoiceCase{"ByTheNumberOfPods",
                               {sized("a", 4000, 4000, 8), sized("b", 4000, 4000, 3), sized("c", 4000, 4000, 3)},
                               {pod("a1", "a", 50), pod("b1", "b", 50), pod("b2", "b", 50), pod("b3", "b", 50),
                                pod("c1", "c", 50), pod("c2", "c", 50), pod("c3", "c", 50)},
                               {"b", "c"}}),
    [](const auto& info) { return info.param.name; });

TEST(NodeChoice, StopsWhereThereAreNoMovesLeft) {
  ClusterBuilder cluster;
  for (const char* name : {"a", "b", "c"}) cluster.add(NodeBuilder(name));
  cluster.add(pod("a1", "a", 1500)).add(pod("b1", "b", 1000)).add(pod("c1", "c", 1200));
  EXPECT_THAT(Ground(cluster).chosen(1), ElementsAre("b"));
  EXPECT_THAT(Ground(cluster).chosen(0), IsEmpty());
}

/// "even" has as much of both left and is nearly full; the others have much of one left.
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

TEST_P(PackingByShapeTest, GoesWhereWhatIsLeftGetsTheMostAlike) {
  const ShapeCase& each = GetParam();
  EXPECT_THAT(Ground(unlike_rests(each.cpu, each.memory)).packed("from", {.by_shape = each.by_shape}),
              ElementsAre("moves > " + each.to));
}

INSTANTIATE_TEST_SUITE_P(Shapes, PackingByShapeTest,
                         testing::Values(ShapeCase{"MuchCpu", 1900, 200, true, "cpu"},
                                         ShapeCase{"MuchMemory", 200, 2000, true, "memory"},
                                         ShapeCase{"MuchCpuWithoutALookAtTheShape", 1900, 200, false, "memory"},
                                         ShapeCase{"BothAlikeSoWhereTheLeastIsLeft", 1000, 1000, true, "memory"}),
                         [](const auto& info) { return info.param.name; });

TEST(UnlikePods, AreThoseThatAskForMuchMoreCpuForEachByte) {
  EXPECT_TRUE(Ground(unlike_rests(1900, 200)).problem().has_unlike_pods());
  ClusterBuilder alike;
  alike.add(NodeBuilder("n1")).add(pod("a", "n1", 1000, 1000)).add(pod("b", "n1", 1000, 500));
  EXPECT_FALSE(Ground(alike).problem().has_unlike_pods());
}

}  // namespace node_choice_test
}  // namespace planning
