#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/strategies/strategy.hpp"
#include "planner/strategies/utilization/usage_args.hpp"

namespace strategies {

/// Moves pods from overutilized nodes while underutilized nodes have free capacity, by requests or, with
/// metricsUtilization, by measured usage (upstream-semantics.md#low-node-utilization). With `usage`, and with
/// metricsUtilization except in Compatibility::kUpstream, it calls level_load() to level the measured load.
struct LowNodeUtilization {
  static constexpr std::string_view kName = "LowNodeUtilization";
  static constexpr StrategyPhase kPhase = StrategyPhase::kBalance;

  PoolThresholds thresholds;
  std::int32_t number_of_nodes = 0;  ///< Act only if more nodes than this are underutilized
  std::vector<std::string> excluded_namespaces;
  std::optional<std::uint32_t> evictions_per_node;
  std::optional<UsageNeed> metrics;  ///< metricsUtilization
  std::optional<UsageArgs> usage;    ///< Without it and `metrics`: by requests
  friend bool operator==(const LowNodeUtilization&, const LowNodeUtilization&) = default;

  static LowNodeUtilization read(api::StrictObject& args);
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const;
  StrategyNeeds needs() const;
  std::optional<BalanceSubject> balances(const StrategyContext& context) const;
};

}  // namespace strategies
