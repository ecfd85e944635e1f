#include "planner/plan/pod_groups.hpp"

#include <gmock/gmock.h>

#include "planner/plan/planner.hpp"
#include "test/builders/cluster.hpp"

/// A plan takes all pods of a PodGroup or none.
namespace pod_groups_test {

using builders::ClusterBuilder;
using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

PodBuilder member(std::string name, std::string node, int minutes = 0) {
  return PodBuilder(std::move(name))
      .on(std::move(node))
      .cpu(400)
      .older_by(base::minutes(minutes))
      .annotate("evacuator.dev/group", "trainer");
}

struct PodGroupPlanCase {
  const char* name;
  std::function<void(ClusterBuilder&)> others;  ///< Adds pods in addition to "lead", an old pod on n1
  std::function<void(api::DeschedulerPolicySpec&)> edit;
  std::vector<std::string> want;  ///< Pods that move, in order
  const char* refused = nullptr;  ///< Reason of the first refusal
  const char* says = "";
};

void nothing(api::DeschedulerPolicySpec&) {}

class PodGroupPlan : public testing::TestWithParam<PodGroupPlanCase> {};

TEST_P(PodGroupPlan, TakesAllOrNone) {
  const PodGroupPlanCase& c = GetParam();
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(member("lead", "n1", 30));
  c.others(builder);
  api::DeschedulerPolicySpec spec;
  spec.strategies = {{"PodLifeTime", R"({"maxPodLifeTimeSeconds":60})"}};
  c.edit(spec);
  const auto cluster = builder.build();
  const planner::Plan plan =
      planner::plan_cycle({.spec = planner::PlanSpec(spec), .cluster = *cluster, .leaving = {}, .now = kNoon});
  std::vector<std::string> moved;
  for (const auto& move : plan.moves) moved.push_back(move.pod);
  EXPECT_EQ(moved, c.want);
  if (!c.refused) {
    EXPECT_THAT(plan.refusals, IsEmpty());
    return;
  }
  ASSERT_FALSE(plan.refusals.empty());
  EXPECT_EQ(plan.refusals[0].reason, c.refused);
  EXPECT_THAT(plan.refusals[0].message, HasSubstr(c.says));
}

INSTANTIATE_TEST_SUITE_P(
    Groups, PodGroupPlan,
    testing::Values(
        PodGroupPlanCase{"AllOfIt",
                         [](auto& c) {
                           c.add(member("b", "n2"))
                               .add(member("a", "n1"))
                               .add(PodBuilder("alone").on("n1").older_by(base::minutes(0)));
                         },
                         nothing,
                         {"a", "b", "lead"}},
        PodGroupPlanCase{"InTheStatedOrder",
                         [](auto& c) {
                           c.add(member("a", "n1").annotate("evacuator.dev/group-order", "2"))
                               .add(member("z", "n2").annotate("evacuator.dev/group-order", "-1"));
                         },
                         nothing,
                         {"z", "lead", "a"}},
        PodGroupPlanCase{
            "NotThoseOfAnotherNamespace", [](auto& c) { c.add(member("x", "n1").ns("other")); }, nothing, {"lead"}},
        PodGroupPlanCase{
            "NotThoseThatHaveEndedOrLeave",
            [](auto& c) {
              c.add(member("done", "n1").phase(api::PodPhase::kSucceeded)).add(member("going", "n2").terminating());
            },
            nothing,
            {"lead"}},
        PodGroupPlanCase{"NoneWhenOneIsProtected",
                         [](auto& c) { c.add(member("a", "n1")).add(member("bare", "n2").bare()); },
                         nothing,
                         {},
                         "GroupMemberStays",
                         "PodGroup trainer stays: bare: "},
        PodGroupPlanCase{"NoneWhenItIsLargerThanAdmissionAllows",
                         [](auto& c) {
                           for (int i = 0; i < 64; ++i) c.add(member("m" + std::to_string(i), "n2").cpu(1));
                         },
                         nothing,
                         {},
                         "GroupOverLimit",
                         "PodGroup trainer stays: it has 65 pods, and a PodGroup has at most 64"},
        PodGroupPlanCase{"NoneWhenOneIsNotRunning",
                         [](auto& c) { c.add(member("new", "").phase(api::PodPhase::kPending)); },
                         nothing,
                         {},
                         "GroupNotRunning",
                         "new is not scheduled yet"},
        PodGroupPlanCase{
            "NoneWhenOneIsElsewhere",
            [](auto& c) { c.add(NodeBuilder("far").label("pool", "b")).add(member("a", "far")); },
            [](auto& spec) {
              spec.node_selector = api::LabelSelector{{{"pool", api::SelectorOperator::kDoesNotExist, {}}}};
            },
            {},
            "GroupMemberStays",
            "a is on node far"},
        PodGroupPlanCase{
            "NoneWhenOneMigrates",
            [](auto& c) { c.add(member("a", "n2").annotate("descheduler.alpha.kubernetes.io/eviction-in-progress")); },
            nothing,
            {},
            "GroupMemberStays",
            "a: its owner is already moving it"},
        PodGroupPlanCase{"NoneWhenABudgetHoldsOne",
                         [](auto& c) {
                           c.add(member("a", "n1").label("app", "web"))
                               .add(member("b", "n2").label("app", "web"))
                               .add(builders::pdb("web", "web", 1));
                         },
                         nothing,
                         {},
                         "GroupMemberStays",
                         "b: "},
        PodGroupPlanCase{"NoneWhenItIsMoreThanTheCycleAllows",
                         [](auto& c) { c.add(member("a", "n1")).add(member("b", "n2")); },
                         [](auto& spec) { spec.limits.per_cycle.total = 2; },
                         {},
                         "GroupOverLimit",
                         "it has 3 pods, and limits.perCycle.total is 2"},
        PodGroupPlanCase{"NoneWhenItIsMoreThanMayBeInFlight",
                         [](auto& c) { c.add(member("a", "n1")); },
                         [](auto& spec) {
                           spec.limits.in_flight.per_node = api::IntOrPercent{1, false};
                         },
                         {},
                         "GroupOverLimit",
                         "limits.inFlight.perNode is 1, and 2 leave at once"},
        PodGroupPlanCase{
            "NoneWhenOneFitsNowhere",
            [](auto& c) {
              c.add(member("big", "n2").cpu(3900)).add(PodBuilder("x").on("n1").older_by(base::minutes(0)));
            },
            nothing,
            {},
            "GroupDoesNotFit",
            "no node has free capacity for"}),
    [](const auto& test) { return test.param.name; });

TEST(PodGroupPlanned, CompletesAGroupThatIsPartlyLeaving) {
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n1"))
                           .add(NodeBuilder("n2"))
                           .add(member("a", "n1", 30))
                           .add(member("b", "n2"))
                           .add(member("c", "n2"))
                           .build();
  api::DeschedulerPolicySpec spec;
  spec.strategies = {{"PodLifeTime", R"({"maxPodLifeTimeSeconds":60})"}};
  const auto plan = planner::plan_cycle({.spec = planner::PlanSpec(spec),
                                         .cluster = *cluster,
                                         .leaving = {{"default", {"uid-b"}}},
                                         .now = kNoon,
                                         .options = {}});
  ASSERT_EQ(plan.moves.size(), 2u);
  EXPECT_EQ(plan.moves[0].reason, "age 30m is above 60s");
  EXPECT_EQ(plan.moves[1].reason, "leaves with PodGroup trainer: age 30m is above 60s");
}

TEST(PodGroupPlanned, CountsTheWholeGroupAgainstTheCycleLimit) {
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n1"))
                           .add(NodeBuilder("n2"))
                           .add(member("a", "n1", 30))
                           .add(member("b", "n2", 30))
                           .add(PodBuilder("alone").on("n1").cpu(100).older_by(base::minutes(20)))
                           .build();
  api::DeschedulerPolicySpec spec;
  spec.strategies = {{"PodLifeTime", R"({"maxPodLifeTimeSeconds":60})"}};
  spec.limits.per_cycle.total = 2;
  const auto plan =
      planner::plan_cycle({.spec = planner::PlanSpec(spec), .cluster = *cluster, .leaving = {}, .now = kNoon});
  EXPECT_EQ(plan.moves.size(), 2u);
  EXPECT_THAT(plan.refused, testing::Contains(api::ReasonCount{"TotalLimit", 1}));
}

}  // namespace pod_groups_test
