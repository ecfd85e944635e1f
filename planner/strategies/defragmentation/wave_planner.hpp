#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "planner/scheduling/pdb_budget.hpp"
#include "planner/strategies/defragmentation/packing.hpp"
#include "planner/strategies/defragmentation/problem.hpp"

namespace strategies {

/// Owner, labels and requests. Pods with equal values fit the same nodes.
using PodKind = std::array<std::uint32_t, 3>;
/// Returns nullopt if no other pod is of the same kind.
std::optional<PodKind> kind_of(PodIndex pod, const ClusterSnapshot& base);

struct WaveMove {
  PodIndex pod;
  NodeIndex from;
  NodeIndex to;  ///< node chosen by the scheduler
  std::int32_t wave;
  bool is_chosen = false;  ///< the plan hints the node; otherwise the scheduler chooses it by itself
};

/// Empties nodes on a what-if placement, which predicts where the scheduler puts pods: packs the remaining pods, makes
/// these moves in waves, and packs again what went elsewhere. Within a wave, moving pods count on both source and
/// target, and each PodDisruptionBudget is spent only once.
class WavePlanner {
 public:
  /// `emptying` is indexed by node.
  WavePlanner(const DefragmentationProblem& problem, std::unique_ptr<WhatIfPlacement> placement,
              std::vector<bool> emptying, bool chooses_targets, PackingStyle style, SearchBudget& budget, Rng& rng);

  /// Repeats those moves of an earlier plan that are still possible. Call before run().
  void repeat(const std::vector<WaveMove>& plan, std::size_t most_moves);

  /// Returns true if all nodes were emptied with at most `most_moves` moves. Call at most once.
  bool run(std::size_t most_moves);

  /// Call after run(). Empties one more node in separate waves. If it returns false, moves are unchanged, but the node
  /// may now have the taint and take no pods (see avoided()).
  bool extend(NodeIndex node, PackingStyle style, std::size_t most_moves);

  /// Moves in order, with the nodes where the what-if placement put the pods.
  const std::vector<WaveMove>& moves() const { return moves_; }
  /// Nodes to be emptied that still have pods.
  std::vector<NodeIndex> left() const;
  /// Sum of the sizes of the remaining pods on left().
  double left_size() const;
  /// Nodes to be emptied, indexed by node.
  const std::vector<bool>& emptying() const { return emptying_; }
  /// Nodes with the taint, indexed by node.
  const std::vector<bool>& avoided() const { return avoided_; }

 private:
  struct Wave {
    explicit Wave(const WhatIf& cluster) : before(cluster) {}
    WhatIf before;
    scheduling::PdbBudgets budgets{before.base()};
    std::vector<PodIndex> depending{};  ///< pods in `leaving` that may depend on the placement of others
    std::vector<PodIndex> leaving{};    ///< in the order in which they leave
    using Counts = std::vector<std::uint32_t>;
    Counts is_left = Counts(before.base().node_count(), 0);  ///< indexed by node: 1 if a pod leaves it
    Counts awaited = is_left;                                ///< indexed by node: number of pods yet to leave it
    /// Indexed by node: number of pods that wait for its capacity, which no other pod may take.
    Counts reserved = is_left;
    std::map<PodKind, int> failures{};  ///< consecutive pods of a kind that found no place
  };

  const WhatIf& cluster() const { return placement_->cluster(); }
  bool is_empty(NodeIndex node) const;
  bool is_untouched(NodeIndex node) const;
  void take_back(std::size_t moves);
  std::vector<PackedMove> pack();
  std::size_t run_waves(std::size_t most_moves);
  std::size_t run_wave(std::vector<PackedMove>& pending);
  // --- Filling (filling.cpp)
  /// Pods that are equal for the scheduler, and the node that it would choose for the next of them.
  struct PodClass {
    std::vector<PodIndex> pods;     ///< the last one moves first
    double size;                    ///< size of each pod, with noise
    std::optional<NodeIndex> to{};  ///< nullopt if the last prediction found no node
    double waste = 0;               ///< wasted capacity of that node per unit of pod size
  };
  /// Free shares of a node's allocatable. Negative if capacity is missing.
  struct FreeShare {
    double cpu;
    double memory;
    double least() const { return std::min(cpu, memory); }
  };
  struct Gap;
  class TargetForecast;
  class GapSearch;
  void fill(std::size_t most_moves);
  std::size_t fill_wave(std::vector<PodClass>& pod_classes, double most_waste);
  void fill_gaps(Wave& wave, std::vector<PodClass>& pod_classes, double most_waste);
  void make_gaps(Wave& wave, const std::vector<PodClass>& pod_classes);
  bool make_gap(PodIndex pod, Wave& wave, TargetForecast& forecast);
  Gap find_gap(PodIndex pod, const Wave& wave, TargetForecast& forecast);
  void predict(PodClass& pod_class, const Wave& wave);
  std::optional<std::pair<NodeIndex, double>> predict(PodIndex pod, const Wave& wave);
  std::vector<PodClass> pod_classes();
  double waste_of(double free_share) const;
  FreeShare free_beside(NodeIndex node, PodIndex pod) const;

  bool attempt(const PackedMove& move, Wave& wave);
  bool attempt_instead(const PackedMove& move, Wave& wave);
  bool relocate(PodIndex pod, const PackedMove& instead_of, Wave& wave);
  std::optional<NodeIndex> find_target(PodIndex pod, const PackedMove& instead_of, const Wave& wave);
  std::optional<NodeIndex> find_chosen(PodIndex pod, const PackedMove& instead_of, const Wave& wave);
  std::optional<NodeIndex> keep_if_fitting(PodIndex pod, std::optional<NodeIndex> to, const Wave& wave);
  bool fits_somewhere(PodIndex pod) const;
  Goal goal_of(PodIndex pod) const;
  bool is_blocked_by_own_workload(PodIndex pod, const Wave& wave) const;
  bool depends_on_others(PodIndex pod) const;
  bool keeps_skew(PodIndex pod, const Wave& wave) const;
  bool is_spread_in_flight(PodIndex owner, PodIndex latest, const Wave& wave) const;
  bool attaches_in_flight(PodIndex pod, NodeIndex node, const Wave& wave) const;
  bool is_counted_on(PodIndex pod, const Wave& wave) const;
  bool follows_in_flight(PodIndex pod, const Wave& wave) const;
  bool looks_beyond_node(PodIndex pod) const;
  bool fits_in_flight(PodIndex pod, NodeIndex node, const Wave& wave) const;

  const DefragmentationProblem& problem_;
  std::unique_ptr<WhatIfPlacement> placement_;
  std::vector<bool> emptying_;
  std::vector<bool> avoided_;
  std::vector<bool> may_take_pods_;
  bool chooses_targets_;  ///< the plan hints nodes where the scheduler follows; otherwise the scheduler chooses
  PackingStyle style_;
  SearchBudget& budget_;
  Rng& rng_;
  std::vector<WaveMove> moves_;
  WorkloadCounts counts_;
  std::int32_t wave_ = 0;
  bool may_continue_in_next_wave_ = false;  ///< some pods could move in another wave
};

}  // namespace strategies
