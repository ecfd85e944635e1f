#include "controllers/policy_cycle.hpp"

#include <algorithm>

#include "planning/planner.hpp"

namespace controllers {
namespace {

void count_refusal(std::vector<api::ReasonCount>& counts, std::string_view reason, std::int32_t by) {
  const auto at = std::ranges::lower_bound(counts, reason, {}, [](const api::ReasonCount& c) { return std::string_view(c.reason); });
  if (at != counts.end() && at->reason == reason) {
    at->count += by;
  } else {
    counts.insert(at, {std::string(reason), by});
  }
}

/// Takes out the moves of pods whose last Evacuation has not expired; returns how many.
std::int32_t drop_cooling(std::vector<api::PlannedMove>& moves, const std::set<std::string>& cooling) {
  return static_cast<std::int32_t>(
      std::erase_if(moves, [&](const api::PlannedMove& move) { return cooling.contains(move.uid); }));
}

}  // namespace

CycleOutcome run_cycle(const api::DeschedulerPolicy& policy, const scheduling::ClusterSnapshot& snapshot,
                       const KnownPods& known, std::string id, base::TimePoint now) {
  planning::Plan plan = planning::plan_cycle({.spec = policy.spec,
                                              .cluster = snapshot,
                                              .leaving = known.leaving,
                                              .now = now,
                                              // A blocked pod is nominated all the same: its Evacuation waits in the
                                              // open and goes when the budget allows.
                                              .options = {.spend_pdbs = false}});
  CycleOutcome outcome;
  outcome.moves = std::move(plan.moves);
  outcome.summary.refused = std::move(plan.refused);
  if (const auto dropped = drop_cooling(outcome.moves, known.cooling); dropped > 0) {
    count_refusal(outcome.summary.refused, "RecentlyEvacuated", dropped);
  }
  outcome.summary.id = std::move(id);
  outcome.summary.start = now;
  outcome.summary.nodes = plan.nodes;
  outcome.summary.pods = plan.pods;
  outcome.summary.nominated = static_cast<std::int32_t>(outcome.moves.size());
  for (const planning::StrategyResult& result : plan.strategies) {
    if (!result.problem.empty()) outcome.problems.push_back(result.strategy + ": " + result.problem);
  }
  for (const api::FieldError& error : plan.errors) outcome.problems.push_back(error.to_string());
  return outcome;
}

}  // namespace controllers
