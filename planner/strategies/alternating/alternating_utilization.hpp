#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json/strict_object.hpp"
#include "planner/strategies/alternating/rounds.hpp"
#include "planner/strategies/strategy.hpp"
#include "planner/strategies/utilization/high_node_utilization.hpp"
#include "planner/strategies/utilization/low_node_utilization.hpp"

namespace strategies {

/// Levels nodes and then packs them, in rounds, while that frees nodes (docs/strategies/alternating-utilization.md).
/// Free nodes stay free: nothing is leveled onto them.
class AlternatingUtilization final : public Strategy, public MultiCycle {
 public:
  static constexpr std::string_view kName = "AlternatingUtilization";

  struct Args {
    LowNodeUtilization low;
    HighNodeUtilization high;
    RoundRules rounds;
    friend bool operator==(const Args&, const Args&) = default;

    /// Errors are added to the errors of `args`.
    static Args read(api::StrictObject& args);
  };

  explicit AlternatingUtilization(Args args)
      : rules_(args.rounds), low_(std::move(args.low)), high_(std::move(args.high)) {}
  std::string_view name() const override { return kName; }
  StrategyPhase phase() const override { return StrategyPhase::kBalance; }
  /// Runs one half of a round, by StrategyContext::state.
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const override;
  StrategyNeeds needs() const override;
  std::string caution(bool is_upstream) const override { return high_.caution(is_upstream); }
  /// Returns the subject of the leveling half.
  std::optional<BalanceSubject> balances(const StrategyContext& context) const override;

  std::string begin_cycle(const std::string& before, const CycleFacts& facts) const override;
  std::string after_idle(const std::string& state, const CycleFacts& facts) const override;
  std::string after_planning(const std::string& state, std::int32_t planned) const override;
  std::string after_creating(const std::string& state, std::int32_t created, base::TimePoint cycle) const override;
  std::optional<Progress> progress(const std::string& state) const override;
  std::optional<Report> report(const std::string& state, std::int32_t active) const override;

 private:
  base::Status level(const StrategyContext& context, NominationSink& sink) const;

  RoundRules rules_;
  LowNodeUtilization low_;
  HighNodeUtilization high_;
};

}  // namespace strategies
