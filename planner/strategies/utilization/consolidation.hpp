#pragma once

#include <functional>
#include <string>
#include <vector>

#include "planner/strategies/load/load_table.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Reasons for moves from a node that is to become empty.
inline constexpr std::string_view kEmptiedWhole = "its node is underutilized and can be emptied completely";
inline constexpr std::string_view kToBeEmptied = "its node is underutilized and is to be emptied";

/// Nodes to empty, possible destinations, and limits of the moves.
struct ConsolidationRules {
  std::vector<NodeIndex> sources{};  ///< In the order in which they are emptied: the emptiest first
  std::vector<NodeIndex> others{};   ///< Nodes that only receive pods
  std::vector<std::string> excluded_namespaces{};
  /// An unwanted pod keeps its node from being emptied; if empty, all pods are wanted.
  std::function<bool(const api::Pod&)> wants{};
  /// Measured load of all these nodes, updated by moves. If nullptr, requests alone decide where pods fit.
  LoadTable* load = nullptr;
  /// Key of a soft taint that keeps replacements off the emptied nodes, if the sink allows it; "" means none.
  std::string_view taint{};
  std::vector<double> max_percent{};  ///< Maximum load of nodes, by resource of `load`
};

/// Empties nodes completely or not at all. A node is emptied only if every pod on it may leave and fits elsewhere. The
/// fullest nodes are filled first. A source that is not emptied may receive pods of emptier ones and then stays.
void consolidate(const StrategyContext& context, NominationSink& sink, const ConsolidationRules& rules);

}  // namespace strategies
