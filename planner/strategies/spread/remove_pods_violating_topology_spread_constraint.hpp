#pragma once

#include "planner/strategies/common_args.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Nominates pods of overfull topology domains, so that spread constraints hold again
/// (upstream-semantics.md#topology-spread).
struct RemovePodsViolatingTopologySpreadConstraint {
  static constexpr std::string_view kName = "RemovePodsViolatingTopologySpreadConstraint";
  static constexpr StrategyPhase kPhase = StrategyPhase::kBalance;

  PodScope scope;
  bool hard = true;      ///< constraints with DoNotSchedule
  bool soft = false;     ///< constraints with ScheduleAnyway
  bool node_fit = true;  ///< skip pods that fit no node of an underfull domain

  static RemovePodsViolatingTopologySpreadConstraint read(api::StrictObject& args);
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const;
};
using SpreadArgs = RemovePodsViolatingTopologySpreadConstraint;

}  // namespace strategies
