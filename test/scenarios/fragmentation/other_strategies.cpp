#include "test/scenarios/fragmentation/other_strategies.hpp"

#include <map>
#include <memory>
#include <optional>

#include "planner/plan/planner.hpp"
#include "test/builders/cluster.hpp"
#include "test/scenarios/fragmentation/judge.hpp"

namespace fragmentation {
namespace {

constexpr int kMaxCycles = 200;

/// Keeps the names, which the judge relies on.
void carry_out(const std::vector<api::PlannedMove>& moves, scheduling::SnapshotInput& cluster) {
  std::map<std::string_view, std::string_view> target;
  for (const api::PlannedMove& move : moves) target[move.pod] = move.to;
  for (auto& pod : cluster.pods) {
    const auto at = target.find(pod->meta.name);
    if (at == target.end() || at->second.empty()) continue;
    api::Pod next = *pod;
    next.meta.uid += "'";
    next.node_name = {std::string(at->second)};
    pod = std::make_shared<const api::Pod>(std::move(next));
  }
}

/// Returns the state of the plan's strategy after its moves were made, as the controller records it.
std::optional<api::StrategyState> state_after(const planner::PlanSpec& spec, planner::Plan& plan) {
  if (auto& state = plan.strategy_state) {
    const auto created = static_cast<std::int32_t>(plan.moves.size());
    state->value = spec.strategy_specs.multi_cycle()->after_creating(state->value, created, builders::kNoon);
  }
  return plan.strategy_state;
}

}  // namespace

Policy packing() { return {"HighNodeUtilization", R"({"thresholds": {"cpu": 50, "memory": 50}})"}; }

Policy alternating() {
  return {"AlternatingUtilization", R"({
    "lowNodeUtilization": {"thresholds": {"cpu": 60, "memory": 60}, "targetThresholds": {"cpu": 75, "memory": 75}},
    "highNodeUtilization": {"thresholds": {"cpu": 60, "memory": 60}}})"};
}

Course run_to_the_end(scheduling::SnapshotInput cluster, const Policy& policy) {
  api::DeschedulerPolicySpec rules;
  rules.strategies.push_back({policy.strategy, policy.args});
  const planner::PlanSpec spec(rules);
  const int busy_before = judge(cluster, {}).busy_before;
  std::optional<api::StrategyState> state;
  Course course;
  for (; course.cycles < kMaxCycles; ++course.cycles) {
    const scheduling::ClusterSnapshot snapshot(cluster);
    planner::Plan plan = planner::plan_cycle({.spec = spec,
                                              .cluster = snapshot,
                                              .leaving = {},
                                              .now = builders::kNoon,
                                              .options = {.spend_pdbs = false, .taint_value = "proof"},
                                              .strategy_state = state});
    if (plan.moves.empty()) break;
    state = state_after(spec, plan);
    course.moves += static_cast<int>(plan.moves.size());
    carry_out(plan.moves, cluster);
  }
  course.freed = busy_before - judge(cluster, {}).busy_before;
  return course;
}

}  // namespace fragmentation
