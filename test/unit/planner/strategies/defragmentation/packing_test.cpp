#include "planner/strategies/defragmentation/packing.hpp"

#include <gmock/gmock.h>

#include "test/unit/planner/strategies/defragmentation/small_problem.hpp"

namespace strategies {
namespace packing_test {

using builders::NodeBuilder;
using builders::PodBuilder;
using testing::ElementsAre;
using testing::IsEmpty;

/// Packing of the pods of node "a", which takes none. The other nodes take pods.
class Packer {
 public:
  Packer(const std::vector<NodeBuilder>& nodes, const std::vector<PodBuilder>& pods, PackingStyle style = {},
         Defragmentation rules = {})
      : problem_(cluster_of(nodes, pods), std::move(rules)),
        packing_(*problem_, problem_->cluster(), all_but_a(), WorkloadCounts(*problem_), style, budget_, rng_) {}

  bool place(const std::vector<std::string>& names) {
    std::vector<PodIndex> pods;
    for (const std::string& name : names) pods.push_back(problem_.pod(name));
    return packing_.place_all(pods);
  }
  void open(const std::string& node) { packing_.open(problem_.node(node)); }
  std::string stuck() const { return problem_.name_of(packing_.stuck()); }
  std::optional<std::size_t> last_that_fits(const std::string& pod, const std::vector<std::string>& nodes) const {
    std::vector<NodeIndex> numbers;
    for (const std::string& node : nodes) numbers.push_back(problem_.node(node));
    return packing_.last_that_fits(problem_.pod(pod), numbers);
  }
  /// Returns "pod from > to" for each move, with a "*" if it needs a gap.
  std::vector<std::string> moves() const {
    std::vector<std::string> texts;
    for (const PackedMove& move : packing_.moves()) {
      texts.push_back(problem_.name_of(move.pod) + " " + problem_.name_of_node(move.from) + " > " +
                      problem_.name_of_node(move.to) + (move.needs_gap ? "*" : ""));
    }
    return texts;
  }

 private:
  std::vector<bool> all_but_a() const {
    std::vector<bool> takes = problem_.only({});
    for (const NodeIndex node : problem_->taking()) takes[node] = node != problem_.node("a");
    return takes;
  }

