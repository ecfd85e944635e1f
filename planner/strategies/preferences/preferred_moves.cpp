#include "planner/strategies/preferences/preferred_moves.hpp"

namespace strategies {
namespace {

constexpr int kMaxTries = 20;               // with more pods that stay each time
constexpr int kMaxRounds = 8;               // until nothing moves
constexpr int kMaxPasses = 50;              // over all pods, in one try
constexpr std::size_t kStepsToSettle = 50;  // to see that a pod is settled; otherwise one per node

}  // namespace

PreferredMoves::PreferredMoves(const StrategyContext& context, std::unique_ptr<WhatIfPlacement> placement,
                               const PreferenceGain& gain, double min_gain, std::vector<PodIndex> pods,
                               std::function<bool(PodIndex)> may_go, SearchBudget& budget)
    : placement_(std::move(placement)),
      gain_(gain),
      least_gain_(min_gain),
      pods_(std::move(pods)),
      may_go_(std::move(may_go)),
      budget_(budget),
      answers_(context.cluster.base().pod_table_size(), 0),
      is_in_scope_(context.cluster.base().node_count(), false) {
  for (const NodeIndex node : context.nodes) is_in_scope_[node] = true;
}

/// Returns no partial plan, because pods would move again in the next cycle. The next cycle starts from the outcome of
/// all moves, so settle() must find no further move there.
std::vector<PreferredMove> PreferredMoves::find() {
  std::vector<PreferredMove> all;
  Pods moved;
  for (int round = 0; round < kMaxRounds; ++round) {
    const auto more = settle(moved);
    if (!more || budget_.is_over()) return {};
    if (more->empty()) return all;
    for (const PreferredMove& move : *more) moved.insert(move.pod);
    all.insert(all.end(), more->begin(), more->end());
  }
  return {};
}

/// Moves pods until all are settled. Depends only on the positions of pods. Returns nullopt if that needs more than
/// one move per pod.
std::optional<std::vector<PreferredMove>> PreferredMoves::settle(const Pods& moved_before) {
  Pods staying;
  for (int i = 0; i < kMaxTries && !budget_.is_over(); ++i) {
    Pods restless;
    std::vector<PreferredMove> moves = run_passes(moved_before, staying, restless);
    if (restless.empty()) return moves;
    for (const PreferredMove& move : moves) placement_->restore(move.pod);
    for (const PodIndex pod : restless) {
      if (moved_before.contains(pod)) return std::nullopt;
      staying.insert(pod);
    }
  }
  return std::nullopt;
}

/// `restless` receives pods that would move twice. The caller must then restore all pods except those of earlier
/// rounds.
std::vector<PreferredMove> PreferredMoves::run_passes(const Pods& moved_before, const Pods& staying, Pods& restless) {
  std::vector<PreferredMove> moves;
  Pods moved = moved_before;
  bool has_changed = true;
  for (int pass = 0; has_changed && restless.empty() && !budget_.is_over(); ++pass) {
    has_changed = false;
    for (const PodIndex pod : pods_) {
      if (staying.contains(pod) || budget_.is_over()) continue;
      const auto move = moved.contains(pod) ? relocate(pod) : try_to_move(pod);
      if (!move) continue;
      has_changed = true;
      if (!moved.insert(pod).second || pass >= kMaxPasses) restless.insert(pod);
      if (!moved_before.contains(pod)) moves.push_back(*move);
    }
  }
  return moves;
}

/// Rejects nodes where the pod would not be settled: the old pod's node looks fuller while the pod terminates.
std::optional<PreferredMove> PreferredMoves::try_to_move(PodIndex pod) {
  const auto move = relocate(pod);
  if (!move || !relocate(pod)) return move;
  placement_->restore(pod);
  return std::nullopt;
}

std::optional<PreferredMove> PreferredMoves::relocate(PodIndex pod) {
  const PreferenceGain::Gains gains = gain_.of(placement_->cluster(), pod);
  budget_.spend(kStepsToSettle + gains.points.size());
  if (gains.most < least_gain_ || !may_go(pod)) return std::nullopt;
  const auto helps = [&](NodeIndex node) { return is_in_scope_[node] && gains.at(node) >= least_gain_; };
  const auto to = placement_->relocate(pod, helps);
  if (!to) return std::nullopt;
  return PreferredMove{pod, *to};
}

bool PreferredMoves::may_go(PodIndex pod) {
  if (answers_[pod] == 0) answers_[pod] = may_go_(pod) ? 2 : 1;
  return answers_[pod] == 2;
}

}  // namespace strategies
