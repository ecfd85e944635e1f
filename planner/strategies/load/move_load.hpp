#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "planner/strategies/load/load_table.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Sources, destinations and limits of load moves. Vectors by resource are parallel to LoadTable::resources().
struct LoadRules {
  std::vector<NodeIndex> sources;       ///< In the order in which they are relieved
  std::vector<NodeIndex> destinations;  ///< In the order of preference
  std::vector<double> high;             ///< Percentage above which a source is relieved in a resource
  std::vector<double> level;            ///< Percentage down to which sources are relieved
  /// Returns whether a destination may take a pod; `after` contains its percentages after the move. If empty, they
  /// must stay at or below the level.
  std::function<bool(NodeIndex from, std::span<const double> after)> accepts;
  std::vector<std::string> excluded_namespaces;
  std::optional<std::uint32_t> evictions_per_node;
  std::function<std::string(NodeIndex)> reason;
};

/// Moves pods from the sources until the sources are at the level.
/// Picks the pod that reduces the source's worst excess most relative to its cost (move_cost()), without exceeding it.
/// If none of those can leave, picks the pod that exceeds it least, if the result is still better than no move. With
/// `usual`, the reduction is that of the squared excess, weighted kWeightOfCurrentLoad for the current load and the
/// rest for the usual load. Ties break by namespace, name and UID. A pod whose usage is unknown stays. `giving` is the
/// load of sources and `taking` that of destinations. Both and `usual` are updated by the moves. REQUIRES: all have the
/// same resources and know all nodes of `rules`.
void move_load(const StrategyContext& context, NominationSink& sink, LoadTable& giving, LoadTable& taking,
               const LoadRules& rules, std::optional<UsualLoad> usual = std::nullopt);

}  // namespace strategies