  SmallProblem problem_;
  SearchBudget budget_{1'000'000, {}};
  Rng rng_{1};
  Packing packing_;
};

struct PackingCase {
  std::string name;
  std::vector<NodeBuilder> nodes;
  std::vector<PodBuilder> pods;
  std::vector<std::string> placed;
  std::vector<std::string> moves;  ///< Empty if the pods cannot be placed
  PackingStyle style = {};
  Defragmentation rules = {};
};

class PackingTest : public testing::TestWithParam<PackingCase> {};

TEST_P(PackingTest, MakesTheseMoves) {
  const PackingCase& each = GetParam();
  Packer packer(each.nodes, each.pods, each.style, each.rules);
  EXPECT_EQ(packer.place(each.placed), !each.moves.empty());
  EXPECT_EQ(packer.moves(), each.moves);
}

const std::vector<NodeBuilder> kThree = {NodeBuilder("a"), NodeBuilder("b"), NodeBuilder("c")};
const std::vector<NodeBuilder> kFour = {NodeBuilder("a"), NodeBuilder("b").label("zone", "z"), NodeBuilder("c"),
                                        NodeBuilder("d")};

/// "a1" fits on no other node. If b2 goes to "c", there is room for it on "b".
const std::vector<PodBuilder> kSwap = {pod("a1", "a", 2000), pod("b1", "b", 2000), pod("b2", "b", 1500),
                                       pod("c1", "c", 2500)};
/// "a1" may only run on "b", in place of b1, which fits only on "c", in place of c1, which fits on "d".
const std::vector<PodBuilder> kChain = {bound_to("z", pod("a1", "a", 2500)),
                                        pod("b1", "b", 2500),
                                        pod("b2", "b", 1500),
                                        pod("c1", "c", 2000),
                                        pod("c2", "c", 1000),
                                        pod("d1", "d", 2000)};

Defragmentation with_headroom(double percent) {
  Defragmentation rules;
  rules.headroom = {{"cpu", percent}};
  return rules;
}
Defragmentation with_limit(std::int32_t per_workload) {
  Defragmentation rules;
  rules.per_workload = api::IntOrPercent{per_workload, false};
  return rules;
}

INSTANTIATE_TEST_SUITE_P(
    Pods, PackingTest,
    testing::Values(
        PackingCase{"GoToTheFullestNodeThatFits",
                    kThree,
                    {pod("a1", "a", 500), pod("b1", "b", 1000), pod("c1", "c", 3000)},
                    {"a1"},
                    {"a1 a > c"}},
        PackingCase{"SkipANodeThatIsTooFull",
                    kThree,
                    {pod("a1", "a", 1500), pod("b1", "b", 1000), pod("c1", "c", 3000)},
                    {"a1"},
                    {"a1 a > b"}},
        PackingCase{"CountEarlierArrivals",
                    kThree,
                    {pod("a1", "a", 600), pod("a2", "a", 600), pod("b1", "b", 1000), pod("c1", "c", 3000)},
                    {"a1", "a2"},
                    {"a1 a > c", "a2 a > b"}},
        PackingCase{"NeedAllTheirResources",
                    {NodeBuilder("a").offer("example.com/gpu", 1), NodeBuilder("b"),
                     NodeBuilder("c").offer("example.com/gpu", 1)},
                    {pod("a1", "a", 100).request("example.com/gpu", 1000), pod("b1", "b", 3000)},
                    {"a1"},
                    {"a1 a > c"}},
        PackingCase{"NeedAPlaceAmongThePodsOfTheNode",
                    {NodeBuilder("a"), NodeBuilder("b").sized(4000, 4000, 1), NodeBuilder("c")},
                    {pod("a1", "a", 100), pod("b1", "b", 3000)},
                    {"a1"},
                    {"a1 a > c"}},
        PackingCase{"TakeThePlaceOfOneThatFitsElsewhere", kThree, kSwap, {"a1"}, {"b2 b > c", "a1 a > b*"}},
        PackingCase{"TakeNoPlaceWithoutDepth", kThree, kSwap, {"a1"}, {}, {.depth = 0}},
        PackingCase{"MakeRoomForOneAnotherInAChain", kFour, kChain, {"a1"}, {"c1 c > d", "b1 b > c*", "a1 a > b*"}},
        PackingCase{"MakeNoChainBeyondTheDepth", kFour, kChain, {"a1"}, {}, {.depth = 1}},
        PackingCase{"LeaveHeadroom",
                    kThree,
                    {pod("a1", "a", 500), pod("b1", "b", 2000), pod("c1", "c", 3000)},
                    {"a1"},
                    {"a1 a > b"},
                    {},
                    with_headroom(25)},
        PackingCase{"DoNotMoveBeyondTheLimitOfTheirWorkload",
                    kThree,
                    {pod("a1", "a", 500), pod("a2", "a", 500)},
                    {"a1", "a2"},
                    {},
                    {},
                    with_limit(1)},
        PackingCase{"MoveUpToTheLimitOfTheirWorkload",
                    kThree,
                    {pod("a1", "a", 500), pod("a2", "a", 500)},
                    {"a1", "a2"},
                    {"a1 a > b", "a2 a > b"},
                    {},
                    with_limit(2)},
        PackingCase{"DoNotTakeThePlaceOfOneThatMayNotLeave",
                    kThree,
                    {pod("a1", "a", 2000), pod("b1", "b", 2000), pod("b2", "b", 1500).bare(), pod("c1", "c", 2500)},
                    {"a1"},
                    {},
                    {.depth = 1}}),
    [](const auto& test) { return test.param.name; });

TEST(Packing, PlacesAllPodsOrNone) {
  Packer packer(kThree, {pod("a1", "a", 1000), pod("a2", "a", 3000), pod("b1", "b", 2000), pod("c1", "c", 3000)});
  EXPECT_FALSE(packer.place({"a1", "a2"}));
  EXPECT_EQ(packer.stuck(), "a2");
  EXPECT_THAT(packer.moves(), IsEmpty());
  EXPECT_TRUE(packer.place({"a1"})) << "its place is free again";
  EXPECT_THAT(packer.moves(), ElementsAre("a1 a > c"));
}

TEST(Packing, UsesANodeOnceItIsOpen) {
  Packer packer({NodeBuilder("a"), NodeBuilder("b"), NodeBuilder("c").cordoned()},
                {pod("b1", "b", 2000), pod("b2", "b", 2000)});
  EXPECT_FALSE(packer.place({"b1"}));
  packer.open("a");
  EXPECT_TRUE(packer.place({"b1"}));
  EXPECT_THAT(packer.moves(), ElementsAre("b1 b > a"));
}

TEST(Packing, FindsTheLastNodeThatFits) {
  const Packer packer(kFour, {pod("a1", "a", 1500), pod("b1", "b", 1000), pod("c1", "c", 1000), pod("d1", "d", 3000)});
  EXPECT_EQ(packer.last_that_fits("a1", {"b", "c", "d"}), 1U);
  EXPECT_EQ(packer.last_that_fits("a1", {"c", "b"}), 1U);
  EXPECT_FALSE(packer.last_that_fits("a1", {"d"}));
  EXPECT_FALSE(packer.last_that_fits("a1", {}));
}

}  // namespace packing_test
}  // namespace strategies
