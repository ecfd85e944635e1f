#pragma once

#include <functional>
#include <string>
#include <vector>

#include "planner/strategies/load/load_table.hpp"
#include "planner/strategies/strategy.hpp"
#include "planner/strategies/utilization/node_usage.hpp"

namespace strategies {

/// Which nodes are to be emptied, and what may be moved for it.
/// Reasons of moves that leave a node which is to become empty.
inline constexpr std::string_view kEmptiedWhole = "its node is underutilized and can be emptied whole";
inline constexpr std::string_view kToBeEmptied = "its node is underutilized and is to be emptied";

struct ConsolidationRules {
  std::vector<NodeUsage> sources;  ///< in the order they are to be emptied: the emptiest first
  std::vector<NodeUsage> others;   ///< nodes that only take
  std::vector<std::string> excluded_namespaces;
  std::function<bool(const api::Pod&)> wants;  ///< one that is not keeps its node from being emptied; empty: all are
  /// Measured load of all these nodes, kept up to date; nullptr: requests alone decide where pods fit.
  LoadTable* load = nullptr;
  /// Key of a soft taint that keeps replacements off the nodes that are emptied, where the sink allows it; "": none.
  std::string_view taint{};
  std::vector<double> most_percent{};  ///< up to which nodes are filled, by resource of `load`
};

/// Empties nodes whole or not at all: each only when every pod on it may leave and fits elsewhere, on the fullest nodes
/// first. A source that is not emptied may take pods of emptier ones and then stays.
void consolidate(const StrategyContext& context, NominationSink& sink, const ConsolidationRules& rules);

}  // namespace strategies
