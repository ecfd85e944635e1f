#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/strategies/lifetime/criteria.hpp"
#include "planner/strategies/lifetime/terminal_pods.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Nominates pods that are too old or have an unwanted state, condition or exit code, the oldest first
/// (upstream-semantics.md#pod-life-time). Nominates terminal pods only with terminalPods.evict. All given criteria must
/// hold. At least one of age, states, conditions and exit codes is required.
struct PodLifeTime {
  static constexpr std::string_view kName = "PodLifeTime";
  static constexpr StrategyPhase kPhase = StrategyPhase::kDeschedule;

  PodScope scope;
  api::NamespaceFilter owner_kinds;         ///< Kinds of owners to include or exclude
  std::optional<std::int64_t> max_seconds;  ///< Age limit; older pods match
  std::vector<std::string> states;
  std::vector<ConditionCriterion> conditions;
  std::vector<std::int32_t> exit_codes;
  bool init_containers = false;
  bool ephemeral_containers = false;  ///< For states only
  TerminalPods terminal_pods;

  static PodLifeTime read(api::StrictObject& args);
  Criteria criteria() const;
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const;
};

}  // namespace strategies
