#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/extender/load_model.hpp"

namespace extender {

/// Parameters of Trimaran's LoadVariationRiskBalancing. Risk is half of the sum of mean load and deviation, both as
/// fractions of the node; the score is 100 × (1 − risk). The deviation is raised to the power of 1/`sensitivity` and
/// multiplied by `margin`.
struct RiskArgs {
  std::vector<std::string> resources{"cpu", "memory"};
  double margin = 1;
  double sensitivity = 1;
  friend bool operator==(const RiskArgs&, const RiskArgs&) = default;
};
double risk_score(double mean_percent, double deviation_percent, double margin, double sensitivity);

/// A scoring rule of the configuration with its relative weight.
struct ScoreRule {
  enum class Kind { kTargetLoadPacking, kLoadVariationRiskBalancing };
  Kind kind = Kind::kLoadVariationRiskBalancing;
  double weight = 1;
  RiskArgs risk{};                                       ///< for kLoadVariationRiskBalancing
  std::vector<std::pair<std::string, double>> target{};  ///< for kTargetLoadPacking: percentage by resource
  friend bool operator==(const ScoreRule&, const ScoreRule&) = default;
};

/// Returns the weighted mean of the rules, 0 to 100. Each rule uses the worst of its measured resources. Returns
/// nullopt if none is measured. `load` is parallel to board.resources.
std::optional<double> score_of(const NodeLoad& load, const LoadModel& board, const std::vector<ScoreRule>& rules);

/// Maps scores to the scheduler's range of 0 to 10: the best node gets 10 and the worst 0. If they are less than ten
/// points apart, one point is one step. A node without a score gets the average of the others, or 5 if no node has a
/// score.
std::vector<std::int32_t> extender_scores(const std::vector<std::optional<double>>& scores);

}  // namespace extender
