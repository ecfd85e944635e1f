#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/extender/load_model.hpp"

namespace extending {

/// Trimaran's LoadVariationRiskBalancing: the risk of a node is half of its mean load plus its deviation, both as
/// shares of it; the score is what is left of 100. `margin` times the deviation's `sensitivity`-th root counts.
struct RiskArgs {
  std::vector<std::string> resources{"cpu", "memory"};
  double margin = 1;
  double sensitivity = 1;
  friend bool operator==(const RiskArgs&, const RiskArgs&) = default;
};
double risk_score(double mean_percent, double deviation_percent, double margin, double sensitivity);

/// One score of the configuration with its weight among them.
struct ScoreRule {
  enum class Kind { kTargetLoadPacking, kLoadVariationRiskBalancing };
  Kind kind = Kind::kLoadVariationRiskBalancing;
  double weight = 1;
  RiskArgs risk{};                                       ///< of kLoadVariationRiskBalancing
  std::vector<std::pair<std::string, double>> target{};  ///< of kTargetLoadPacking: percent by resource
  friend bool operator==(const ScoreRule&, const ScoreRule&) = default;
};

/// 0 … 100, the weighted mean of the rules; of each the worst of its resources counts, as far as they are measured.
/// nullopt: none of them is. `load` runs parallel to board.resources.
std::optional<double> score_of(const NodeLoad& load, const LoadModel& board, const std::vector<ScoreRule>& rules);

/// 0 … 10 for the scheduler: the best node gets 10 and the worst 0, unless they are less than ten points apart: then
/// each point is one step. A node without a score is as good as the others are on average; 5 where all are without.
std::vector<std::int32_t> extender_scores(const std::vector<std::optional<double>>& scores);

}  // namespace extending
