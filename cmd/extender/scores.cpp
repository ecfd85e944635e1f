#include "cmd/extender/scores.hpp"

#include <algorithm>
#include <cmath>

#include "cmd/extender/extender_args.hpp"
#include "planner/strategies/load/target_load_packing.hpp"

namespace extender {
namespace {

constexpr std::int32_t kNeutral = kBestScore / 2;

void take_worst(std::optional<double>& worst, double score) { worst = std::min(worst.value_or(score), score); }

std::optional<double> score_by(const ScoreRule& rule, const NodeLoad& load, const LoadModel& board) {
  std::optional<double> worst;
  if (rule.kind == ScoreRule::Kind::kTargetLoadPacking) {
    for (const auto& [resource, target] : rule.target) {
      if (const auto r = board.place_of(resource))
        take_worst(worst, strategies::target_load_score(load.mean[*r], target));
    }
    return worst;
  }
  for (const std::string& resource : rule.risk.resources) {
    if (const auto r = board.place_of(resource))
      take_worst(worst, risk_score(load.mean[*r], load.deviation[*r], rule.risk.margin, rule.risk.sensitivity));
  }
  return worst;
}

}  // namespace

double risk_score(double mean_percent, double deviation_percent, double margin, double sensitivity) {
  const double mean = std::clamp(mean_percent / 100, 0.0, 1.0);
  const double share = std::clamp(deviation_percent / 100, 0.0, 1.0);
  const double deviation = sensitivity > 0 ? std::pow(share, 1 / sensitivity) : (share < 1 ? 0.0 : 1.0);
  return (1 - (mean + std::clamp(deviation * margin, 0.0, 1.0)) / 2) * 100;
}

std::optional<double> score_of(const NodeLoad& load, const LoadModel& board, const std::vector<ScoreRule>& rules) {
  double sum = 0;
  double weights = 0;
  for (const ScoreRule& rule : rules) {
    const auto score = score_by(rule, load, board);
    if (!score) continue;
    sum += rule.weight * *score;
    weights += rule.weight;
  }
  return weights > 0 ? std::optional(sum / weights) : std::nullopt;
}

std::vector<std::int32_t> extender_scores(const std::vector<std::optional<double>>& scores) {
  double best = 0;
  double worst = 0;
  double sum = 0;
  std::size_t known = 0;
  for (const auto& score : scores) {
    if (!score) continue;
    best = known == 0 ? *score : std::max(best, *score);
    worst = known == 0 ? *score : std::min(worst, *score);
    sum += *score;
    ++known;
  }
  std::vector<std::int32_t> made(scores.size(), kNeutral);
  if (known == 0) return made;
  const double step = std::max((best - worst) / kBestScore, 1.0);
  const auto in_steps = [&](double score) {
    return std::clamp(static_cast<std::int32_t>(std::lround(kBestScore - (best - score) / step)), 0, kBestScore);
  };
  const double average = sum / static_cast<double>(known);
  for (std::size_t i = 0; i < scores.size(); ++i) made[i] = in_steps(scores[i].value_or(average));
  return made;
}

}  // namespace extender
