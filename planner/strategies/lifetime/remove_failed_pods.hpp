#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/strategies/lifetime/criteria.hpp"
#include "planner/strategies/lifetime/terminal_pods.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Nominates pods in phase Failed for cleanup, the oldest first (upstream-semantics.md#remove-failed-pods). All given
/// criteria must hold.
struct RemoveFailedPods {
  static constexpr std::string_view kName = "RemoveFailedPods";
  static constexpr StrategyPhase kPhase = StrategyPhase::kDeschedule;

  PodScope scope;
  std::vector<std::string> exclude_owner_kinds;
  std::uint32_t min_seconds = 3600;  ///< Minimum age
  std::vector<std::string> reasons;  ///< Pod reasons, or waiting or terminated reasons of containers
  std::vector<std::int32_t> exit_codes;
  bool init_containers = false;
  TerminalPods terminal_pods;  ///< `evict` is set by default, which is the purpose of the strategy

  static RemoveFailedPods read(api::StrictObject& args);
  Criteria criteria(bool is_upstream) const;
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const;
};

}  // namespace strategies
