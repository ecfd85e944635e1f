#pragma once

#include <string>
#include <vector>

#include "planner/strategies/common_args.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Nominates pods whose node affinity is violated, or would be met better elsewhere
/// (upstream-semantics.md#node-affinity).
struct RemovePodsViolatingNodeAffinity {
  static constexpr std::string_view kName = "RemovePodsViolatingNodeAffinity";
  static constexpr StrategyPhase kPhase = StrategyPhase::kDeschedule;

  PodScope scope;
  std::vector<std::string> types;  ///< Processed in this order

  static RemovePodsViolatingNodeAffinity read(api::StrictObject& args);
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const;
};

}  // namespace strategies
