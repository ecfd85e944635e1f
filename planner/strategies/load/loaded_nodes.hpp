#pragma once

#include <span>
#include <vector>

#include "planner/strategies/load/load_table.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Percent by resource.
struct LoadLimits {
  std::vector<double> low;    ///< a node at or below all of them is always welcome
  std::vector<double> level;  ///< up to which nodes may be filled
};

/// Which of a pool's nodes the scheduler is to avoid, so that replacements end on nodes with little load. The scheduler
/// goes by requests and fills the nodes where least is asked for, one after the other. So it is enough to avoid those
/// that come early in this order and have no room for the load that would meet them; all others stay as they are, which
/// keeps taints from flapping. At least kMinOpen of the nodes stay open. Made for a scheduler that prefers free
/// nodes.
class LoadedNodes {
 public:
  static constexpr double kMinOpen = 0.05;

  /// `taking`: the pool's load, which is kept up to date by whoever moves pods. Keeps references to all of these.
  LoadedNodes(const StrategyContext& context, NominationSink& sink, const LoadTable& taking, LoadLimits limits);
  ~LoadedNodes() { sink_.avoid_competitors({}, {}); }
  LoadedNodes(const LoadedNodes&) = delete;
  LoadedNodes& operator=(const LoadedNodes&) = delete;

  /// Has nodes avoided, and more as the need arises, while pods leave `sources`, whose load is `giving`.
  void avoid(const LoadTable& giving, std::span<const NodeIndex> sources);

 private:
  struct Node {
    NodeIndex node;
    double room;      ///< percent of load in its tightest resource, below 0: above the level
    double fullness;  ///< percent that is asked for: the scheduler begins with the lowest
    bool is_low;
    bool is_avoided;
    bool is_pledged;  ///< bears the taint whatever is decided here
    bool is_open() const { return !is_avoided && !is_pledged; }
  };
  /// What leaves the sources: percent of load in all, and for each percent of fullness that it brings.
  struct Demand {
    double load = 0;
    double per_fullness = 1;
  };

  double room_on(NodeIndex node) const;
  double worst_excess(const LoadTable& giving, NodeIndex node) const;
  bool is_low(NodeIndex node) const;
  double fullness_of(NodeIndex node) const;
  Demand demand_of(const LoadTable& giving, std::span<const NodeIndex> sources) const;
  std::vector<Node> open_to_pods() const;
  static double water_level(std::span<const Node> nodes, const Demand& demand);
  void keep_some_open(std::vector<Node>& nodes, double water) const;
  std::size_t least_open(std::size_t nodes) const;

  const StrategyContext& context_;
  NominationSink& sink_;
  const LoadTable& taking_;
  const LoadLimits limits_;
};

}  // namespace strategies
