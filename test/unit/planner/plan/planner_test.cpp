#include "planner/plan/planner.hpp"

#include <gmock/gmock.h>

#include "api/meta/well_known.hpp"
#include "planner/plan/cycle_limits.hpp"
#include "test/builders/cluster.hpp"

namespace planner {
namespace planner_test {

using builders::ClusterBuilder;
using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;
using scheduling::kNoNode;
using strategies::NominationResult;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

api::DeschedulerPolicySpec policy(std::vector<api::StrategyChoice> strategies) {
  api::DeschedulerPolicySpec spec;
  spec.strategies = std::move(strategies);
  return spec;
}

const api::StrategyChoice kOld{"PodLifeTime", R"({"maxPodLifeTimeSeconds":60})"};
const api::StrategyChoice kBalance{"LowNodeUtilization", R"({"thresholds":{"cpu":30},"targetThresholds":{"cpu":50}})"};

Plan plan(const ClusterBuilder& builder, const api::DeschedulerPolicySpec& spec, std::vector<PodIdentity> leaving = {},
          PlanOptions options = {}) {
  const auto cluster = builder.build();
  return plan_cycle({PlanSpec(spec), *cluster, std::move(leaving), kNoon, options});
}

std::vector<std::string> moved(const Plan& plan) {
  std::vector<std::string> names;
  for (const api::PlannedMove& move : plan.moves) names.push_back(move.pod);
  return names;
}

std::vector<std::string> targets(const Plan& plan) {
  std::vector<std::string> names;
  for (const api::PlannedMove& move : plan.moves) names.push_back(move.to);
  return names;
}

PodBuilder aged(std::string name, std::string node, int minutes) {
  return PodBuilder(std::move(name)).on(std::move(node)).cpu(400).older_by(base::minutes(minutes));
}

ClusterBuilder three_old_pods() {
  return ClusterBuilder()
      .add(NodeBuilder("n1"))
      .add(NodeBuilder("n2"))
      .add(aged("a", "n1", 30))
      .add(aged("b", "n1", 20))
      .add(aged("c", "n2", 10));
}

TEST(PlanCycle, ListsMovesWithTheirReasonAndTarget) {
  const Plan got = plan(
      ClusterBuilder().add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(aged("a", "n1", 30)).add(aged("x", "n1", 0)),
      policy({kOld}));
  ASSERT_THAT(got.moves, SizeIs(1));
  EXPECT_EQ(got.moves[0],
            (api::PlannedMove{"default", "a", "uid-a", "n1", "n2", "PodLifeTime", "age 30m is above 60s"}));
  EXPECT_EQ(got.nodes, 2);
  EXPECT_EQ(got.pods, 2);
  EXPECT_THAT(got.strategies, ElementsAre(StrategyResult{"PodLifeTime", 1, 0, ""}));
  EXPECT_THAT(got.errors, IsEmpty());
}

/// The status of a policy has a limited number of rows, chosen from the nodes that matter. The counts are complete.
TEST(PlanCycle, BoundsTheRowsOfNodeClasses) {
  constexpr int kNodes = 200;
  ClusterBuilder builder;
  for (int i = 0; i < kNodes; ++i) {
    const std::string node = "n" + std::to_string(1000 + i);
    builder.add(NodeBuilder(node)).add(PodBuilder("p" + node).on(node).cpu(1600));
  }
  builder.add(NodeBuilder("z-full"))
      .add(PodBuilder("full").on("z-full").cpu(3600))
      .add(NodeBuilder("z-down").not_ready());
  const Plan got = plan(builder, policy({kBalance}));
  const api::NodeClasses& classes = *got.strategies.front().classes;
  EXPECT_EQ(classes.strategy, "LowNodeUtilization");
  EXPECT_EQ(classes.over, 1);
  EXPECT_EQ(classes.appropriate, kNodes);
  EXPECT_EQ(classes.not_considered, 1);
  ASSERT_THAT(classes.nodes, SizeIs(PlanOptions{}.max_node_rows));
  EXPECT_EQ(classes.nodes.front().node, "z-full") << "it decides";
  EXPECT_EQ(classes.note, "no node is underutilized");
}

TEST(PlanCycle, NamesTheReasonsOfNodesThatRefuse) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(NodeBuilder("n2").taint("gpu")).add(NodeBuilder("n3").cordoned());
  for (const char* name : {"a", "b", "c"}) builder.add(PodBuilder(name).on("n1").cpu(1200));
  auto spec = policy({kBalance});
  const Plan level = plan(builder, spec);
  ASSERT_FALSE(level.refusals.empty());
  EXPECT_EQ(level.refusals.front().message,
            "no underutilized node accepts it and stays below its target: 1 of 1 nodes: the pod does not tolerate the "
            "taint gpu (n2)");
  spec.evictability.node_fit = true;
  const Plan fit = plan(builder, spec);
  ASSERT_FALSE(fit.refusals.empty());
  EXPECT_EQ(fit.refusals.front().reason, "NoOtherNodeFits");
  EXPECT_THAT(fit.refusals.front().message,
              testing::AllOf(HasSubstr("it fits none of the 2 other candidate nodes: "),
                             HasSubstr("1 of 2 nodes: the pod does not tolerate the taint gpu (n2)"),
                             HasSubstr("1 of 2 nodes: the node is cordoned (n3)")));
}

TEST(PlanCycle, IsDeterministic) {
  const auto spec = policy({kOld, kBalance});
  EXPECT_EQ(plan(three_old_pods(), spec), plan(three_old_pods(), spec));
}

TEST(PlanCycle, ReservesPredictedTargets) {
  // n2 and n3 have capacity for one pod each. The third pod returns to its own node.
  const Plan got = plan(ClusterBuilder()
                            .add(NodeBuilder("n1").sized(4000, 4000, 3))
                            .add(NodeBuilder("n2").sized(4000, 4000, 1))
                            .add(NodeBuilder("n3").sized(4000, 4000, 1))
                            .add(aged("a", "n1", 30))
                            .add(aged("b", "n1", 20))
                            .add(aged("c", "n1", 10)),
                        policy({kOld}));
  EXPECT_THAT(targets(got), ElementsAre("n2", "n3", "n1"));
}

TEST(PlanCycle, PredictsNothingForPodsWithoutAController) {
  const Plan got = plan(ClusterBuilder()
                            .add(NodeBuilder("n1"))
                            .add(aged("failed", "n1", 30).phase(api::PodPhase::kFailed))
                            .add(aged("bare", "n1", 20).bare().annotate("descheduler.alpha.kubernetes.io/evict")),
                        policy({{"PodLifeTime", R"({"maxPodLifeTimeSeconds":60,"terminalPods":{"evict":true}})"}}));
  EXPECT_THAT(targets(got), ElementsAre("", ""));
}

ClusterBuilder two_cordoned() {
  return ClusterBuilder().add(NodeBuilder("n1").cordoned()).add(NodeBuilder("n2").cordoned()).add(aged("a", "n1", 30));
}

TEST(PlanCycle, RefusesAMoveWithNowhereToGo) {
  const Plan got = plan(two_cordoned(), policy({kOld}));
  EXPECT_THAT(got.moves, IsEmpty());
  EXPECT_THAT(got.refused, ElementsAre(api::ReasonCount{"NowhereToGo", 1}));
  EXPECT_EQ(got.utilization[0].cpu.before, got.utilization[0].cpu.after) << "it is taken back";
}

TEST(PlanCycle, MovesItForUpstream) {
  auto spec = policy({kOld});
  spec.compatibility = api::Compatibility::kUpstream;
  EXPECT_THAT(targets(plan(two_cordoned(), spec)), ElementsAre(""));
}

TEST(PlanCycle, DoesNothingOnASingleNodeLikeUpstream) {
  auto spec = policy({kOld});
  const auto cluster = ClusterBuilder().add(NodeBuilder("n1")).add(aged("a", "n1", 30));
  EXPECT_THAT(moved(plan(cluster, spec)), ElementsAre("a"));
  spec.compatibility = api::Compatibility::kUpstream;
  const Plan got = plan(cluster, spec);
  EXPECT_THAT(moved(got), IsEmpty());
  EXPECT_THAT(got.idle, HasSubstr("spec.compatibility: Upstream moves nothing with fewer than two"));
  EXPECT_EQ(got.notes.size(), 1U) << "the condition Warnings tells it";
  EXPECT_EQ(got.utilization.size(), 1U);
}

TEST(PlanCycle, ReportsANodeSelectorThatMatchesNoNode) {
  auto spec = policy({kOld});
  spec.node_selector = builders::labels_in("pool", {"gone"});
  const auto cluster = ClusterBuilder().add(NodeBuilder("n1")).add(aged("a", "n1", 30));
  EXPECT_EQ(plan(cluster, spec).idle, "spec.nodeSelector: selects no ready node, of 1 in total");
  EXPECT_EQ(plan(ClusterBuilder(), spec).idle, "") << "there is no node to choose";
}

TEST(PlanCycle, MovesOnlyToBetterNodes) {
  // n0 is as empty as n2 but has the same taint as n1. A soft taint does not keep the scheduler away.
  const auto worse = api::TaintEffect::kPreferNoSchedule;
  const auto spec = policy({{"RemovePodsViolatingNodeTaints", R"({"includePreferNoSchedule":true})"}});
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1").taint("t", worse)).add(NodeBuilder("n2")).add(NodeBuilder("n0").taint("t", worse));
  cluster.add(aged("a", "n1", 30));
  EXPECT_THAT(targets(plan(cluster, spec)), ElementsAre("n2"));
  const Plan full = plan(cluster.add(aged("full", "n2", 0).cpu(3800)), spec);
  EXPECT_THAT(full.moves, IsEmpty());
  EXPECT_THAT(full.refused, ElementsAre(api::ReasonCount{"NowhereBetter", 1}));
}

TEST(PlanCycle, IgnoresSoftTaintsOfPoliciesAsViolations) {
  const auto spec = policy({{"RemovePodsViolatingNodeTaints", R"({"includePreferNoSchedule":true})"}});
  for (const std::string_view key : api::well_known::kSoftTaints) {
    const auto moves = [&](api::TaintEffect effect) {
      ClusterBuilder cluster;
      cluster.add(NodeBuilder("n1").taint(std::string(key), effect)).add(NodeBuilder("n2"));
      return targets(plan(cluster.add(aged("a", "n1", 30)), spec));
    };
    EXPECT_THAT(moves(api::TaintEffect::kPreferNoSchedule), IsEmpty());
    EXPECT_THAT(moves(api::TaintEffect::kNoSchedule), ElementsAre("n2")) << "that is somebody else's";
  }
}

TEST(PlanCycle, RunsDescheduleBeforeBalance) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
  for (int i = 1; i <= 8; ++i) builder.add(aged("p" + std::to_string(i), "n1", 0));
  builder.add(aged("old", "n1", 30));
  const Plan got = plan(builder, policy({kBalance, kOld}));
  ASSERT_FALSE(got.moves.empty());
  EXPECT_EQ(got.moves[0].strategy, "PodLifeTime");
  EXPECT_EQ(got.strategies[1].strategy, "LowNodeUtilization");
}

