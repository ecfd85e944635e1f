#pragma once

#include <cstdint>
#include <vector>

#include "strategies/defragmentation/realization.hpp"

namespace strategies {

struct DefragmentationPlan {
  std::vector<NodeIndex> emptied;  ///< sorted; those that are empty already are not among them
  std::vector<NodeIndex> avoided;  ///< sorted; those that take no pods, the empty ones included
  std::vector<WaveMove> moves;
};

/// The best plan found.
DefragmentationPlan find_plan(const DefragmentationProblem& problem, const NominationSink& sink,
                              const ShouldStop& should_stop);

}  // namespace strategies
