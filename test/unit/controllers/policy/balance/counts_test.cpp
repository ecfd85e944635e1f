/// The convergence guard on strategies that balance pod counts, in complete cycles.

#include <gmock/gmock.h>

#include "api/vocabulary/condition_types.hpp"
#include "controllers/policy/balance/convergence.hpp"
#include "controllers/policy/cycle.hpp"
#include "planner/plan/balance/convergence.hpp"
#include "test/builders/cluster.hpp"

namespace controllers {
namespace policy_counts_test {

using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// A policy with one strategy that runs cycle after cycle. Every move is carried out, and every replacement returns to
/// the node that the pod left, as happens when the scheduler counts the old pod until it is gone.
class Policy {
 public:
  Policy(const std::string& strategy, api::Compatibility compatibility) {
    policy_.meta.name = "even";
    policy_.meta.generation = 1;
    policy_.spec.strategies = {{strategy, "{}"}};
    policy_.spec.compatibility = compatibility;
    policy_.spec.convergence.patience = 3;
    spec_.emplace(policy_.spec);
    for (const char* node : {"n1", "n2"}) input_.nodes.push_back(share(NodeBuilder(node).label("zone", node).build()));
    add("web", {"n1", "n1", "n1"});
  }
  void add(const std::string& app, const std::vector<const char*>& nodes) {
    for (const char* node : nodes) {
      const std::string name = app + "-" + std::to_string(input_.pods.size());
      PodBuilder pod(name);
      pod.on(node).cpu(10).label("app", app).owned_by("ReplicaSet", app).with([&](api::Pod& each) {
        api::TopologySpreadConstraint constraint;
        constraint.max_skew = 1;
        constraint.topology_key = "zone";
        constraint.label_selector = builders::labels_in("app", {app});
        each.topology_spread = {constraint};
      });
      input_.pods.push_back(share(pod.build()));
    }
  }
  CycleOutcome cycle() {
    const scheduling::ClusterSnapshot snapshot(input_);
    CycleOutcome outcome =
        make_plan({.spec = *spec_, .cluster = snapshot, .leaving = {}, .now = kNoon, .options = cycle_options()}, "");
    judge_balance(policy_, outcome);
    policy_.status = next_status(policy_, {}, &outcome, kNoon);
    policy_.status.last_cycle->created = outcome.summary.nominated;
    policy_.status.balance = outcome.balance;
    set_converged_condition(policy_.status, 1, kNoon);
    for (const api::PlannedMove& move : outcome.moves) replace(move.pod);
    return outcome;
  }
  std::string converged() const {
    const auto* const found = api::find_condition(policy_.status.conditions, api::ConditionType::kConverged);
    return found->reason + ": " + found->message;
  }

 private:
  template <typename T>
  static std::shared_ptr<const T> share(T object) {
    return std::make_shared<const T>(std::move(object));
  }
  void replace(const std::string& name) {
    for (auto& pod : input_.pods) {
      if (pod->meta.name != name) continue;
      api::Pod next = *pod;
      next.meta.name = name.substr(0, name.find('-') + 1) + std::to_string(100 + replaced_++);
      next.meta.uid = "uid-" + next.meta.name;
      pod = share(std::move(next));
    }
  }

  api::DeschedulerPolicy policy_;
  std::optional<planner::PlanSpec> spec_;
  scheduling::SnapshotInput input_;
  int replaced_ = 0;
};

struct GuardCase {
  std::string name;
  std::string strategy;
  api::Compatibility compatibility;
  std::string told;
};

class CountsGuard : public testing::TestWithParam<GuardCase> {};

TEST_P(CountsGuard, StopsMovesThatGainNothingAndStartsAgainForAnotherWorkload) {
  Policy policy(GetParam().strategy, GetParam().compatibility);
  for (int i = 0; i < 3; ++i) {
    const CycleOutcome outcome = policy.cycle();
    EXPECT_THAT(outcome.moves, testing::Not(IsEmpty())) << i;
    ASSERT_THAT(outcome.balance, SizeIs(1));
    EXPECT_EQ(outcome.balance[0].state, planner::kImproving);
    EXPECT_LE(outcome.balance[0].after.deviation, outcome.balance[0].before.deviation);
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(policy.cycle().moves, IsEmpty()) << i;
    EXPECT_THAT(policy.converged(), HasSubstr(GetParam().told));
  }
  policy.add("shop", {"n2", "n2", "n2"});
  policy.add("even", {"n1", "n2"});
  const CycleOutcome again = policy.cycle();
  EXPECT_EQ(again.balance[0].state, planner::kImproving);
  EXPECT_THAT(again.moves, testing::Contains(testing::Field(&api::PlannedMove::pod, testing::StartsWith("shop"))));
}

constexpr auto kNone = api::Compatibility::kNone;
constexpr auto kUpstream = api::Compatibility::kUpstream;
INSTANTIATE_TEST_SUITE_P(
    Policy, CountsGuard,
    testing::Values(GuardCase{"Spread", "RemovePodsViolatingTopologySpreadConstraint", kNone,
                              "NoProgress: moves do not improve the balance, so the strategy has stopped: "
                              "RemovePodsViolatingTopologySpreadConstraint: domains contain more pods than maxSkew "
                              "allows, the fullest 2.00 of the mean"},
                    GuardCase{"SpreadAsUpstream", "RemovePodsViolatingTopologySpreadConstraint", kUpstream,
                              "NoProgress"},
                    GuardCase{"Duplicates", "RemoveDuplicates", kNone,
                              "RemoveDuplicates: nodes run more duplicates than their share"},
                    GuardCase{"DuplicatesAsUpstream", "RemoveDuplicates", kUpstream, "NoProgress"}),
    [](const auto& test) { return test.param.name; });

TEST(CountsGuard, ReportsASufficientBalance) {
  Policy policy("RemoveDuplicates", kNone);
  policy.add("web", {"n2", "n2", "n2"});
  const CycleOutcome outcome = policy.cycle();
  EXPECT_THAT(outcome.moves, IsEmpty());
  EXPECT_THAT(policy.converged(), HasSubstr("Converged: RemoveDuplicates: no nodes run more duplicates"));
}

}  // namespace policy_counts_test
}  // namespace controllers
