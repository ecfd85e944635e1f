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

/// How far nodes may be from even, in percent by resource.
struct LoadBand {
  std::vector<double> low;
  std::vector<double> high;
  /// Where moves end: a quarter of the band below `high`, so that noise does not make a node a source again.
  std::vector<double> level;
  /// Where soft taints begin: a quarter of the band above `low`, so that replacements meet the nodes with least load
  /// and each move is worth more.
  std::vector<double> welcome;
};
/// The pool's thresholds, or the distances from the mean of the nodes in `load`.
LoadBand load_band_of(const Thresholds& thresholds, const LoadTable& load);

struct LevelArgs {
  std::int32_t number_of_nodes = 0;  ///< act in a pool only when more nodes than this are underutilized; 0: always
  std::vector<std::string> excluded_namespaces;
  std::optional<std::uint32_t> evictions_per_node;
  bool soft_taint = false;  ///< UsageArgs::soft_taint
};

/// LowNodeUtilization by measured load (docs/strategies/low-node-utilization.md): in each pool pods leave nodes above
/// the band for any node that stays at or below LoadBand::level. Nodes whose load is not known neither give nor take.
void level_load(const StrategyContext& context, NominationSink& sink, const MeasuredLoad& load, const PoolNodes& pool,
                const LevelArgs& args, NodeClassification& classes);

}  // namespace strategies
