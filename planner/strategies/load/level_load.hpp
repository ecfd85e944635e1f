#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/strategies/load/measured_load.hpp"
#include "planner/strategies/load/node_pools.hpp"
#include "planner/strategies/strategy.hpp"
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
/// Returns the pool's thresholds, or the deviations from the mean of the nodes in `load`.
LoadBand load_band_of(const Thresholds& thresholds, const LoadTable& load);

struct LevelArgs {
  std::int32_t number_of_nodes = 0;  ///< Act in a pool only if more nodes than this are underutilized; 0 means always
  std::vector<std::string> excluded_namespaces;
  std::optional<std::uint32_t> evictions_per_node;
  bool soft_taint = false;  ///< UsageArgs::soft_taint
};

/// LowNodeUtilization by measured load (docs/strategies/low-node-utilization.md). In each pool, moves pods from nodes
/// above the band to nodes that stay at or below LoadBand::level. Nodes with unknown load are neither sources nor
/// destinations.
void level_load(const StrategyContext& context, NominationSink& sink, const MeasuredLoad& load, const PoolNodes& pool,
                const LevelArgs& args, NodeClassification& classes);

}  // namespace strategies
