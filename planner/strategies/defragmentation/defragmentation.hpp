#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/meta/well_known.hpp"
#include "base/clock.hpp"
#include "planner/strategies/common_args.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Decides which of two nodes is emptied first.
struct NodePreference {
  enum class By { kLabel, kSelector, kAge };
  By by = By::kLabel;
  std::string label;  ///< with kLabel: compared as a number; nodes without it come last
  std::optional<api::LabelSelector> selector;
  bool descending = true;  ///< highest number or oldest node first
};

/// Empties as many nodes as possible with few moves, including swaps (docs/strategies/defragmentation.md).
struct Defragmentation {
  static constexpr std::string_view kName = "Defragmentation";
  static constexpr StrategyPhase kPhase = StrategyPhase::kBalance;

  std::int32_t min_nodes_freed = 1;  ///< no moves are made if the plan frees fewer nodes
  std::optional<std::int32_t> max_moves;
  std::optional<api::IntOrPercent> per_workload;  ///< maximum pods of one owner that one plan moves
  base::Duration time_budget = base::seconds(10);
  std::optional<api::LabelSelector> node_selector;  ///< nodes that may be emptied; all if absent
  std::vector<NodePreference> empty_first;          ///< the first entry that distinguishes two nodes decides
  Percentages headroom;                             ///< stays free on nodes where pods arrive
  double weight_of_node = 1;                        ///< value of a freed node
  double weight_of_move = 0;                        ///< cost of a move

  static Defragmentation read(api::StrictObject& args);
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const;
  StrategyNeeds needs() const { return {.soft_taint = api::well_known::kEmptyingTaint}; }
};

/// Returns the rank of each node, 0 for nodes to be emptied first. Nodes have equal ranks if no preference
/// distinguishes them.
std::vector<std::uint32_t> ranks_of(const std::vector<NodePreference>& preferences,
                                    const std::vector<const api::Node*>& nodes);

}  // namespace strategies
