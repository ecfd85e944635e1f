#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "planner/strategies/load/measured_load.hpp"
#include "planner/strategies/strategy.hpp"
#include "planner/strategies/utilization/node_classes.hpp"
#include "planner/strategies/utilization/usage_args.hpp"

namespace strategies {

/// The nodes of one pool.
struct PoolNodes {
  std::string_view name;         ///< Empty for nodes in no pool
  const Thresholds* thresholds;  ///< The pool's
  std::vector<NodeIndex> nodes;  ///< In the order of the context
};

/// Divides the nodes in scope: each belongs to the first pool that selects it. Nodes in no pool come last, with the
/// strategy's own thresholds. They are omitted if the strategy has none.
std::vector<PoolNodes> divide_into_pools(const StrategyContext& context, const PoolThresholds& thresholds);

/// Calls `each` for every pool, with a context of its nodes, until it returns an error. Then reports the classes of the
/// nodes to the sink. Returns the error.
base::Status for_each_pool(const StrategyContext& context, NominationSink& sink, const PoolThresholds& thresholds,
                           const std::function<base::Status(const StrategyContext& inside, const PoolNodes& pool,
                                                            NodeClassification& classes)>& each);
/// Like for_each_pool(), with the load by `usage`. Returns an error if it is unknown for too many nodes.
base::Status for_each_pool_by_load(
    const StrategyContext& context, NominationSink& sink, const UsageArgs& usage, const PoolThresholds& thresholds,
    const std::function<void(const MeasuredLoad& load, const PoolNodes& pool, NodeClassification& classes)>& each);

/// Returns what a strategy with these pools balances: measurements for `need`, or requests without it. Returns nullopt
/// if nothing is measured. With `with_means` false, BalanceSubject::means stays empty, which saves a pass over all
/// pods.
std::optional<BalanceSubject> subject_of(const StrategyContext& context, const std::optional<UsageNeed>& need,
                                         const PoolThresholds& thresholds, bool with_means = true);

}  // namespace strategies
