#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/strategies/common_args.hpp"
#include "planner/strategies/preferences/preference_gain.hpp"
#include "planner/strategies/preferences/preferred_moves.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Moves pods whose preferences (affinity and ScheduleAnyway spread) are now met better elsewhere, if the scheduler's
/// scores place them there (docs/strategies/preferred-placement.md).
class PreferredPlacement final : public Strategy {
 public:
  static constexpr std::string_view kName = "PreferredPlacement";

  struct Args {
    CountedPreferences counted;
    double min_gain = 10;  ///< In points, from 1 to 100
    std::optional<std::int32_t> max_moves;
    PodScope scope;
    friend bool operator==(const Args&, const Args&) = default;

    /// Errors are added to the errors of `args`.
    static Args read(api::StrictObject& args);
  };

  /// Limit of a search in node evaluations, independent of the machine.
  static constexpr std::int64_t kMaxSteps = 100'000'000;

  explicit PreferredPlacement(Args args, std::int64_t most_steps = kMaxSteps)
      : args_(std::move(args)), max_steps_(most_steps) {}
  std::string_view name() const override { return kName; }
  StrategyPhase phase() const override { return StrategyPhase::kBalance; }
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const override;

 private:
  std::vector<PodIndex> pods_with_preferences(const StrategyContext& context, const PreferenceGain& gain) const;
  bool offer(const StrategyContext& context, NominationSink& sink, const PreferenceGain& gain,
             const std::vector<PreferredMove>& moves) const;

  Args args_;
  std::int64_t max_steps_;
};

}  // namespace strategies