TEST(PlanCycle, NominatesAPodOnceAndCountsItsMove) {
  // Nine pods of 400m run on n1. PodLifeTime takes one of them, so balancing needs three more instead of four.
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
  for (int i = 1; i <= 8; ++i) builder.add(aged("p" + std::to_string(i), "n1", 0));
  builder.add(aged("old", "n1", 30));
  EXPECT_THAT(moved(plan(builder, policy({kBalance}))), SizeIs(4));
  EXPECT_THAT(moved(plan(builder, policy({kOld, kBalance}))), ElementsAre("old", "p1", "p2", "p3"));
}

TEST(PlanCycle, OmitsPodsThatAreAlreadyLeaving) {
  const Plan got = plan(three_old_pods(), policy({kOld}), {{"default", {"uid-a"}}, {"default", {"uid-unknown"}}});
  EXPECT_THAT(moved(got), ElementsAre("b", "c"));
  EXPECT_THAT(got.refusals, IsEmpty());
}

TEST(PlanCycle, DoesNotCountLeavingPodsAgainstLimits) {
  auto spec = policy({kOld});
  spec.limits.per_cycle.total = 2;
  EXPECT_THAT(moved(plan(three_old_pods(), spec, {{"default", {"uid-a"}}})), ElementsAre("b", "c"));
}

