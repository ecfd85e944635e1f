#pragma once

#include <string>
#include <vector>

#include "planner/strategies/lifetime/criteria.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Nominates pods whose containers restarted too often, the most restarts of a node first
/// (upstream-semantics.md#too-many-restarts).
struct RemovePodsHavingTooManyRestarts {
  static constexpr std::string_view kName = "RemovePodsHavingTooManyRestarts";
  static constexpr StrategyPhase kPhase = StrategyPhase::kDeschedule;

  PodScope scope;
  RestartCriterion restarts{0, std::nullopt, {}};  ///< This number of restarts or more
  std::vector<std::string> states;                 ///< Running, CrashLoopBackOff; empty means any

  static RemovePodsHavingTooManyRestarts read(api::StrictObject& args);
  Criteria criteria() const;
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const;
  StrategyNeeds needs() const { return {.restart_window = restarts.within}; }
};

}  // namespace strategies
