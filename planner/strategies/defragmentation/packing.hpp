#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "planner/strategies/defragmentation/problem.hpp"
#include "planner/strategies/search_budget.hpp"

namespace strategies {

struct PackedMove {
  PodIndex pod;
  NodeIndex from;
  NodeIndex to;
  bool needs_gap;  ///< its place becomes free only after earlier moves
};

struct PackingStyle {
  int depth = 2;              ///< maximum length of a chain in which pods make capacity for one another
  std::size_t tries = 16;     ///< swaps tried per pod, out of four times as many compared
  std::size_t ejected = 3;    ///< maximum pods that leave a node for one pod; more where fewer can never free enough
  double noise = 0;           ///< random factor in the choice of places; 0 for none
  int patience = 3;           ///< failures after which no further pods of the same kind are tried
  bool fills = false;         ///< fill free capacity as exactly as the scheduler allows, before packing
  double open = 0.5;          ///< waste of capacity that another pod may fill, in units of a small pod
  double price = 0.1;         ///< waste that a move counts as while filling, in units of a small pod
  bool direct_first = false;  ///< order pods that need no gap first; otherwise pods that make gaps
  bool by_shape = false;  ///< prefer nodes where free cpu and memory become most similar; otherwise the fullest node
  /// Desired size of what leaves to make capacity for a pod, relative to the pod; values above 1 let other pods use the
  /// gap too. 0 means as little as possible.
  double gap = 0;
};

/// Finds places for the pods of nodes to be emptied, on its own WhatIf, by all filters of the scheduler: free capacity,
/// or the place of pods that fit elsewhere (a swap), which may displace others in turn (a chain). Each pod moves at
/// most once. Results show what is possible, not what the scheduler would choose.
class Packing {
 public:
  /// `takes` is indexed by node and tells which nodes take pods. `moved` contains earlier moves.
  Packing(const DefragmentationProblem& problem, const WhatIf& cluster, std::vector<bool> takes, WorkloadCounts moved,
          PackingStyle style, SearchBudget& budget, Rng& rng);

  /// Places all pods or none. If it returns false, stuck() is the pod without a place.
  bool place_all(const std::vector<PodIndex>& pods);
  PodIndex stuck() const { return stuck_; }
  /// Lets the node take pods from now on.
  void open(NodeIndex node);
  /// Returns the position of the last node that the pod currently fits.
  std::optional<std::size_t> last_that_fits(PodIndex pod, std::span<const NodeIndex> nodes) const;

  /// Moves in an order in which each finds its place free.
  const std::vector<PackedMove>& moves() const { return moves_; }

 private:
  /// Sum of pods that have left a node.
  struct FreedSums {
    std::int64_t cpu = 0;
    std::int64_t memory = 0;
    std::uint32_t pods = 0;
  };
  /// Free capacity of a node minus headroom, for resources that nearly every pod requests. This is the most frequent
  /// look-up.
  struct FreeResources {
    std::int64_t cpu = 0;
    std::int64_t memory = 0;
    std::int64_t pods = 0;
  };
  /// A pod's requests for FreeResources; INT64_MIN where it requests nothing.
  struct Need {
    std::int64_t cpu;
    std::int64_t memory;
    bool is_all;  ///< the pod requests no other resources
    bool is_met(const FreeResources& room) const {
      return room.cpu >= cpu && room.memory >= memory && room.pods >= 1000;
    }
  };
  /// Pods that could free capacity on a node by leaving.
  struct Ejection {
    NodeIndex node;
    std::vector<PodIndex> pods;
    double cost;  ///< capacity that they need elsewhere
  };

  bool place(PodIndex pod, int depth);
  bool place_by_ejection(PodIndex pod, const FitQuery& query, int depth);
  bool eject(PodIndex pod, const Ejection& ejection, int depth);
  std::vector<Ejection> ejections_for(PodIndex pod, const FitQuery& query);
  void add_ejections_on(NodeIndex node, PodIndex pod, std::size_t max_ejected, std::vector<Ejection>& found);
  Ejection without_needless(Ejection ejection, PodIndex pod) const;
  void add_ejections(PodIndex pod, const FitQuery& query, std::size_t max_ejected, std::vector<Ejection>& found);
  std::optional<Ejection> several_on(NodeIndex node, PodIndex pod, std::size_t most) const;
  std::optional<NodeIndex> best_fit(PodIndex pod, const FitQuery& query);
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
  bool frees_enough(PodIndex other, const Need& need, PodIndex pod, NodeIndex node) const;
  bool is_free_to_leave(PodIndex pod) const;
  bool has_free_capacity(PodIndex pod, NodeIndex node, std::span<const PodIndex> leaving) const;

  const DefragmentationProblem& problem_;
  WhatIf cluster_;
  std::vector<bool> may_take_pods_;
  std::vector<NodeIndex> order_;  ///< nodes that take pods
  std::vector<PackedMove> moves_;
  std::vector<FreedSums> gone_;      ///< indexed by node: sums of moves_
  std::vector<FreeResources> free_;  ///< indexed by node
  WorkloadCounts counts_;
  PackingStyle style_;
  SearchBudget& budget_;
  Rng& rng_;
  PodIndex stuck_ = kNoPod;
  std::size_t hint_ = 0;  ///< position in order_ where the last search for swaps ended
};

}  // namespace strategies
