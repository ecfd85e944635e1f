#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/extender/config.hpp"
#include "cmd/extender/extender_args.hpp"
#include "cmd/extender/load_model.hpp"

namespace extending {

/// Where an Evacuation wants the pod to go.
struct PodHint {
  std::string node;
  bool is_required = false;
  std::string evacuation;  ///< "namespace/name"
};

struct FilterDecision {
  std::vector<std::string> reasons;  ///< by candidate; empty: it passes
  std::size_t critical = 0;          ///< candidates whose load is critical
  bool all_critical = false;         ///< so that load kept none of them out
  bool is_final = false;             ///< preemption would not help: a hint decided
};

/// Which candidates are out. A required hint leaves its node alone, whatever its load. Else those go whose load is
/// above a critical threshold, unless all would. Pods that must run (DaemonSets, priorities of the system, spared
/// namespaces) are kept from no node for load. `loads` runs parallel to the candidates, without the pod; unknown is not
/// critical.
FilterDecision filter(const ExtenderConfig& config, const ExtenderArgs& args, const LoadModel* board,
                      const std::vector<std::optional<NodeLoad>>& loads, const std::optional<PodHint>& hint);

struct PriorityDecision {
  std::vector<std::int32_t> scores;  ///< by candidate, 0 … kBestScore
  std::size_t unknown = 0;           ///< candidates without a score of their own
  std::optional<std::size_t> best;   ///< the first of the best; absent: nobody knows
};

/// `loads` with the pod. A hint's node gets the best score and the others at most half of it.
PriorityDecision prioritize(const ExtenderConfig& config, const ExtenderArgs& args, const LoadModel* board,
                            const std::vector<std::optional<NodeLoad>>& loads, const std::optional<PodHint>& hint);

/// Where the scheduler is likely to send the pod: among nodes with the highest score its own points decide, and they go
/// to those with few pods of the workload. `siblings`: those pods, by candidate. nullopt: nobody knows any load.
std::optional<std::size_t> likely_place(const PriorityDecision& decision, const std::vector<std::size_t>& siblings);

}  // namespace extending
