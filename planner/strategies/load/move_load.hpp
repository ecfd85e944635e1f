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

/// Which nodes give load, which take it, and how far to go. Vectors by resource run parallel to LoadTable::resources().
struct LoadRules {
  std::vector<NodeIndex> sources;       ///< in the order they are relieved
  std::vector<NodeIndex> destinations;  ///< in the order they are preferred
  std::vector<double> high;             ///< percent above which a source is relieved in a resource
  std::vector<double> level;            ///< down to which
  /// May a destination take it? `after`: its percentages then. Empty: if it stays at or below the level.
  std::function<bool(NodeIndex from, std::span<const double> after)> accepts;
  std::vector<std::string> excluded_namespaces;
  std::optional<std::uint32_t> evictions_per_node;
  std::function<std::string(NodeIndex)> reason;
};

/// Moves pods from the sources until these are at the level. Of a source's pods the one goes first that closes most of
/// its worst excess for its cost (move_cost()) without going beyond; when none of these can leave, the one that goes
/// beyond least, if that is still better than staying. Where it is known what is usual, the one that closes most is the
/// one whose going lessens most the squared excess, kPartOfNow of it now and the rest usually. Equal ones by namespace,
/// name and UID. A pod whose usage is not known stays. `giving` and `taking` are the loads that sources and
/// destinations are judged by; both are kept up to date, and `usual` too. REQUIRES: all are over the same resources and
/// know all nodes of `rules`.
void move_load(const StrategyContext& context, NominationSink& sink, LoadTable& giving, LoadTable& taking,
               const LoadRules& rules, std::optional<UsualLoad> usual = std::nullopt);

}  // namespace strategies