TEST(PlanCycle, DoesNotSpendLimitsOnCoolingPods) {
  auto spec = policy({kOld});
  spec.limits.per_cycle.total = 1;
  const auto cluster = three_old_pods().build();
  const Plan got = plan_cycle({.spec = planner::PlanSpec(spec),
                               .cluster = *cluster,
                               .leaving = {},
                               .now = kNoon,
                               .cooling = {{"default", {"uid-a"}}}});
  EXPECT_THAT(moved(got), ElementsAre("b"));
  EXPECT_THAT(got.refused, testing::Contains(api::ReasonCount{"RecentlyEvacuated", 1}));
}

TEST(PlanCycle, DoesNotSpendLimitsOnForbiddenNamespaces) {
  auto spec = policy({kOld});
  spec.limits.per_cycle.total = 1;
  const auto cluster = three_old_pods().build();
  const std::string ns = cluster->pod(*cluster->pods().begin()).meta.ns;
  const Plan got = plan_cycle(
      {.spec = planner::PlanSpec(spec), .cluster = *cluster, .leaving = {}, .now = kNoon, .forbidden = {ns}});
  EXPECT_THAT(moved(got), ElementsAre());
  EXPECT_THAT(got.refused, testing::Contains(api::ReasonCount{"Forbidden", 3}));
}

PodBuilder launcher(std::string name, std::string node, std::string vmi) {
  return aged(std::move(name), std::move(node), 30)
      .label("kubevirt.io", "virt-launcher")
      .label("kubevirt.io/created-by", vmi);
}

TEST(PlanCycle, LeavesMigratingMachinesToTheirOwner) {
  const Plan got =
      plan(ClusterBuilder()
               .add(NodeBuilder("n1"))
               .add(NodeBuilder("n2"))
               .add(launcher("source", "n1", "vm-1"))
               .add(launcher("target", "n2", "vm-1"))
               .add(launcher("at-rest", "n1", "vm-2"))
               .add(launcher("former-source", "n2", "vm-2").phase(api::PodPhase::kSucceeded))
               .add(aged("marked", "n1", 30).annotate("descheduler.alpha.kubernetes.io/eviction-in-progress", "true")),
           policy({kOld}));
  EXPECT_THAT(moved(got), ElementsAre("at-rest"));
  EXPECT_THAT(got.refused, testing::Contains(api::ReasonCount{"MigrationInProgress", 3}));
}

struct LimitCase {
  std::string name;
  api::PerCycleLimits limits;
  std::vector<std::string> want;
  std::vector<api::ReasonCount> want_refused;
};

class PlanLimitTest : public testing::TestWithParam<LimitCase> {};

TEST_P(PlanLimitTest, KeepsLimits) {
  auto spec = policy({kOld});
  spec.limits.per_cycle = GetParam().limits;
  const Plan got = plan(three_old_pods(), spec);
  EXPECT_EQ(moved(got), GetParam().want);
  EXPECT_EQ(got.refused, GetParam().want_refused);
}

