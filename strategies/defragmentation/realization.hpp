#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "scheduling/pdb_budget.hpp"
#include "strategies/defragmentation/packing.hpp"
#include "strategies/defragmentation/problem.hpp"

namespace strategies {

struct WaveMove {
  PodIndex pod;
  NodeIndex from;
  NodeIndex to;  ///< where the scheduler puts it
  std::int32_t wave;
};

/// Stops a search: asked between steps.
using ShouldStop = std::function<bool()>;

/// Empties nodes on a rehearsal, where the scheduler says where pods go: packs what is left, makes these moves in waves,
/// and packs again what came otherwise.
class Realization {
 public:
  /// `emptying`: by node.
  Realization(const DefragmentationProblem& problem, std::unique_ptr<Rehearsal> rehearsal, std::vector<bool> emptying,
              const ShouldStop& should_stop);

  /// True: all of them are empty. Call it once.
  bool run();

  /// In order; each goes where the rehearsal put it.
  const std::vector<WaveMove>& moves() const { return moves_; }
  /// Of those to be emptied, the ones on which pods are left.
  std::vector<NodeIndex> left() const;

 private:
  /// What happens in the wave under way, where sources are as occupied as targets.
  struct Wave {
    explicit Wave(const scheduling::Overlay& cluster);
    scheduling::Overlay before;
    scheduling::PdbBudgets budgets;
    std::vector<PodIndex> leaving;          ///< in the order they leave
    std::vector<std::uint8_t> is_left;      ///< by node: some pod leaves it
    std::vector<std::uint32_t> reserved{};  ///< by node: pods that wait for room on it, where no other is to go
  };

  const scheduling::Overlay& cluster() const { return rehearsal_->cluster(); }
  std::vector<PackedMove> pack();
  std::size_t run_wave(std::vector<PackedMove>& pending);
  bool attempt(const PackedMove& move, Wave& wave);
  bool fits_in_flight(PodIndex pod, NodeIndex node, const Wave& wave, const scheduling::FitQuery& before) const;

  const DefragmentationProblem& problem_;
  std::unique_ptr<Rehearsal> rehearsal_;
  std::vector<bool> emptying_;
  std::vector<bool> takes_;
  const ShouldStop& should_stop_;
  std::vector<WaveMove> moves_;
  std::int32_t wave_ = 0;
};

}  // namespace strategies
