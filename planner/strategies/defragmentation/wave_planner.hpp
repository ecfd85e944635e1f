#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "planner/scheduling/pdb_budget.hpp"
#include "planner/strategies/defragmentation/packing.hpp"
#include "planner/strategies/defragmentation/problem.hpp"

namespace strategies {

/// Owner, labels and requests: equal for pods that find a place where the others do.
using PodKind = std::array<std::uint32_t, 3>;
/// nullopt: there is none like it.
std::optional<PodKind> kind_of(PodIndex pod, const scheduling::ClusterSnapshot& base);

struct WaveMove {
  PodIndex pod;
  NodeIndex from;
  NodeIndex to;  ///< where the scheduler puts it
  std::int32_t wave;
  bool is_chosen = false;  ///< because the plan asks for that node; else by itself
};

/// Empties nodes on a rehearsal, where the scheduler says where pods go: packs what is left, makes these moves in
/// waves, and packs again what came otherwise. In a wave sources are as occupied as targets, and each
/// PodDisruptionBudget is spent but once.
class WavePlanner {
 public:
  /// `emptying`: by node.
  WavePlanner(const DefragmentationProblem& problem, std::unique_ptr<WhatIfPlacement> placement,
              std::vector<bool> emptying, bool chooses_targets, PackingStyle style, SearchBudget& budget, Rng& rng);

  /// Makes those of an earlier plan's moves that still can be made. Before run().
  void repeat(const std::vector<WaveMove>& plan, std::size_t most_moves);

  /// True: all of them are empty, with at most so many moves. Call it once.
  bool run(std::size_t most_moves);

  /// After run(): one more node in waves of their own. False: nothing changed, though the node may bear the taint now
  /// and take no pods (avoided()).
  bool extend(NodeIndex node, PackingStyle style, std::size_t most_moves);

  /// In order; each goes where the rehearsal put it.
  const std::vector<WaveMove>& moves() const { return moves_; }
  /// Of those to be emptied, the ones on which pods are left.
  std::vector<NodeIndex> left() const;
  /// Sum of the sizes of their pods that are left.
  double left_size() const;
  /// By node: is to be emptied.
  const std::vector<bool>& emptying() const { return emptying_; }
  /// By node: bears the taint.
  const std::vector<bool>& avoided() const { return avoided_; }

 private:
  struct Wave {
    explicit Wave(const scheduling::WhatIf& cluster);
    scheduling::WhatIf before;
    scheduling::PdbBudgets budgets;
    std::vector<PodIndex> depending{};    ///< those of them that may have to be where others are
    std::vector<PodIndex> leaving{};      ///< in the order they leave
    std::vector<std::uint8_t> is_left;    ///< by node: some pod leaves it
    std::vector<std::uint32_t> awaited;   ///< by node: pods that are still to leave it
    std::vector<std::uint32_t> reserved;  ///< by node: pods that wait for room on it, where no other is to go
    std::map<PodKind, int> failures{};    ///< pods of a kind in a row that found no place
  };

  const scheduling::WhatIf& cluster() const { return placement_->cluster(); }
  bool is_empty(NodeIndex node) const;
  bool is_untouched(NodeIndex node) const;
  void take_back(std::size_t moves);
  std::vector<PackedMove> pack();
  std::size_t run_waves(std::size_t most_moves);
  std::size_t run_wave(std::vector<PackedMove>& pending);
  // --- filling (filling.cpp)
  /// Pods that are equal to the scheduler, and where it would put the next of them.
  struct PodClass {
    std::vector<PodIndex> pods;     ///< the last one goes first
    double size;                    ///< of each, with some noise
    std::optional<NodeIndex> to{};  ///< nullopt: nowhere when it was asked about last
    double waste = 0;               ///< of that node's room, for each part that the pod takes
  };
  /// What is free on a node, in parts of what it offers. Below 0: so much is missing.
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
  bool make_gap(PodIndex pod, Wave& wave, TargetForecast& foresight);
  Gap find_gap(PodIndex pod, const Wave& wave, TargetForecast& foresight);
  void foresee(PodClass& pod_class, const Wave& wave);
  std::optional<std::pair<NodeIndex, double>> foresee(PodIndex pod, const Wave& wave);
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
  bool meets_its_own(PodIndex pod, const Wave& wave) const;
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
  std::vector<bool> takes_;
  bool chooses_targets_;  ///< where the scheduler goes along; else it does
  PackingStyle style_;
  SearchBudget& budget_;
  Rng& rng_;
  std::vector<WaveMove> moves_;
  WorkloadCounts counts_;
  std::int32_t wave_ = 0;
  bool waits_for_budget_ = false;  ///< something could go in another wave
};

}  // namespace strategies