INSTANTIATE_TEST_SUITE_P(
    Limits, PlanLimitTest,
    testing::Values(LimitCase{"AllowsAllWithout", {}, {"a", "b", "c"}, {}},
                    LimitCase{"StopsAtTheTotal", {2, {}, {}}, {"a", "b"}, {{"TotalLimit", 1}}},
                    LimitCase{"AllowsNoneWithZero", {0, {}, {}}, {}, {{"TotalLimit", 1}}},
                    LimitCase{"SkipsANodeAtItsLimit", {{}, 1, {}}, {"a", "c"}, {{"NodeLimit", 1}}},
                    LimitCase{"SkipsANamespaceAtItsLimit", {{}, {}, 1}, {"a"}, {{"NamespaceLimit", 2}}},
                    LimitCase{"ChecksTheTotalBeforeTheNode", {1, 1, {}}, {"a"}, {{"TotalLimit", 1}}}),
    [](const auto& test) { return test.param.name; });

TEST(PlanCycle, SpendsBudgets) {
  auto cluster = three_old_pods();
  cluster.add(aged("w1", "n1", 40).label("app", "web")).add(aged("w2", "n2", 35).label("app", "web"));
  cluster.add(builders::pdb("web", "web", 1));
  const Plan got = plan(cluster, policy({kOld}));
  EXPECT_THAT(moved(got), ElementsAre("w1", "a", "b", "c"));
  EXPECT_THAT(got.refused, ElementsAre(api::ReasonCount{"PDBWouldBlock", 1}));
  ASSERT_THAT(got.refusals, SizeIs(1));
  EXPECT_EQ(got.refusals[0],
            (api::RefusedPod{"default", "w2", "uid-w2", "n2", "PodLifeTime", "PDBWouldBlock",
                             "the PodDisruptionBudget web allows no more disruptions (2 pods healthy, 1 desired)",
                             "web", 1, 2}));
}

TEST(PlanCycle, LetsPodsWaitForBudgetsOnRequest) {
  auto cluster = three_old_pods();
  cluster.add(aged("w1", "n1", 40).label("app", "web")).add(builders::pdb("web", "web", 0));
  EXPECT_THAT(moved(plan(cluster, policy({kOld}), {}, {.spend_pdbs = false})), ElementsAre("w1", "a", "b", "c"));
}

// --- capacity used in addition to replacements

/// The replacement is created while the pod still runs. Its own node lacks the capacity for both.
TEST(PlanCycle, LeavesThePodInPlaceUntilItsReplacementHasANode) {
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n1"))
                           .add(NodeBuilder("n2"))
                           .add(aged("other", "n2", 0).cpu(1400))
                           .add(aged("a", "n1", 30).cpu(1700));
  EXPECT_THAT(targets(plan(cluster, policy({kOld}))), ElementsAre("n2"));
}

/// A StatefulSet recreates the pod only after it is gone. By then the pod's own node is the emptier one.
TEST(PlanCycle, RemovesThePodOfAStatefulSetFirst) {
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n1"))
                           .add(NodeBuilder("n2"))
                           .add(aged("other", "n2", 0).cpu(1400))
                           .add(aged("a", "n1", 30).cpu(1700).owned_by("StatefulSet", "db"));
  EXPECT_THAT(targets(plan(cluster, policy({kOld}))), ElementsAre("n1"));
}

TEST(PlanCycle, LetsTheReplacementWaitForThePodToEndIfNothingElseFits) {
  const auto cluster = ClusterBuilder().add(NodeBuilder("n1")).add(aged("a", "n1", 30).cpu(3000));
  EXPECT_THAT(targets(plan(cluster, policy({kOld}))), ElementsAre("n1"));
}

/// n2 has capacity for two pods: the existing replacement and one more.
TEST(PlanCycle, ReservesNoSecondTargetForAPodThatIsAlreadyReplaced) {
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n1").cordoned())
                           .add(NodeBuilder("n2").sized(4000, 4000, 2))
                           .add(PodBuilder("going").on("n1").cpu(100).terminating())
                           .add(aged("its-replacement", "n2", 0))
                           .add(aged("a", "n1", 30));
  EXPECT_THAT(targets(plan(cluster, policy({kOld}), {{"default", {"uid-going"}}})), ElementsAre("n2"));
}

TEST(PlanCycle, CountsPendingPods) {
  auto cluster = ClusterBuilder()
                     .add(NodeBuilder("n1").cordoned())
                     .add(NodeBuilder("n2").sized(4000, 4000, 1))
                     .add(aged("a", "n1", 30));
  EXPECT_THAT(targets(plan(cluster, policy({kOld}))), ElementsAre("n2"));
  cluster.add(PodBuilder("waiting"));
  EXPECT_THAT(plan(cluster, policy({kOld})).refused, ElementsAre(api::ReasonCount{"NowhereToGo", 1}));
}

