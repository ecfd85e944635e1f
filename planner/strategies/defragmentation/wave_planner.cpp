#include "planner/strategies/defragmentation/wave_planner.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "api/meta/well_known.hpp"
#include "planner/scheduling/predicates.hpp"

namespace strategies {
namespace {

/// Pods of the same node that may move instead of another one if the scheduler would put that one where it does not
/// help.
constexpr std::size_t kMaxInstead = 6;
constexpr std::size_t kStepsOfMove = 20;
constexpr std::size_t kFewLeft = 8;  // number of remaining nodes up to which any progress justifies another round

}  // namespace

std::optional<PodKind> kind_of(PodIndex pod, const ClusterSnapshot& base) {
  const auto owner = base.owner_of(pod);
  if (!owner || !base.pod(pod).volumes.empty()) return std::nullopt;
  return PodKind{*owner, base.label_group_of(pod), base.request_set_of(pod)};
}

WavePlanner::WavePlanner(const DefragmentationProblem& problem, std::unique_ptr<WhatIfPlacement> placement,
                         std::vector<bool> emptying, bool chooses_targets, PackingStyle style, SearchBudget& budget,
                         Rng& rng)
    : problem_(problem),
      placement_(std::move(placement)),
      emptying_(std::move(emptying)),
      avoided_(emptying_),
      may_take_pods_(emptying_.size(), false),
      chooses_targets_(chooses_targets),
      style_(style),
      budget_(budget),
      rng_(rng),
      counts_(problem) {
  std::vector<NodeIndex> avoided;
  for (NodeIndex node = 0; node < emptying_.size(); ++node) {
    may_take_pods_[node] = problem.takes(node) && !emptying_[node];
    if (emptying_[node]) avoided.push_back(node);
  }
  placement_->avoid(api::well_known::kEmptyingTaint, avoided);
}

/// Returns true if the node has no pod to be moved and no pending pod that took its free capacity.
bool WavePlanner::is_empty(NodeIndex node) const {
  const auto is_there = [&](PodIndex pod) { return cluster().node_of(pod) == node; };
  if (std::ranges::any_of(problem_.pods_on(node), is_there)) return false;
  if (!problem_.has_pods_without_node()) return true;
  bool has_arrival = false;
  cluster().for_each_on(node,
                        [&](PodIndex pod) { has_arrival = has_arrival || problem_.base().node_of(pod) == kNoNode; });
  return !has_arrival;
}

std::vector<NodeIndex> WavePlanner::left() const {
  std::vector<NodeIndex> nodes;
  for (const FreeableNode& each : problem_.freeable()) {
    if (emptying_[each.node] && !is_empty(each.node)) nodes.push_back(each.node);
  }
  return nodes;
}

double WavePlanner::left_size() const {
  double sum = 0;
  for (const NodeIndex node : left()) {
    for (const PodIndex pod : problem_.pods_on(node)) sum += cluster().node_of(pod) == node ? problem_.size(pod) : 0;
  }
  return sum;
}

std::vector<PackedMove> WavePlanner::pack() {
  Packing packing(problem_, cluster(), may_take_pods_, counts_, style_, budget_, rng_);
  std::vector<std::pair<double, PodIndex>> pods;  // largest first
  for (const FreeableNode& each : problem_.freeable()) {
    if (!emptying_[each.node]) continue;
    for (const PodIndex pod : problem_.pods_on(each.node)) {
      if (cluster().node_of(pod) == each.node)
        pods.emplace_back(-problem_.size(pod) * rng_.about_one(style_.noise), pod);
    }
  }
  std::ranges::sort(pods);
  std::map<PodKind, int> failures;
  for (const auto& [size, pod] : pods) {
    if (budget_.is_over()) break;
    const auto kind = kind_of(pod, problem_.base());
    if (kind && failures[*kind] == style_.patience) continue;
    if (!packing.place_all({pod}) && kind) ++failures[*kind];
  }
  std::vector<PackedMove> moves = packing.moves();
  // Pods that others wait for come first, then the largest, which fit the fewest nodes.
  std::ranges::stable_sort(moves, {}, [&](const PackedMove& move) {
    const int direct = style_.direct_first ? 0 : 2;
    const int turn = !emptying_[move.from] ? 1 : move.needs_gap ? 2 : direct;
    return std::tuple(turn, -problem_.size(move.pod));
  });
  return moves;
}

void WavePlanner::repeat(const std::vector<WaveMove>& plan, std::size_t most_moves) {
  std::vector<bool> is_left(emptying_.size(), false);
  std::vector<PackedMove> pending;
  for (const WaveMove& move : plan) {
    is_left[move.from] = true;
    pending.push_back({move.pod, move.from, move.to, is_left[move.to]});
  }
  while (!pending.empty() && !budget_.is_over() && moves_.size() <= most_moves) {
    if (run_wave(pending) == 0) return;
  }
}

bool WavePlanner::run(std::size_t most_moves) {
  if (style_.fills) fill(most_moves);
  std::size_t before = left().size();
  while (before > 0) {
    may_continue_in_next_wave_ = false;
    const std::size_t made = run_waves(most_moves);
    const std::size_t now = left().size();
    if (now > 0 && made == 0) return false;
    if (!may_continue_in_next_wave_ && now > kFewLeft && now * 10 > before * 9)
      return false;  // each round costs about the same
    before = now;
  }
  return moves_.size() <= most_moves;
}

bool WavePlanner::is_untouched(NodeIndex node) const {
  return std::ranges::none_of(moves_, [&](const WaveMove& move) { return move.from == node || move.to == node; });
}

void WavePlanner::take_back(std::size_t moves) {
  for (; moves_.size() > moves; moves_.pop_back()) {
    placement_->restore(moves_.back().pod);
    counts_.add(moves_.back().pod, -1);
  }
  wave_ = moves_.empty() ? 0 : moves_.back().wave;
}

bool WavePlanner::extend(NodeIndex node, PackingStyle style, std::size_t most_moves) {
  const std::vector<NodeIndex> left_before = left();
  if (!left_before.empty() || avoided_[node] || !is_untouched(node)) return false;
  const bool took = may_take_pods_[node];
  const std::size_t before = moves_.size();
  style_ = style;
  may_take_pods_[node] = false;
  emptying_[node] = true;
  Packing packing(problem_, cluster(), may_take_pods_, counts_, style_, budget_, rng_);
  if (packing.place_all(problem_.pods_on(node)) && before + packing.moves().size() <= most_moves) {
    avoided_[node] = true;
    placement_->avoid(api::well_known::kEmptyingTaint, std::span(&node, 1));
    if (run(most_moves)) return true;
    take_back(before);
  } else {
    may_take_pods_[node] = took;
  }
  emptying_[node] = false;
  return false;
}

/// Runs waves until they make little progress. Returns the number of moves.
std::size_t WavePlanner::run_waves(std::size_t most_moves) {
  std::vector<PackedMove> pending = pack();
  std::size_t made = 0;
  while (!pending.empty() && !budget_.is_over() && moves_.size() <= most_moves) {
    const std::size_t now = run_wave(pending);
    if (now == 0) break;
    made += now;
    if (!may_continue_in_next_wave_ && now * 20 < pending.size()) break;
  }
  return budget_.is_over() || moves_.size() > most_moves ? 0 : made;
}

/// Makes the moves that are possible now and removes them from `pending`. Returns their number.
std::size_t WavePlanner::run_wave(std::vector<PackedMove>& pending) {
  Wave wave(cluster());
  ++wave_;
  for (const PackedMove& move : pending) {
    ++wave.awaited[move.from];
    if (move.needs_gap) ++wave.reserved[move.to];
  }
  const std::size_t before = pending.size();
  std::erase_if(pending, [&](const PackedMove& move) {
    if (budget_.is_over() || !attempt(move, wave)) return false;
    --wave.awaited[move.from];
    if (move.needs_gap) --wave.reserved[move.to];
    return true;
  });
  if (pending.size() == before) --wave_;
  return before - pending.size();
}

bool WavePlanner::attempt(const PackedMove& move, Wave& wave) {
  if (move.needs_gap && (wave.awaited[move.to] > 0 || wave.is_left[move.to] != 0)) return false;
  if (cluster().node_of(move.pod) != move.from) return true;  // the pods were exchanged: another one moved in its place
  return relocate(move.pod, move, wave) || (!emptying_[move.from] && attempt_instead(move, wave));
}

/// Moves another pod of the node with equal requests instead, which frees the same capacity.
bool WavePlanner::attempt_instead(const PackedMove& move, Wave& wave) {
  const auto& base = problem_.base();
  std::vector<std::uint32_t> tried = {base.label_group_of(move.pod)};
  for (const PodIndex other : problem_.pods_on(move.from)) {
    if (base.request_set_of(other) != base.request_set_of(move.pod) || cluster().node_of(other) != move.from) continue;
    if (cluster().is_moved(other) || !problem_.may_move(other) || !counts_.allows(other)) continue;
    if (std::ranges::find(tried, base.label_group_of(other)) != tried.end()) continue;
    if (relocate(other, move, wave)) return true;
    tried.push_back(base.label_group_of(other));
    if (tried.size() > kMaxInstead) return false;
  }
  return false;
}

/// Checks only filters, not scores.
bool WavePlanner::fits_somewhere(PodIndex pod) const {
  const auto& base = problem_.base();
  const std::int64_t cpu = amount_of(base.requests(pod), kCpuIndex);
  const auto& offered = base.allocatable().column(kCpuIndex);
  const auto& used = cluster().used().column(kCpuIndex);
  const NodeIndex here = cluster().node_of(pod);
  const auto query = cluster().fit_query(pod, FitLevel::kScheduler);  // the what-if placement uses the same query next
  return std::ranges::any_of(problem_.taking(), [&](NodeIndex node) {
    return may_take_pods_[node] && node != here &&
           (cpu == 0 || cpu <= saturating_subtract(offered[node], used[node])) && query->fits(node);
  });
}

/// Excludes the pod's current node, which the scheduler may prefer once others have left, but which would not make
/// capacity.
Goal WavePlanner::goal_of(PodIndex pod) const {
  return [this, here = cluster().node_of(pod)](NodeIndex node) { return may_take_pods_[node] && node != here; };
}

/// Relocates the pod to the node that the scheduler chooses. Returns nullopt and leaves the pod on its node if there is
/// none.
std::optional<NodeIndex> WavePlanner::find_target(PodIndex pod, const PackedMove& instead_of, const Wave& wave) {
  budget_.spend(kStepsOfMove + problem_.base().node_count());
  if (!fits_somewhere(pod)) return std::nullopt;
  auto to = placement_->relocate(pod, goal_of(pod));
  if (to && !emptying_[instead_of.from] && wave.reserved[*to] > 0) {
    placement_->restore(pod);
    return std::nullopt;
  }
  return keep_if_fitting(pod, to, wave);
}

/// Relocates the pod with a hint for the intended node, which the scheduler follows if few nodes fit.
std::optional<NodeIndex> WavePlanner::find_chosen(PodIndex pod, const PackedMove& instead_of, const Wave& wave) {
  if (!chooses_targets_) return std::nullopt;
  budget_.spend(kStepsOfMove);
  const auto to =
      placement_->relocate(pod, [&](NodeIndex node) { return may_take_pods_[node] && node == instead_of.to; });
  return keep_if_fitting(pod, to, wave);
}

std::optional<NodeIndex> WavePlanner::keep_if_fitting(PodIndex pod, std::optional<NodeIndex> to, const Wave& wave) {
  if (!to || (fits_in_flight(pod, *to, wave) && attaches_in_flight(pod, *to, wave))) return to;
  placement_->restore(pod);
  return std::nullopt;
}

bool WavePlanner::relocate(PodIndex pod, const PackedMove& instead_of, Wave& wave) {
  if (wave.budgets.refusal(pod) || is_blocked_by_own_workload(pod, wave) || is_counted_on(pod, wave)) {
    may_continue_in_next_wave_ = true;
    return false;
  }
  const NodeIndex from = instead_of.from;
  auto to = find_chosen(pod, instead_of, wave);
  const bool is_chosen = to.has_value();
  if (!to) {
    const auto kind = kind_of(pod, problem_.base());
    int* const failures = kind ? &wave.failures[*kind] : nullptr;
    if (failures != nullptr && *failures == style_.patience) return false;  // capacity only shrinks within a wave
    to = find_target(pod, instead_of, wave);
    if (failures != nullptr) *failures = to ? 0 : *failures + 1;
  }
  if (!to) return false;
  if (!keeps_skew(pod, wave) || !follows_in_flight(pod, wave)) {
    placement_->restore(pod);
    may_continue_in_next_wave_ = true;
    return false;
  }
  wave.budgets.spend(pod);
  wave.leaving.push_back(pod);
  if (depends_on_others(pod)) wave.depending.push_back(pod);
  wave.is_left[from] = 1;
  counts_.add(pod, 1);
  moves_.push_back({pod, from, *to, wave_, is_chosen});
  return true;
}

}  // namespace strategies
