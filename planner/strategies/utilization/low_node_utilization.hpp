#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json/strict_object.hpp"
#include "api/meta/well_known.hpp"
#include "planner/strategies/common_args.hpp"
#include "planner/strategies/load/node_pools.hpp"
#include "planner/strategies/strategy.hpp"
#include "planner/strategies/utilization/move_rules.hpp"
#include "planner/strategies/utilization/node_classes.hpp"
#include "planner/strategies/utilization/usage_args.hpp"

namespace strategies {

/// Moves pods from overutilized nodes while underutilized nodes have free capacity, by requests or, with
/// metricsUtilization, by measured usage (upstream-semantics.md#low-node-utilization). With `usage`, and with
/// metricsUtilization except in Compatibility::kUpstream, it calls level_load() to level the measured load.
class LowNodeUtilization final : public Strategy, public Balancer {
 public:
  static constexpr std::string_view kName = "LowNodeUtilization";

  struct Args {
    Thresholds thresholds;             ///< For nodes in no pool; if empty, those nodes are left alone
    std::int32_t number_of_nodes = 0;  ///< Act only if more nodes than this are underutilized
    std::vector<std::string> excluded_namespaces;
    std::optional<std::uint32_t> evictions_per_node;
    std::optional<scheduling::UsageNeed> metrics;  ///< metricsUtilization
    std::optional<UsageArgs> usage;                ///< Without it and `metrics`: by requests
    std::vector<NodePool> pools;
    friend bool operator==(const Args&, const Args&) = default;

    /// Errors are added to the errors of `args`.
    static Args read(api::StrictObject& args);
  };

  explicit LowNodeUtilization(Args args) : args_(std::move(args)) {}
  std::string_view name() const override { return kName; }
  StrategyPhase phase() const override { return StrategyPhase::kBalance; }
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const override;
  StrategyNeeds needs() const override;
  std::optional<BalanceSubject> balances(const StrategyContext& context) const override;

 private:
  /// Returns the usage source for level_load(), or nullopt if measured load is not levelled.
  std::optional<UsageArgs> measured_by(const StrategyContext& context) const;
  base::Status level(const StrategyContext& context, NominationSink& sink, const UsageArgs& usage) const;
  base::Status balance_pools(const StrategyContext& context, NominationSink& sink, const UsageView& usage) const;
  base::Status balance(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
                       const PoolNodes& pool, NodeClassification& classes) const;
  /// Returns why nothing is moved, or "" if there are nodes to relieve and destinations.
  std::string why_idle(const MoveRules& rules, std::size_t judged, const NodeClassification& classes) const;
  std::vector<std::string> tracked(const Thresholds& thresholds) const;
  void relieve(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
               const std::vector<std::string>& resources, std::size_t thresholds, MoveRules rules) const;
  void relieve_upstream(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
                        const std::vector<std::string>& resources, MoveRules rules) const;

  Args args_;
};

}  // namespace strategies
