#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/extender/config.hpp"
#include "cmd/extender/extender_args.hpp"
#include "cmd/extender/load_model.hpp"

namespace extender {

/// Returns the score of LoadVariationRiskBalancing, 0 to 100.
double risk_score(double mean_percent, double deviation_percent, double margin, double sensitivity);

/// Returns the weighted mean of the rules, 0 to 100. Each rule uses the worst of its measured resources. Returns
/// nullopt if none is measured. `load` is parallel to board.resources.
std::optional<double> score_of(const NodeLoad& load, const LoadModel& board, const std::vector<ScoreRule>& rules);

/// Maps scores to the scheduler's range of 0 to 10: the best node gets 10 and the worst 0. If they are less than ten
/// points apart, one point is one step. A node without a score gets the average of the others, or 5 if no node has a
/// score.
std::vector<std::int32_t> extender_scores(const std::vector<std::optional<double>>& scores);

/// Target node that an Evacuation requests for a pod.
struct PodHint {
  std::string node;
  bool is_required = false;
  std::string evacuation;  ///< "namespace/name"
};

struct FilterDecision {
  std::vector<std::string> reasons;  ///< by candidate: why it is filtered out, empty if it passes
  std::size_t critical = 0;          ///< number of candidates with critical load
  bool all_critical = false;         ///< every candidate has critical load, so load filtered none of them
  bool is_final = false;             ///< a hint decided, so preemption would not help
};

/// Filters candidates. A required hint leaves only its node, whatever the load. Otherwise candidates above a critical
/// threshold are filtered out, unless that would remove all of them. Load never filters nodes for pods that must run
/// (DaemonSets, system priorities, spared namespaces). `loads` is parallel to the candidates and excludes the pod;
/// unknown load is not critical.
FilterDecision filter(const ExtenderConfig& config, const ExtenderArgs& args, const LoadModel* board,
                      const std::vector<std::optional<NodeLoad>>& loads, const std::optional<PodHint>& hint);

struct PriorityDecision {
  std::vector<std::int32_t> scores;  ///< by candidate, 0 to kBestScore
  std::size_t unknown = 0;           ///< number of candidates without their own score
  std::optional<std::size_t> best;   ///< first candidate with the best score, nullopt if no load is known
};

/// Scores candidates. `loads` includes the pod. The node of a hint gets the best score; other scores are halved.
PriorityDecision prioritize(const ExtenderConfig& config, const ExtenderArgs& args, const LoadModel* board,
                            const std::vector<std::optional<NodeLoad>>& loads, const std::optional<PodHint>& hint);

/// Predicts where the scheduler places the pod. Among nodes with the highest score the scheduler's own scoring decides,
/// which prefers nodes with few pods of the workload. `siblings` is the number of those pods by candidate. Returns
/// nullopt if no load is known.
std::optional<std::size_t> predicted_node(const PriorityDecision& decision, const std::vector<std::size_t>& siblings);

}  // namespace extender
