#pragma once

#include <span>
#include <vector>

#include "planner/strategies/load/load_table.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Percentages by resource.
struct LoadLimits {
  std::vector<double> low;    ///< A node at or below all of them never gets the taint
  std::vector<double> level;  ///< Maximum load up to which nodes are filled
};

/// Selects the nodes of a pool that the scheduler should avoid, so that replacements go to nodes with low load. The
/// scheduler scores by requests and fills the least requested nodes first, one after the other. Tainting the nodes
/// that come early in this order and lack capacity for the expected load is therefore sufficient. Others keep their
/// state, which prevents taints from flapping. At least kMinOpen of the nodes stay open. Designed for a scheduler that
/// prefers free nodes.
class LoadedNodes {
 public:
  static constexpr double kMinOpen = 0.05;

  /// `taking` is the load of the pool, which the caller updates when pods move. Keeps references to all arguments
  /// except `limits`.
  LoadedNodes(const StrategyContext& context, NominationSink& sink, const LoadTable& taking, LoadLimits limits);
  ~LoadedNodes() { sink_.plan().avoid_competitors({}, {}); }
  LoadedNodes(const LoadedNodes&) = delete;
  LoadedNodes& operator=(const LoadedNodes&) = delete;

  /// Taints nodes, and more when needed, while pods leave `sources`, whose load is `giving`.
  void avoid(const LoadTable& giving, std::span<const NodeIndex> sources);

 private:
  struct Node {
    NodeIndex node;
    double room;      ///< Free percentage in the tightest resource, negative above the level
    double fullness;  ///< Requested percentage; the scheduler starts with the lowest
    bool is_low;
    bool is_avoided;
    bool is_taint_promised;  ///< Has the taint regardless of the decision here
    bool is_open() const { return !is_avoided && !is_taint_promised; }
  };
  /// Load that leaves the sources: total percentage, and percentage per percent of fullness.
  struct Demand {
    double load = 0;
    double per_fullness = 1;
  };

  bool is_low(NodeIndex node) const { return !is_above(taking_.percents(node), limits_.low); }
  double fullness_of(NodeIndex node) const;
  Demand demand_of(const LoadTable& giving, std::span<const NodeIndex> sources) const;
  std::vector<Node> open_to_pods() const;
  static double water_level(std::span<const Node> nodes, const Demand& demand);
  void keep_some_open(std::vector<Node>& nodes, double water) const;
  std::size_t min_open_nodes(std::size_t nodes) const;

  const StrategyContext& context_;
  NominationSink& sink_;
  const LoadTable& taking_;
  const LoadLimits limits_;
};

}  // namespace strategies
