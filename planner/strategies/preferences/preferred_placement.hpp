#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "planner/strategies/common_args.hpp"
#include "planner/strategies/preferences/preference_gain.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Moves pods whose preferences (affinity and ScheduleAnyway spread) are now met better elsewhere, if the scheduler's
/// scores place them there (docs/strategies/preferred-placement.md).
struct PreferredPlacement {
  static constexpr std::string_view kName = "PreferredPlacement";
  static constexpr StrategyPhase kPhase = StrategyPhase::kBalance;

  CountedPreferences counted{};
  double min_gain = 10;  ///< In points, from 1 to 100
  std::optional<std::int32_t> max_moves{};
  PodScope scope{};
  /// Internal, not an argument: limit of a search in node evaluations, independent of the machine.
  std::int64_t max_steps = 100'000'000;

  static PreferredPlacement read(api::StrictObject& args);
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const;
};

}  // namespace strategies
