#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/strategies/common_args.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Nominates pods on nodes whose taints they do not tolerate (upstream-semantics.md#node-taints).
struct RemovePodsViolatingNodeTaints {
  static constexpr std::string_view kName = "RemovePodsViolatingNodeTaints";
  static constexpr StrategyPhase kPhase = StrategyPhase::kDeschedule;

  PodScope scope;
  bool include_prefer_no_schedule = false;
  std::vector<std::string> excluded;                 ///< "key" or "key=value"
  std::optional<std::vector<std::string>> included;  ///< nullopt means all; empty means none

  static RemovePodsViolatingNodeTaints read(api::StrictObject& args);
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const;
};

}  // namespace strategies
