/// A strategy that empties nodes gets all pods of a node or none, for every reason of a refusal.

#include <gmock/gmock.h>

#include "planner/plan/planner.hpp"
#include "test/builders/cluster.hpp"

namespace whole_nodes_test {

using builders::ClusterBuilder;
using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

struct WholeNodeCase {
  const char* name;
  std::function<void(ClusterBuilder&, api::DeschedulerPolicySpec&)> edit;
  std::vector<std::string> want;  ///< Pods that move, sorted
  const char* refused = nullptr;  ///< Reason that must be among the refusals
};

class WholeNode : public testing::TestWithParam<WholeNodeCase> {};

/// Pod with its own owner, so that no topology spread applies.
PodBuilder single(const std::string& name) { return PodBuilder(name).owned_by("ReplicaSet", name); }

/// "sparse" runs a, b and c and can be emptied onto "busy".
TEST_P(WholeNode, IsEmptiedOrLeftAlone) {
  ClusterBuilder builder;
  api::DeschedulerPolicySpec spec;
  spec.strategies = {{"HighNodeUtilization", R"({"thresholds":{"cpu":40}})"}};
  builder.add(NodeBuilder("busy").sized(4000, 8000, 110)).add(NodeBuilder("sparse").sized(4000, 8000, 110));
  builder.add(single("rest").on("busy").cpu(2000).memory(4000));
  for (const char* name : {"a", "b", "c"})
    builder.add(single(name).on("sparse").cpu(200).memory(400).label("app", name));
  GetParam().edit(builder, spec);
  const auto cluster = builder.build();
  const planner::Plan plan =
      planner::plan_cycle({.spec = planner::PlanSpec(spec), .cluster = *cluster, .leaving = {}, .now = kNoon});
  std::vector<std::string> moved;
  for (const auto& move : plan.moves) moved.push_back(move.pod);
  std::ranges::sort(moved);
  EXPECT_EQ(moved, GetParam().want);
  EXPECT_EQ(plan.strategies.at(0).nominated, static_cast<int>(moved.size()));
  const auto is_named = [&](const api::ReasonCount& each) { return each.reason == GetParam().refused; };
  if (GetParam().refused) {
    EXPECT_TRUE(std::ranges::any_of(plan.refused, is_named));
  }
}

constexpr auto kOnlyThresholds = R"({"thresholds":{"cpu":40},"evictionModes":["OnlyThresholdingResources"]})";
const std::vector<std::string> kAll = {"a", "b", "c"};

INSTANTIATE_TEST_SUITE_P(
    Plans, WholeNode,
    testing::Values(
        WholeNodeCase{"AllMayGo", [](auto&, auto&) {}, kAll},
        WholeNodeCase{"AnEvictionModeKeepsOne",
                      [](auto& builder, auto& spec) {
                        builder.add(PodBuilder("idle").on("sparse").memory(1));
                        spec.strategies = {{"HighNodeUtilization", kOnlyThresholds}};
                      },
                      {},
                      "NodeCannotBeEmptied"},
        WholeNodeCase{"AnEvictionModeKeepsNone",
                      [](auto&, auto& spec) {
                        spec.strategies = {{"HighNodeUtilization", kOnlyThresholds}};
                      },
                      kAll},
        WholeNodeCase{"TheTotalIsJustEnough", [](auto&, auto& spec) { spec.limits.per_cycle.total = 3; }, kAll},
        WholeNodeCase{
            "TheTotalIsOneShort", [](auto&, auto& spec) { spec.limits.per_cycle.total = 2; }, {}, "TotalLimit"},
        WholeNodeCase{
            "TheNodesLimitIsOneShort", [](auto&, auto& spec) { spec.limits.per_cycle.per_node = 2; }, {}, "NodeLimit"},
        WholeNodeCase{"TheNamespacesLimitIsOneShort",
                      [](auto&, auto& spec) { spec.limits.per_cycle.per_namespace = 2; },
                      {},
                      "NamespaceLimit"},
        WholeNodeCase{"ABudgetHoldsTheLast",
                      [](auto& builder, auto&) { builder.add(builders::pdb("holds", "c", 0)); },
                      {},
                      "PDBWouldBlock"},
        // The spread of replicas over nodes outweighs packing for the scheduler.
        WholeNodeCase{"TheSchedulerWouldPutOneBack",
                      [](auto& builder, auto&) {
                        builder.add(single("c-2").on("busy").cpu(1).memory(1).owned_by("ReplicaSet", "c"));
                      },
                      {},
                      "SchedulerDisagrees"},
        WholeNodeCase{"AGroupTakesAPodOfAnotherNodeAlong",
                      [](auto& builder, auto&) {
                        builder.add(NodeBuilder("other").sized(4000, 8000, 110));
                        builder.add(single("full").on("other").cpu(1900).memory(3800));
                        for (const auto& [name, node] : {std::pair{"d", "sparse"}, {"e", "sparse"}, {"f", "other"}}) {
                          builder.add(
                              single(name).on(node).cpu(100).memory(200).annotate("evacuator.dev/group", "trio"));
                        }
                      },
                      {"a", "b", "c", "d", "e", "f"}},
        WholeNodeCase{"AGroupIsHeldElsewhere",
                      [](auto& builder, auto&) {
                        builder.add(single("d").on("sparse").cpu(100).annotate("evacuator.dev/group", "duo"));
                        builder.add(single("e")
                                        .on("busy")
                                        .cpu(100)
                                        .annotate("evacuator.dev/group", "duo")
                                        .annotate("descheduler.alpha.kubernetes.io/evict", "false"));
                      },
                      {},
                      "GroupMemberStays"}),
    [](const auto& test) { return test.param.name; });

}  // namespace whole_nodes_test
