#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/strategies/lifetime/criteria.hpp"
#include "planner/strategies/lifetime/terminal_pods.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Nominates pods by any combination of criteria, the oldest first. For cases that no specialized lifetime strategy
/// covers. All given criteria must hold. At least one criterion other than scope and owners is required.
struct PodCriteria {
  static constexpr std::string_view kName = "PodCriteria";
  static constexpr StrategyPhase kPhase = StrategyPhase::kDeschedule;

  PodScope scope;
  api::NamespaceFilter owner_kinds;
  std::optional<std::int64_t> min_age_seconds;  ///< Minimum age
  std::vector<api::PodPhase> phases;
  std::vector<std::string> reasons;  ///< Pod reasons, or waiting or terminated reasons of containers; any text
  std::vector<std::int32_t> exit_codes;
  std::vector<ConditionCriterion> conditions;
  std::optional<RestartCriterion> restarts;
  ContainerScope containers;
  TerminalPods terminal_pods;

  static PodCriteria read(api::StrictObject& args);
  Criteria criteria() const;
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const;
  StrategyNeeds needs() const { return {.restart_window = restarts ? restarts->within : std::nullopt}; }
};

}  // namespace strategies