/// The victims of vip still run, so it would not fit yet.
TEST(PlanCycle, CountsPodsOnTheirNominatedNodes) {
  auto cluster = ClusterBuilder()
                     .add(NodeBuilder("n1").cordoned())
                     .add(NodeBuilder("n2"))
                     .add(aged("victim", "n2", 0).cpu(3100).terminating())
                     .add(aged("a", "n1", 30));
  EXPECT_THAT(targets(plan(cluster, policy({kOld}))), ElementsAre("n2"));
  cluster.add(PodBuilder("vip").cpu(3500).with([](api::Pod& pod) { pod.nominated_node = {"n2"}; }));
  EXPECT_THAT(plan(cluster, policy({kOld})).refused, ElementsAre(api::ReasonCount{"NowhereToGo", 1}));
}

/// Row 8 of the comparison with kube-scheduler: nominated pods of equal or higher priority reserve capacity.
TEST(PlanCycle, Row8RespectsOnlyNominatedPodsOfEqualOrHigherPriority) {
  const auto with_vip_of = [](std::int32_t priority) {
    return ClusterBuilder()
        .add(NodeBuilder("n1").cordoned())
        .add(NodeBuilder("n2"))
        .add(aged("victim", "n2", 0).cpu(2700).terminating())
        .add(aged("a", "n1", 30).priority(10))
        .add(PodBuilder("vip").cpu(3500).priority(priority).with([](api::Pod& pod) { pod.nominated_node = {"n2"}; }));
  };
  EXPECT_THAT(targets(plan(with_vip_of(9), policy({kOld}))), ElementsAre("n2"));
  for (const std::int32_t priority : {10, 11}) {
    EXPECT_THAT(plan(with_vip_of(priority), policy({kOld})).refused, ElementsAre(api::ReasonCount{"NowhereToGo", 1}));
  }
}

/// Row 8: pending pods take capacity that moves free, here n1, which is empty after a has moved to n3.
ClusterBuilder room_for_two() {
  const auto old = [](const char* name, const char* node, int minutes, std::int64_t cpu) {
    return PodBuilder(name).on(node).cpu(cpu).older_by(base::minutes(minutes));
  };
  return ClusterBuilder()
      .add(NodeBuilder("n1"))
      .add(NodeBuilder("n2").cordoned())
      .add(NodeBuilder("n3").sized(3200, 4000, 10))
      .add(old("a", "n1", 30, 3000))
      .add(old("b", "n2", 20, 1000));
}

TEST(PlanCycle, Row8GivesFreedCapacityToPendingPods) {
  auto cluster = room_for_two();
  EXPECT_THAT(targets(plan(cluster, policy({kOld}))), ElementsAre("n3", "n1"));
  cluster.add(PodBuilder("waiting").cpu(3500));
  const Plan planned = plan(cluster, policy({kOld}));
  EXPECT_THAT(targets(planned), ElementsAre("n3"));
  EXPECT_THAT(planned.refused, ElementsAre(api::ReasonCount{"NowhereToGo", 1}));
}

TEST(PlanCycle, Row8GivesNothingToPendingPodsThatDoNotFit) {
  auto cluster = room_for_two();
  cluster.add(PodBuilder("too-large").cpu(4001));
  cluster.add(PodBuilder("choosy").cpu(3500).with([](api::Pod& pod) { pod.node_selector = {{"pool", "none"}}; }));
  EXPECT_THAT(targets(plan(cluster, policy({kOld}))), ElementsAre("n3", "n1"));
}

/// n1 is unbalanced, and the pod improves its balance. Before 1.36 the score depended on the balance after placement,
/// not on the change by the pod.
TEST(PlanCycle, FollowsTheSchedulersVersion) {
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n0").cordoned())
                           .add(NodeBuilder("n1"))
                           .add(NodeBuilder("n2"))
                           .add(PodBuilder("cpu").on("n1").cpu(1200).memory(0).older_by(base::seconds(0)))
                           .add(PodBuilder("both").on("n2").cpu(600).memory(600).older_by(base::seconds(0)))
                           .add(PodBuilder("a").on("n0").cpu(0).memory(400).older_by(base::minutes(30)))
                           .build();
  const auto target = [&](std::optional<int> named, std::optional<int> server) {
    auto spec = policy({kOld});
    spec.scheduler.minor_version = named;
    const PlanSpec parsed(spec);
    return targets(
        plan_cycle({.spec = parsed, .cluster = *cluster, .leaving = {}, .now = kNoon, .server_minor = server}));
  };
  EXPECT_THAT(target({}, {}), ElementsAre("n1"));
  EXPECT_THAT(target({}, 35), ElementsAre("n2"));
  EXPECT_THAT(target(36, 35), ElementsAre("n1"));
  EXPECT_THAT(target(35, 36), ElementsAre("n2"));
}

TEST(PlanCycle, ConsidersReadyAndSelectedNodesOnly) {
  auto spec = policy({kOld});
  spec.node_selector = builders::labels_in("pool", {"blue"});
  const Plan got = plan(ClusterBuilder()
                            .add(NodeBuilder("n1").label("pool", "blue"))
                            .add(NodeBuilder("n2").label("pool", "blue").not_ready())
                            .add(NodeBuilder("n3"))
                            .add(aged("a", "n1", 30))
                            .add(aged("b", "n2", 30))
                            .add(aged("c", "n3", 30)),
                        spec);
  EXPECT_THAT(moved(got), ElementsAre("a"));
  EXPECT_EQ(got.nodes, 1);
  EXPECT_EQ(got.pods, 1);
}

