#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/core/kinds.hpp"
#include "base/clock.hpp"
#include "planner/strategies/common_args.hpp"

namespace strategies {

/// Which of two nodes is emptied first. Exactly one of the three is set.
struct NodePreference {
  enum class By { kLabel, kSelector, kAge };
  By by = By::kLabel;
  std::string label;  ///< with kLabel: compared as a number; nodes without one come last
  std::optional<api::LabelSelector> selector;
  bool descending = true;  ///< the highest number, or the oldest node, first
  friend bool operator==(const NodePreference&, const NodePreference&) = default;
};

/// The arguments of Defragmentation (docs/strategies/defragmentation.md).
struct DefragmentationRules {
  std::int32_t min_nodes_freed = 1;  ///< with fewer nothing moves
  std::optional<std::int32_t> max_moves;
  std::optional<api::IntOrPercent> per_workload;  ///< pods of one owner that one plan moves
  base::Duration time_budget = base::seconds(10);
  std::optional<api::LabelSelector> node_selector;  ///< of nodes that may be emptied; absent: all
  std::vector<NodePreference> empty_first;          ///< the first that tells two nodes apart decides
  Percentages headroom;                             ///< that stays free on nodes where pods arrive
  double weight_of_node = 1;                        ///< what a freed node is worth
  double weight_of_move = 0;                        ///< what a move costs
  friend bool operator==(const DefragmentationRules&, const DefragmentationRules&) = default;

  /// Complaints go to the object's list.
  static DefragmentationRules read(api::StrictObject& args);
};

/// By node: 0 for those that are to be emptied first. Equal ranks: nothing tells them apart.
std::vector<std::uint32_t> ranks_of(const std::vector<NodePreference>& preferences,
                                    const std::vector<const api::Node*>& nodes);

}  // namespace strategies
