#include "planner/strategies/defragmentation/bound/bound.hpp"

#include <gmock/gmock.h>

#include "test/unit/planner/strategies/defragmentation/small_problem.hpp"

namespace strategies {
namespace bound_test {

using builders::NodeBuilder;
using builders::PodBuilder;

struct LowerBoundCase {
  std::string name;
  std::vector<NodeBuilder> nodes;
  std::vector<PodBuilder> pods;
  std::size_t busy;
  std::size_t needed;
  std::string reason;
  bool is_stopped = false;
};

class LowerBoundTest : public testing::TestWithParam<LowerBoundCase> {};

TEST_P(LowerBoundTest, NeedsTheseNodes) {
  const LowerBoundCase& each = GetParam();
  const SmallProblem problem(cluster_of(each.nodes, each.pods));
  const LowerBound bound = lower_bound_of(*problem, [&] { return each.is_stopped; });
  EXPECT_EQ(bound.busy, each.busy);
  EXPECT_EQ(bound.needed, each.needed);
  EXPECT_EQ(bound.max_freed(), each.busy - each.needed);
  EXPECT_EQ(bound.reason, each.reason);
}

const std::vector<NodeBuilder> kThree = {NodeBuilder("a"), NodeBuilder("b"), NodeBuilder("c")};

/// Nodes with capacity for two pods each.
std::vector<NodeBuilder> of_two_pods() {
  std::vector<NodeBuilder> nodes;
  for (const char* name : {"a", "b", "c"}) nodes.push_back(NodeBuilder(name).sized(4000, 4000, 2));
  return nodes;
}

INSTANTIATE_TEST_SUITE_P(
    Bounds, LowerBoundTest,
    testing::Values(
        LowerBoundCase{"NoneWithoutPods", kThree, {}, 0, 0, ""},
        LowerBoundCase{
            "Cpu", kThree, {pod("a1", "a", 2000), pod("b1", "b", 2000), pod("c1", "c", 1000)}, 3, 2, "requests of cpu"},
        LowerBoundCase{"Memory",
                       kThree,
                       {pod("a1", "a", 100, 2000), pod("b1", "b", 100, 2000), pod("c1", "c", 100, 1000)},
                       3,
                       2,
                       "requests of memory"},
        LowerBoundCase{"Pods",
                       of_two_pods(),
                       {pod("a1", "a", 100), pod("b1", "b", 100), pod("b2", "b", 100), pod("c1", "c", 100)},
                       3,
                       2,
                       "requests of pods"},
        // Five of 1500m need less than two nodes by their sum, but a node holds two of them.
        LowerBoundCase{"RemaindersThatNoPodFits",
                       kThree,
                       {pod("a1", "a", 1500), pod("a2", "a", 1500), pod("b1", "b", 1500), pod("b2", "b", 1500),
                        pod("c1", "c", 1500)},
                       3,
                       3,
                       "requests of cpu"},
        LowerBoundCase{"EmptyNodesAreNotBusy", kThree, {pod("a1", "a", 2000)}, 1, 1, "requests of cpu"},
        LowerBoundCase{"PodsThatMayNotLeave",
                       kThree,
                       {pod("a1", "a", 100).bare(), pod("b1", "b", 100).bare(), pod("c1", "c", 100)},
                       3,
                       2,
                       "2 nodes with pods that may not leave"},
        LowerBoundCase{"MoreThanTheHeldNodesHold",
                       kThree,
                       {pod("a1", "a", 100).bare(), pod("b1", "b", 2500), pod("c1", "c", 2500)},
                       3,
                       2,
                       "requests of cpu"},
        LowerBoundCase{"RepellingPods",
                       kThree,
                       {lone("a1", "a", 100), lone("b1", "b", 100), lone("c1", "c", 100)},
                       3,
                       3,
                       "3 pods with anti-affinity against each other, such as default/a1"},
        LowerBoundCase{"PodsOfOneHostPort",
                       kThree,
                       {with_port("a1", "a", 80), with_port("b1", "b", 80), with_port("c1", "c", 81)},
                       3,
                       2,
                       "2 pods with host port 80"},
        LowerBoundCase{"PodsOfOneZone",
                       {NodeBuilder("a").sized(1000, 4000, 10).label("zone", "z"), NodeBuilder("b"), NodeBuilder("c")},
                       {bound_to("z", pod("a1", "a", 500)), pod("b1", "b", 2000), pod("c1", "c", 1500)},
                       3,
                       2,
                       "requests of pods that can run on some nodes only"},
        LowerBoundCase{"PodsOfTwoZones",
                       {NodeBuilder("a").label("zone", "y"), NodeBuilder("b").label("zone", "z"), NodeBuilder("c")},
                       {bound_to("y", pod("a1", "a", 500)), bound_to("z", pod("b1", "b", 500)), pod("c1", "c", 500)},
                       3,
                       2,
                       "requests of pods that can run on some nodes only"},
        LowerBoundCase{"OnlyHeldNodesOnceStopped",
                       kThree,
                       {pod("a1", "a", 100).bare(), pod("b1", "b", 3000), pod("c1", "c", 3000)},
                       3,
                       1,
                       "1 nodes with pods that may not leave",
                       true}),
    [](const auto& test) { return test.param.name; });

}  // namespace bound_test
}  // namespace strategies