TEST(PlanCycle, BoundsRefusalsButNotTheirCount) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1").sized(4000, 4000, 100));
  for (int i = 0; i < 20; ++i) builder.add(PodBuilder("p" + std::to_string(i)).on("n1").bare());
  const Plan got = plan(builder, policy({kOld}), {}, {.max_refusals = 3});
  EXPECT_THAT(got.refusals, SizeIs(3));
  EXPECT_THAT(got.refused, ElementsAre(api::ReasonCount{"BarePod", 20}));
  EXPECT_EQ(got.strategies[0].refused, 20);
}

TEST(PlanCycle, ReportsUtilizationBeforeAndAfter) {
  const Plan got = plan(
      ClusterBuilder().add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(aged("a", "n1", 30)).add(aged("x", "n1", 0)),
      policy({kOld}));
  ASSERT_THAT(got.utilization, SizeIs(2));
  EXPECT_EQ(got.utilization[0].node, "n1");
  EXPECT_EQ(got.utilization[0].cpu.allocatable.milli(), 4000);
  EXPECT_EQ(got.utilization[0].cpu.before.milli(), 800);
  EXPECT_EQ(got.utilization[0].cpu.after.milli(), 400);
  EXPECT_EQ(got.utilization[0].pods.before.units(), 2);
  EXPECT_EQ(got.utilization[1].cpu.after.milli(), 400);
  EXPECT_EQ(got.utilization[1].pods.after.units(), 1);
}

TEST(PlanCycle, RunsTheOtherStrategiesWhenOneIsInvalid) {
  const Plan got = plan(three_old_pods(), policy({{"PodLifeTime", R"({"typo":1,"maxPodLifeTimeSeconds":1})"}, kOld}));
  EXPECT_THAT(got.errors, ElementsAre(Field(&api::FieldError::path, "spec.strategies[0].args.typo")));
  EXPECT_THAT(moved(got), SizeIs(3));
}

TEST(PlanCycle, PlansNothingWhenAProtectionIsUnclear) {
  auto spec = policy({kOld});
  spec.evictability.priority_threshold = {std::nullopt, "missing"};
  const Plan got = plan(three_old_pods(), spec);
  EXPECT_THAT(got.errors, ElementsAre(Field(&api::FieldError::path, "spec.evictability.priorityThreshold.name")));
  EXPECT_THAT(got.moves, IsEmpty());
}

TEST(PlanCycle, IsEmptyOnAnEmptyCluster) {
  const Plan got = plan(ClusterBuilder(), policy({kOld, kBalance}));
  EXPECT_THAT(got.moves, IsEmpty());
  EXPECT_EQ(got.nodes, 0);
}

// --- CycleLimits

TEST(CycleLimits, SkipTheNodeOfAPodWithoutOne) {
  const CycleLimits limits({{}, 0, {}});
  EXPECT_FALSE(limits.hit(kNoNode, 0));
  EXPECT_EQ(limits.hit(3, 0)->result, NominationResult::kNodeLimit);
}

TEST(CycleLimits, CountPerNodeAndNamespace) {
  CycleLimits limits({{}, 2, 3});
  limits.count(0, 0);
  limits.count(0, 0);
  EXPECT_EQ(limits.hit(0, 1)->result, NominationResult::kNodeLimit);
  EXPECT_FALSE(limits.hit(1, 0));
  limits.count(1, 0);
  EXPECT_EQ(limits.hit(1, 0)->result, NominationResult::kNamespaceLimit);
}

// --- spec.scheduler

/// Predicted node of the pod of n1. n2 is empty, n3 is half full.
std::string placement(const std::string& strategy, std::optional<api::ScoringStrategyType> scoring) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1").taint("t")).add(NodeBuilder("n2")).add(NodeBuilder("n3"));
  builder.add(aged("a", "n1", 30).memory(400));
  builder.add(aged("half", "n3", 0).cpu(1600).memory(2000).owned_by("StatefulSet", "half"));
  api::DeschedulerPolicySpec spec = policy({kOld});
  if (!strategy.empty()) spec.strategies.push_back({strategy, R"({"thresholds":{"cpu":0}})"});
  spec.scheduler.scoring = scoring;
  const Plan got = plan(builder, spec);
  return got.moves.empty() ? "nowhere" : targets(got).front();
}

TEST(PlanCycle, PredictsTheSchedulerThatThePolicyNames) {
  using enum api::ScoringStrategyType;
  EXPECT_EQ(placement("", {}), "n2");
  EXPECT_EQ(placement("", kMostAllocated), "n3");
  EXPECT_EQ(placement("HighNodeUtilization", {}), "n3") << "it is for schedulers that pack";
  EXPECT_EQ(placement("HighNodeUtilization", kLeastAllocated), "n2");
}

// --- time

/// Options with a clock that advances by one minute per call.
PlanOptions minute_by_minute(base::minutes limit) {
  PlanOptions options;
  options.elapsed = [minutes = base::Duration{}]() mutable { return minutes += base::minutes(1); };
  options.time_limit = limit;
  return options;
}

