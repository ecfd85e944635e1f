#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "strategies/defragmentation/problem.hpp"

namespace strategies {

/// One pod's way to another node.
struct PackedMove {
  PodIndex pod;
  NodeIndex from;
  NodeIndex to;
  bool needs_hole;  ///< its place is free only once an earlier one of the moves has been made
};

/// Finds places for the pods of nodes that are to be emptied, on an overlay of its own, by all filters of the scheduler:
/// where they fit; else in the place of a pod that fits elsewhere (a swap), whose place may again be that of another (a
/// chain). A pod moves at most once. Says what is possible, not what a scheduler would do by itself.
class Packing {
 public:
  static constexpr int kDepth = 2;  ///< pods that make room for one another

  /// `takes`: by node, which ones take pods.
  Packing(const DefragmentationProblem& problem, const scheduling::Overlay& cluster, std::vector<bool> takes,
          int depth = kDepth);

  /// Places all of them, or none: then stuck() says for which one there is no place.
  bool place_all(const std::vector<PodIndex>& pods);
  PodIndex stuck() const { return stuck_; }
  /// From here on the node takes pods.
  void open(NodeIndex node);
  /// The pod would fit there as it is now.
  bool fits(PodIndex pod, NodeIndex node) const;
  bool has_arrivals(NodeIndex node) const { return arrivals_[node] > 0; }

  /// In an order in which each finds its place free.
  const std::vector<PackedMove>& moves() const { return moves_; }
  const scheduling::Overlay& cluster() const { return cluster_; }

 private:
  struct Ejection {
    NodeIndex node;
    PodIndex pod;
    double size;
    double rest;  ///< what stays free
  };

  bool place(PodIndex pod, int depth);
  bool place_by_ejection(PodIndex pod, int depth);
  std::vector<Ejection> ejections_for(PodIndex pod, const scheduling::FitQuery& query) const;
  std::optional<NodeIndex> best_fit(PodIndex pod, const scheduling::FitQuery& query) const;
  bool is_plain(PodIndex pod) const;
  double free_share(NodeIndex node) const;
  void move(PodIndex pod, NodeIndex to, bool needs_hole);
  void roll_back(std::size_t moves);

  const DefragmentationProblem& problem_;
  scheduling::Overlay cluster_;
  std::vector<bool> takes_;
  std::vector<NodeIndex> order_;  ///< the nodes that take
  std::vector<std::uint32_t> arrivals_;
  std::vector<PackedMove> moves_;
  PodIndex stuck_ = scheduling::kNoPod;
  mutable std::size_t hint_ = 0;
  int depth_;
};

}  // namespace strategies
