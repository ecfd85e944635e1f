#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "planner/strategies/defragmentation/problem.hpp"
#include "planner/strategies/search_budget.hpp"

namespace strategies {

/// One pod's way to another node.
struct PackedMove {
  PodIndex pod;
  NodeIndex from;
  NodeIndex to;
  bool needs_gap;  ///< its place is free only once earlier ones of the moves have been made
};

/// How a packing goes about it.
struct PackingStyle {
  int depth = 2;              ///< so many pods may make room for one another in a chain
  std::size_t tries = 16;     ///< swaps that are tried for one pod, of four times as many that are compared
  std::size_t ejected = 3;    ///< pods that leave one node for one pod; more where fewer never make room
  double noise = 0;           ///< how far chance decides among places: 0, not at all
  int patience = 3;           ///< pods of a kind without a place, until no other of it is tried
  bool fills = false;         ///< what is free is filled as exactly as the scheduler lets, before anything is packed
  double open = 0.5;          ///< what room that another pod may fill counts as waste, in parts of a small pod
  double price = 0.1;         ///< what a move counts as waste while it fills, in parts of a small pod
  bool direct_first = false;  ///< pods that need no room made go first; else the ones that make room
  bool by_shape = false;      ///< a pod goes where cpu and memory that are left get the most alike; else where least is
  /// What makes room for a pod is to be so many times as large, so that others find a place there, too; 0: the less,
  /// the better.
  double gap = 0;
};

/// Finds places for the pods of nodes that are to be emptied, on an overlay of its own, by all filters of the
/// scheduler: where they fit; else in the place of pods that fit elsewhere (a swap), whose places may again be those of
/// others (a chain). A pod moves at most once. Says what is possible, not what a scheduler would do by itself.
class Packing {
 public:
  /// `takes`: by node, which ones take pods. `moved`: what was moved before.
  Packing(const DefragmentationProblem& problem, const scheduling::WhatIf& cluster, std::vector<bool> takes,
          WorkloadCounts moved, PackingStyle style, SearchBudget& budget, Rng& rng);

  /// Places all of them, or none: then stuck() says for which one there is no place.
  bool place_all(const std::vector<PodIndex>& pods);
  PodIndex stuck() const { return stuck_; }
  /// From here on the node takes pods.
  void open(NodeIndex node);
  /// The last of the nodes on which the pod would fit as things are now.
  std::optional<std::size_t> last_that_fits(PodIndex pod, std::span<const NodeIndex> nodes) const;

  /// In an order in which each finds its place free.
  const std::vector<PackedMove>& moves() const { return moves_; }

 private:
  /// What has left a node.
  struct FreedSums {
    std::int64_t cpu = 0;
    std::int64_t memory = 0;
    std::uint32_t pods = 0;
  };
  /// What is free on a node beside the headroom, of what nearly every pod asks for. Looked up more often than anything.
  struct FreeResources {
    std::int64_t cpu = 0;
    std::int64_t memory = 0;
    std::int64_t pods = 0;
  };
  /// What a pod asks for of that; the least number there is where it asks for nothing.
  struct Need {
    std::int64_t cpu;
    std::int64_t memory;
    bool is_all;  ///< it asks for nothing else
    bool is_met(const FreeResources& room) const {
      return room.cpu >= cpu && room.memory >= memory && room.pods >= 1000;
    }
  };
  /// Pods that could make room on a node.
  struct Ejection {
    NodeIndex node;
    std::vector<PodIndex> pods;
    double cost;  ///< what they take elsewhere
  };

  bool place(PodIndex pod, int depth);
  bool place_by_ejection(PodIndex pod, const scheduling::FitQuery& query, int depth);
  bool eject(PodIndex pod, const Ejection& ejection, int depth);
  std::vector<Ejection> ejections_for(PodIndex pod, const scheduling::FitQuery& query);
  void add_ejections_on(NodeIndex node, PodIndex pod, std::size_t most_ejected, std::vector<Ejection>& found);
  Ejection without_needless(Ejection ejection, PodIndex pod) const;
  void add_ejections(PodIndex pod, const scheduling::FitQuery& query, std::size_t most_ejected,
                     std::vector<Ejection>& found);
  std::optional<Ejection> several_on(NodeIndex node, PodIndex pod, std::size_t most) const;
  std::optional<NodeIndex> best_fit(PodIndex pod, const scheduling::FitQuery& query);
  bool is_plain(PodIndex pod) const;
  double free_share(NodeIndex node) const;
  double imbalance_by(const Need& need, NodeIndex node) const;
  double misfit(PodIndex other, PodIndex pod) const;
  bool needs_what_left(PodIndex pod, NodeIndex node) const;
  void count_gone(const PackedMove& move, std::int64_t sign);
  void make(const PackedMove& move);
  void roll_back(std::size_t moves);
  void move(PodIndex pod, NodeIndex to);
  void restore(PodIndex pod);
  void measure(NodeIndex node);
  Need need_of(PodIndex pod) const;
  double shortage(const Need& need, NodeIndex node) const;
  bool makes_room(PodIndex other, const Need& need, PodIndex pod, NodeIndex node) const;
  bool is_free_to_leave(PodIndex pod) const;
  bool has_room(PodIndex pod, NodeIndex node, std::span<const PodIndex> leaving) const;

  const DefragmentationProblem& problem_;
  scheduling::WhatIf cluster_;
  std::vector<bool> takes_;
  std::vector<NodeIndex> order_;  ///< the nodes that take
  std::vector<PackedMove> moves_;
  std::vector<FreedSums> gone_;      ///< by node: by those moves
  std::vector<FreeResources> room_;  ///< by node
  WorkloadCounts counts_;
  PackingStyle style_;
  SearchBudget& budget_;
  Rng& rng_;
  PodIndex stuck_ = scheduling::kNoPod;
  std::size_t hint_ = 0;  ///< where in order_ the last look for swaps ended
};

}  // namespace strategies