TEST(PlanCycle, StopsWhenItsTimeIsUsedUp) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
  for (const char* name : {"a", "b", "c", "d", "e"}) builder.add(PodBuilder(name).ns(name).on("n1").cpu(100));
  const Plan got = plan(builder, policy({kOld, kOld}), {}, minute_by_minute(base::minutes(16)));
  EXPECT_THAT(moved(got), testing::AllOf(testing::Contains("a"), testing::Not(testing::Contains("e"))));
  EXPECT_THAT(got.refused, testing::Contains(Field(&api::ReasonCount::reason, "CycleTimeout")));
  EXPECT_THAT(got.warnings, testing::Contains(Field(&api::FieldError::message, HasSubstr("the cycle has spent 16m"))));
}

/// The greedy namespace's pods come first. A plan that always began with them would never reach the other namespaces.
TEST(PlanCycle, ATenantThatTakesLongLeavesTheOthersTheirTime) {
  ClusterBuilder builder;
  for (const char* name : {"n1", "n2"}) builder.add(NodeBuilder(name).sized(16'000, 64'000, 1000));
  for (int i = 10; i < 50; ++i)
    builder.add(
        PodBuilder("g" + std::to_string(i)).ns("greedy").on("n1").cpu(1).priority(-1).older_by(base::minutes(120)));
  builder.add(PodBuilder("web").ns("shop").on("n1").cpu(100).older_by(base::minutes(30)));
  const Plan got = plan(builder, policy({kOld}), {}, minute_by_minute(base::minutes(120)));
  EXPECT_THAT(moved(got), testing::AllOf(testing::Contains("web"), testing::Not(testing::Contains("g49"))));
  EXPECT_THAT(got.warnings, ElementsAre(Field(&api::FieldError::message, HasSubstr("namespace greedy"))));
}

TEST(PlanCycle, ASingleNamespaceHasTheWholeTime) {
  const auto moves_beside = [](const std::string& other) {
    ClusterBuilder builder;
    for (const char* name : {"n1", "n2"}) builder.add(NodeBuilder(name).sized(16'000, 64'000, 1000));
    for (int i = 10; i < 50; ++i)
      builder.add(PodBuilder("g" + std::to_string(i)).ns("alone").on("n1").cpu(1).older_by(base::minutes(120)));
    builder.add(PodBuilder("agent").ns(other).on("n1").cpu(1).owned_by("DaemonSet", "agent"));
    return plan(builder, policy({kOld}), {}, minute_by_minute(base::minutes(60))).moves.size();
  };
  EXPECT_GT(moves_beside("kube-system"), 3 * moves_beside("shop") / 2);
}

TEST(PlanCycle, TimeBeforeTheFirstPodDoesNotCount) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(PodBuilder("a").on("n1"));
  PlanOptions options;
  options.elapsed = [] { return base::minutes(500); };
  options.time_limit = base::minutes(3);
  EXPECT_THAT(moved(plan(builder, policy({kOld}), {}, options)), ElementsAre("a"));
}

/// Every pod fits: the time limit does not apply to leaving pods.
TEST(PlanCycle, TargetsAreReservedForALimitedNumberOfLeavingPodsPerNamespace) {
  ClusterBuilder builder;
  for (const char* name : {"n1", "n2"}) builder.add(NodeBuilder(name).sized(16'000, 64'000, 1000));
  std::vector<PodIdentity> leaving;
  for (int i = 0; i < 60; ++i) {
    const std::string name = "g" + std::to_string(i);
    builder.add(PodBuilder(name).on("n1").cpu(1).affinity([](api::Affinity& affinity) {
      affinity.required_pod_anti_affinity.resize(256);
      for (api::PodAffinityTerm& term : affinity.required_pod_anti_affinity) term.topology_key = "rack";
    }));
    leaving.push_back({"default", {"uid-" + name}});
  }
  const Plan got = plan(builder, policy({kOld}), leaving);
  std::int64_t placed = 0;
  for (const NodeUtilization& node : got.utilization) placed += node.pods.after.units();
  EXPECT_EQ(placed, 38) << "of 60 pods, at a cost of 257 each";
}

TEST(PlanCycle, GivesASignOfLifeForEachPodItLooksAt) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
  builder.add(PodBuilder("nominated").on("n1")).add(PodBuilder("refused").on("n1").bare());
  builder.add(PodBuilder("pending"));
  builder.add(PodBuilder("leaving").on("n2"));
  int beats = 0;
  PlanOptions options;
  options.heartbeat = [&beats] { ++beats; };
  plan(builder, policy({kOld}), {{"default", {"uid-leaving"}}}, options);
  EXPECT_GE(beats, 4);
}

/// Each pod runs alone on its node. There are anti-affinity terms and pods that match them, but no conflict.
TEST(PlanCycle, SendsAHeartbeatForEachPodWithAPossibleConflict) {
  ClusterBuilder builder;
  for (int i = 0; i < 9; ++i) {
    const std::string number = std::to_string(i);
    builder.add(NodeBuilder("n" + number));
    builder.add(PodBuilder("p" + number)
                    .on("n" + number)
                    .label("app", "web")
                    .anti_affinity("app", "web", "kubernetes.io/hostname"));
  }
  int beats = 0;
  PlanOptions options;
  options.heartbeat = [&beats] { ++beats; };
  const Plan got = plan(builder, policy({{"RemovePodsViolatingInterPodAntiAffinity", "{}"}}), {}, options);
  EXPECT_THAT(moved(got), IsEmpty());
  EXPECT_GT(beats, 9) << "one for each pod, and those for terms";
}

