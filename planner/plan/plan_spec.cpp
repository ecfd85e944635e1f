#include "planner/plan/plan_spec.hpp"

#include <algorithm>

namespace planner {
namespace {

scheduling::NodeScoring scoring_of(const api::DeschedulerPolicySpec& spec) {
  using enum scheduling::NodeScoring;
  if (spec.scheduler.scoring)
    return *spec.scheduler.scoring == api::ScoringStrategyType::kMostAllocated ? kMostAllocated : kLeastAllocated;
  const bool packs =
      std::ranges::find(spec.strategies, "HighNodeUtilization", &api::StrategyChoice::name) != spec.strategies.end();
  return packs ? kMostAllocated : kLeastAllocated;
}

}  // namespace

PlanSpec::PlanSpec(const api::DeschedulerPolicySpec& spec)
    : node_selector(spec.node_selector),
      compatibility(spec.compatibility),
      scoring(scoring_of(spec)),
      scheduler_minor(spec.scheduler.minor_version),
      evictability(spec.evictability),
      limits(spec.limits),
      convergence(spec.convergence),
      strategy_specs(strategies::parse_strategies(spec.strategies)) {}

}  // namespace planner
