#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/strategies/strategy.hpp"
#include "planner/strategies/utilization/usage_args.hpp"

namespace strategies {

/// Empties underutilized nodes onto the others, so that an autoscaler can remove them
/// (upstream-semantics.md#high-node-utilization). Empties whole nodes only. If all nodes are underutilized, empties
/// the emptier ones onto the fuller ones.
struct HighNodeUtilization {
  static constexpr std::string_view kName = "HighNodeUtilization";
  static constexpr StrategyPhase kPhase = StrategyPhase::kBalance;

  /// A node at or below all of `low` is underutilized. With measured load, nodes are filled up to `high`.
  PoolThresholds thresholds;
  std::optional<UsageArgs> usage;    ///< nullopt means by requests
  std::int32_t number_of_nodes = 0;  ///< Act only if more nodes than this are underutilized
  std::vector<std::string> excluded_namespaces;
  bool only_thresholding_resources = false;  ///< Only pods that request one of the resources
  bool ignore_daemon_sets = false;  ///< Compare thresholds with the usage of pods that do not belong to their node
  /// Internal, not an argument: use soft taints to keep replacements off emptied and empty nodes.
  bool soft_taint = false;
  friend bool operator==(const HighNodeUtilization&, const HighNodeUtilization&) = default;

  static HighNodeUtilization read(api::StrictObject& args);
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const;
  StrategyNeeds needs() const;
  std::optional<BalanceSubject> balances(const StrategyContext& context) const;
  std::string caution(bool is_upstream) const;
};

}  // namespace strategies