/// Heartbeats must not depend on nominations.
TEST(PlanCycle, SendsAHeartbeatForEachPodThatAStrategyCannotPlace) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1").sized(1000, 4000, 100)).add(NodeBuilder("n2").sized(1000, 4000, 100));
  for (int i = 0; i < 9; ++i)
    builder.add(PodBuilder("p" + std::to_string(i)).on("n1").cpu(100).with([](api::Pod& pod) {
      pod.node_selector = {{"disk", "none"}};
    }));
  int beats = 0;
  PlanOptions options;
  options.heartbeat = [&beats] { ++beats; };
  const Plan got = plan(builder, policy({kBalance}), {}, options);
  EXPECT_THAT(got.refused, ElementsAre(api::ReasonCount{"NoDestinationHasCapacity", 9}));
  EXPECT_GE(beats, 9);
}

// --- pods that wait for a node

PodBuilder waiting(const std::string& name, const std::string& ns) {
  return PodBuilder(name).ns(ns).cpu(1000).phase(api::PodPhase::kPending);
}

/// 300 older pods of one namespace and one pod of another namespace that needs the only free capacity. The prediction
/// must place the latter there.
TEST(PlanCycle, PendingPodsOfOneNamespaceDoNotHideThoseOfAnother) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1").cordoned()).add(NodeBuilder("n2").sized(1000, 4000, 1000));
  builder.add(PodBuilder("old").on("n1").cpu(500));
  for (int i = 0; i < 300; ++i)
    builder.add(waiting("h" + std::to_string(i), "hostile").older_by(base::minutes(90)).with([](api::Pod& pod) {
      pod.node_selector = {{"disk", "none"}};
    }));
  builder.add(waiting("honest", "shop"));
  const Plan got = plan(builder, policy({kOld}));
  EXPECT_THAT(moved(got), IsEmpty());
  EXPECT_THAT(got.refused, testing::Contains(Field(&api::ReasonCount::reason, "NowhereToGo")));
}

/// Predicting all pending pods after each move would be too expensive.
TEST(PlanCycle, ExpensivePendingPodsDoNotTakeFreedCapacity) {
  for (const std::size_t terms : {std::size_t{2}, std::size_t{40}}) {
    ClusterBuilder builder;
    builder.add(NodeBuilder("n1").sized(1000, 4000, 100)).add(NodeBuilder("n2").sized(1200, 4000, 100));
    builder.add(PodBuilder("filler").on("n2").cpu(500).bare());
    builder.add(PodBuilder("old").on("n1").cpu(600).older_by(base::minutes(60)));
    builder.add(waiting("pending", "shop").affinity([&](api::Affinity& affinity) {
      affinity.required_pod_anti_affinity.resize(terms);
      for (api::PodAffinityTerm& term : affinity.required_pod_anti_affinity) term.topology_key = "rack";
    }));
    const Plan got = plan(builder, policy({kOld}));
    EXPECT_EQ(got.utilization[0].cpu.after.milli(), terms == 2 ? 1000 : 0) << terms << " terms";
  }
}

/// After each move the plan checks whether a few pending pods of each namespace fit on the node that the pod left.
TEST(PlanCycle, PendingPodsThatFitNowhereHideOnlyTheirOwnNamespace) {
  for (const std::string ns : {"shop", "hostile"}) {
    ClusterBuilder builder;
    builder.add(NodeBuilder("n1").sized(1000, 4000, 100)).add(NodeBuilder("n2").sized(700, 4000, 100));
    builder.add(PodBuilder("old").on("n1").cpu(600).older_by(base::minutes(60)));
    for (int i = 0; i < 40; ++i)
      builder.add(
          waiting("h" + std::to_string(i), "hostile").bare().older_by(base::minutes(90)).with([](api::Pod& pod) {
            pod.node_selector = {{"disk", "none"}};
          }));
    builder.add(waiting("honest", ns));
    EXPECT_EQ(plan(builder, policy({kOld})).utilization[0].cpu.after.milli(), ns == "shop" ? 1000 : 0) << ns;
  }
}

// --- compatibility: Upstream reserves nothing

TEST(PlanCycle, HoldsTheCapacityOfAReplacementUnlessUpstream) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1").cordoned()).add(NodeBuilder("n2").sized(1000, 4000, 10));
  for (const char* name : {"a", "b"}) builder.add(PodBuilder(name).on("n1").cpu(1000).older_by(base::minutes(9)));
  api::DeschedulerPolicySpec spec = policy({kOld});
  spec.evictability.node_fit = true;
  EXPECT_THAT(moved(plan(builder, spec)), ElementsAre("a"));
  spec.compatibility = api::Compatibility::kUpstream;
  const Plan got = plan(builder, spec);
  EXPECT_THAT(moved(got), ElementsAre("a", "b"));
  EXPECT_THAT(targets(got), ElementsAre("n2", ""));  // The predicted replacement still reserves its capacity
}

}  // namespace planner_test
}  // namespace planner
