#include "cmd/extender/decision.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "planner/strategies/load/target_load_packing.hpp"

namespace extender {
namespace {

/// Minimum priority of system pods (scheduling.k8s.io: SystemCriticalPriority).
constexpr std::int32_t kSystemPriority = 2'000'000'000;

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

bool must_run(const ExtenderConfig& config, const api::Pod& pod) {
  return pod.is_daemon_set() || pod.priority.value_or(0) >= kSystemPriority ||
         std::ranges::find(config.exempt_namespaces, pod.meta.ns) != config.exempt_namespaces.end();
}

/// Returns why the load is critical, empty if it is not. The text is equal for all nodes so that the scheduler's
/// message can count them.
std::string critical_reason(const ExtenderConfig& config, const LoadModel& board, const NodeLoad& load) {
  for (const auto& [resource, limit] : config.critical) {
    const auto place = board.place_of(resource);
    if (place && load.mean[*place] > limit)
      return fmt::format("measured {} is critical (above {:.4g} %)", resource, limit);
  }
  return {};
}

std::vector<std::string> reasons_of_hint(const ExtenderArgs& args, const PodHint& hint) {
  std::vector<std::string> reasons;
  for (const std::string& node : args.nodes) {
    reasons.push_back(node == hint.node ? std::string()
                                        : fmt::format("the placement hint of Evacuation {} requires node {}",
                                                      hint.evacuation, hint.node));
  }
  return reasons;
}

void prefer(const std::string& node, const ExtenderArgs& args, std::vector<std::int32_t>& scores) {
  const auto at = std::ranges::find(args.nodes, node);
  if (at == args.nodes.end()) return;
  for (std::int32_t& score : scores) score /= 2;
  scores[static_cast<std::size_t>(at - args.nodes.begin())] = kBestScore;
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

FilterDecision filter(const ExtenderConfig& config, const ExtenderArgs& args, const LoadModel* board,
                      const std::vector<std::optional<NodeLoad>>& loads, const std::optional<PodHint>& hint) {
  if (hint && hint->is_required) return {.reasons = reasons_of_hint(args, *hint), .is_final = true};
  FilterDecision decision{.reasons = std::vector<std::string>(args.nodes.size())};
  if (board == nullptr || must_run(config, args.pod)) return decision;
  for (std::size_t i = 0; i < args.nodes.size(); ++i) {
    if (!loads[i]) continue;
    decision.reasons[i] = critical_reason(config, *board, *loads[i]);
    if (!decision.reasons[i].empty()) ++decision.critical;
  }
  if (decision.critical == 0 || decision.critical < args.nodes.size()) return decision;
  decision.all_critical = true;
  decision.reasons.assign(args.nodes.size(), {});
  return decision;
}

PriorityDecision prioritize(const ExtenderConfig& config, const ExtenderArgs& args, const LoadModel* board,
                            const std::vector<std::optional<NodeLoad>>& loads, const std::optional<PodHint>& hint) {
  PriorityDecision decision;
  std::vector<std::optional<double>> scores(args.nodes.size());
  for (std::size_t i = 0; i < args.nodes.size(); ++i) {
    if (board != nullptr && loads[i]) scores[i] = score_of(*loads[i], *board, config.rules);
    if (!scores[i]) ++decision.unknown;
    if (scores[i] && (!decision.best || *scores[i] > *scores[*decision.best])) decision.best = i;
  }
  decision.scores = extender_scores(scores);
  if (!hint) return decision;
  prefer(hint->node, args, decision.scores);
  const auto hinted = std::ranges::find(args.nodes, hint->node);
  if (hinted != args.nodes.end()) decision.best = static_cast<std::size_t>(hinted - args.nodes.begin());
  return decision;
}

std::optional<std::size_t> predicted_node(const PriorityDecision& decision, const std::vector<std::size_t>& siblings) {
  if (!decision.best) return std::nullopt;
  std::size_t likely = *decision.best;
  for (std::size_t i = 0; i < siblings.size(); ++i) {
    if (decision.scores[i] == decision.scores[likely] && siblings[i] < siblings[likely]) likely = i;
  }
  return likely;
}

}  // namespace extender
