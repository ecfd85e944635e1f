#include "planner/plan/balance/convergence.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "planner/strategies/strategy.hpp"

namespace planner {
namespace {

constexpr double kMinGain = 0.5;        ///< percentage points
constexpr double kPartOfPromise = 0.5;  ///< share of the planned gain; applies if it is below kMinGain
constexpr double kMinChange = 1;        ///< minimum change of the imbalance, in points
constexpr double kPartOfChange = 0.25;  ///< share of the imbalance at the stop
constexpr double kPartOfCounts = 0.1;   ///< replaces kPartOfChange for counts
constexpr double kRounding = 0.001;     ///< rounding error of figures in a row

bool is_stopped(const api::BalanceRow& row) { return row.state == kNoProgress || row.state == kOscillating; }

bool has_moves(const api::BalanceRow& row) { return row.after != row.before; }

/// Returns true if the plan has moves. With Compatibility::kUpstream, counting strategies also move pods that the
/// scheduler is expected to put back, so the figures alone do not tell.
bool has_moves(const BalanceCycle& cycle) { return is_of_counts(cycle.now) ? cycle.moves : has_moves(cycle.now); }

bool is_another(const api::BalanceRow& row, double then) {
  const double least = is_of_counts(row) ? kPartOfCounts * then : std::max(kMinChange, kPartOfChange * then);
  return std::abs(row.before.deviation - then) > least;
}

bool has_gained(const api::BalanceRow& now, const api::BalanceRow& previous) {
  const double promised = previous.before.deviation - previous.after.deviation;
  const double least = promised > 0 ? std::min(kMinGain, kPartOfPromise * promised) : kMinGain;
  return now.before.deviation <= previous.before.deviation - least;
}

api::BalanceRow started(const BalanceCycle& cycle) {
  api::BalanceRow row = cycle.now;
  row.state = has_moves(cycle) ? kImproving : kConverged;
  row.without_gain = 0;
  row.best = row.before.deviation;
  return row;
}

api::BalanceRow stopped(api::BalanceRow row, std::string_view state) {
  row.state = state;
  row.best = row.before.deviation;
  return row;
}

/// Returns true if the deviation changed by more than the moves explain. Always false for counts and nodes in use,
/// which do not change by themselves.
bool has_load_changed(const api::BalanceRow& now, const api::BalanceRow& previous) {
  if (is_of_counts(now) || now.resource == kNodesInUse) return false;
  const double promised = std::max(previous.before.deviation - previous.after.deviation, 0.0);
  return std::abs(now.before.deviation - previous.before.deviation) > promised + kRounding;
}

/// Returns the updated number of cycles without gain. A cycle counts only if the same nodes needed relief again and the
/// load did not change by more than was planned; otherwise changing load explains the imbalance.
std::int32_t cycles_without_gain(const BalanceCycle& cycle) {
  const api::BalanceRow& previous = *cycle.previous;
  if (has_gained(cycle.now, previous)) return 0;
  const bool moved = is_of_counts(previous) || has_moves(previous);  // previous moves, planned or repeated
  const bool repeats = cycle.repeats && !has_load_changed(cycle.now, previous);
  const bool was_in_vain = cycle.acted && (repeats || cycle.reverses) && moved;
  return std::min(previous.without_gain + (was_in_vain ? 1 : 0), 1'000'000);
}

/// Returns true if at least half of the strategy's moves in `now`, and at least one, have a key_of() that a move in
/// `before` has as key_before(), which is nullopt for moves without a key. If `is_capped`, considers at most as many
/// moves of `now` as `before` has.
template <typename KeyBefore, typename KeyOf>
bool comes_again(std::string_view strategy, std::span<const api::PlannedMove> before,
                 std::span<const api::PlannedMove> now, bool is_capped, KeyBefore key_before, KeyOf key_of) {
  using Key = decltype(key_of(now.front()));
  std::set<Key> done;
  std::size_t known = 0;
  for (const api::PlannedMove& move : before) {
    if (move.strategy != strategy) continue;
    if (const std::optional<Key> key = key_before(move)) done.insert(*key);
    ++known;
  }
  std::size_t moves = 0;
  std::size_t again = 0;
  for (const api::PlannedMove& move : now) {
    if (move.strategy != strategy || (is_capped && moves == known)) continue;
    ++moves;
    if (done.contains(key_of(move))) ++again;
  }
  return again > 0 && again * 2 >= moves;
}

}  // namespace

bool is_of_counts(const api::BalanceRow& row) {
  return row.resource == strategies::kCountsByDomain || row.resource == strategies::kCountsOfDuplicates;
}

api::BalanceRow next_balance_row(const BalanceCycle& cycle, const api::ConvergenceSettings& settings) {
  if (cycle.previous == nullptr) return started(cycle);
  const api::BalanceRow& previous = *cycle.previous;
  api::BalanceRow row = cycle.now;
  if (is_stopped(previous) && settings.patience > 0) {
    if (is_another(row, previous.best)) return started(cycle);
    row.state = previous.state;
    row.without_gain = previous.without_gain;
    row.best = previous.best;
    return row;
  }
  row.best = std::min(previous.best, row.before.deviation);
  if (!has_moves(cycle)) {
    row.state = kConverged;
    return row;
  }
  row.without_gain = cycles_without_gain(cycle);
  row.state = kImproving;
  if (settings.patience == 0) return row;
  if (cycle.reverses && cycle.acted && row.without_gain > 0) return stopped(row, kOscillating);
  return row.without_gain >= settings.patience ? stopped(row, kNoProgress) : row;
}

bool may_balance(const api::BalanceRow& row) { return !is_stopped(row); }

bool moves_back(std::string_view strategy, std::span<const api::PlannedMove> before,
                std::span<const api::PlannedMove> now) {
  using Way = std::pair<std::string_view, std::string_view>;
  const auto way_of = [](const api::PlannedMove& move) {
    return move.to.empty() ? std::nullopt : std::optional(Way(move.from, move.to));
  };
  const auto way_back = [](const api::PlannedMove& move) { return Way(move.to, move.from); };
  return comes_again(strategy, before, now, false, way_of, way_back);
}

bool relieves_again(std::string_view strategy, std::span<const api::PlannedMove> before,
                    std::span<const api::PlannedMove> now) {
  const auto source_of = [](const api::PlannedMove& move) { return std::string_view(move.from); };
  return comes_again(strategy, before, now, true, source_of, source_of);
}

bool moves_again(std::string_view strategy, std::span<const api::PlannedMove> before,
                 std::span<const api::PlannedMove> now) {
  const auto workload_of = [](const api::PlannedMove& move) {
    const std::string_view pod = move.pod;
    return std::pair(std::string_view(move.ns), pod.substr(0, pod.rfind('-')));
  };
  return comes_again(strategy, before, now, true, workload_of, workload_of);
}

}  // namespace planner
