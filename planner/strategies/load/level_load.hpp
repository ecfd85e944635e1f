#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "planner/strategies/load/measured_load.hpp"
#include "planner/strategies/load/node_pools.hpp"
#include "planner/strategies/strategy.hpp"
#include "planner/strategies/utilization/low_node_utilization.hpp"
#include "planner/strategies/utilization/node_classes.hpp"

namespace strategies {

/// Accepted range of node load, in percent by resource.
struct LoadBand {
  std::vector<double> low;
  std::vector<double> high;
  /// Level at which moves stop: a quarter of the band below `high`, so that noise does not make a node a source again.
  std::vector<double> level;
  /// Load above which soft taints start: a quarter of the band above `low`, so that replacements go to the nodes with
  /// the least load and each move has more effect.
  std::vector<double> no_taint_below;
};
/// Returns the pool's thresholds, or the deviations from the mean load of a resource.
LoadBand load_band_of(const Thresholds& thresholds, const std::function<double(std::size_t resource)>& mean_of);

/// LowNodeUtilization by measured load (docs/strategies/low-node-utilization.md). In each pool, moves pods from nodes
/// above the band to nodes that stay at or below LoadBand::level. Nodes with unknown load are neither sources nor
/// destinations. If `number_of_nodes` is 0, always acts. `soft_taint`: UsageArgs::soft_taint.
void level_load(const StrategyContext& context, NominationSink& sink, const MeasuredLoad& load, const PoolNodes& pool,
                const LowNodeUtilization& args, bool soft_taint, NodeClassification& classes);

}  // namespace strategies
