#include "controllers/policy/balance/convergence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "controllers/policy/condition.hpp"
#include "planner/plan/balance/convergence.hpp"
#include "planner/strategies/strategy.hpp"

namespace controllers {
namespace {

using Moves = std::span<const api::PlannedMove>;

/// Moves nominated by each strategy. REQUIRES: no move was removed yet.
std::vector<Moves> moves_by_strategy(const CycleOutcome& outcome) {
  std::vector<Moves> parts;
  Moves rest = outcome.moves;
  for (const planner::StrategyResult& each : outcome.strategies) {
    const auto own = std::min(rest.size(), static_cast<std::size_t>(each.nominated));
    parts.push_back(rest.first(own));
    rest = rest.subspan(own);
  }
  return parts;
}

/// Compares the moves of a row's strategy with those of the previous cycle. status.plan identifies strategies by name
/// only, so these may include moves of another strategy with the same name.
using Comparison = bool (*)(std::string_view strategy, Moves before, Moves now);
bool compare(Comparison comparison, const api::BalanceRow& row, Moves before, const CycleOutcome& outcome) {
  const std::vector<Moves> parts = moves_by_strategy(outcome);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const planner::StrategyResult& strategy = outcome.strategies[i];
    if (strategy.row == row.strategy) return comparison(strategy.strategy, before, parts[i]);
  }
  return false;
}

/// For nodes in use always true, because they change by themselves less often than load does.
bool repeats(const api::BalanceRow& row, Moves before, const CycleOutcome& outcome) {
  if (row.resource == planner::kNodesInUse) return true;
  return compare(planner::is_of_counts(row) ? planner::moves_again : planner::relieves_again, row, before, outcome);
}

void take_out(const std::set<std::string>& stopped, CycleOutcome& outcome) {
  const std::vector<Moves> parts = moves_by_strategy(outcome);
  std::vector<api::PlannedMove> kept;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    planner::StrategyResult& strategy = outcome.strategies[i];
    if (!stopped.contains(strategy.row)) {
      kept.insert(kept.end(), parts[i].begin(), parts[i].end());
      continue;
    }
    strategy.nominated = 0;
    std::erase_if(outcome.taints, [&](const auto& taint) { return std::ranges::count(strategy.taints, taint) > 0; });
  }
  outcome.moves = std::move(kept);
  count_moves(outcome);
}

const api::BalanceRow* find_row(const std::vector<api::BalanceRow>& rows, const api::BalanceRow& like) {
  const auto found = std::ranges::find_if(rows, [&](const api::BalanceRow& each) {
    return each.strategy == like.strategy && each.resource == like.resource;
  });
  return found == rows.end() ? nullptr : &*found;
}

/// Strategies, named as in rows, whose rows have stopped. A strategy with several rows continues while one improves.
std::set<std::string> stopped_strategies(const std::vector<api::BalanceRow>& rows) {
  std::set<std::string> stopped;
  for (const api::BalanceRow& row : rows) {
    if (!planner::may_balance(row)) stopped.insert(row.strategy);
  }
  for (const api::BalanceRow& row : rows) {
    if (row.state == planner::kImproving) stopped.erase(row.strategy);
  }
  return stopped;
}

std::string describe(const api::BalanceRow& row) {
  if (row.resource == planner::kNodesInUse)
    return fmt::format("{}: {:.1f} % of the nodes are in use", row.strategy, row.before.deviation);
  if (planner::is_of_counts(row)) {
    const std::string_view what = row.resource == strategies::kCountsByDomain
                                      ? "domains contain more pods than maxSkew allows"
                                      : "nodes run more duplicates than their share";
    if (row.before.deviation <= 0) return fmt::format("{}: no {}", row.strategy, what);
    return fmt::format("{}: {}, the fullest {:.2f} of the mean", row.strategy, what, row.before.peak_to_mean);
  }
  return fmt::format("{}: {} deviates by {:.1f} points between nodes, the highest is {:.2f} of the mean", row.strategy,
                     row.resource, row.before.deviation, row.before.peak_to_mean);
}

std::string joined(const std::vector<api::BalanceRow>& rows,
                   const std::function<bool(const api::BalanceRow&)>& wanted) {
  std::string text;
  for (const api::BalanceRow& row : rows) {
    if (wanted(row)) text += (text.empty() ? "" : "; ") + describe(row);
  }
  return text;
}

}  // namespace

void judge_balance(const api::DeschedulerPolicy& policy, CycleOutcome& outcome, bool continues) {
  const api::DeschedulerPolicyStatus& before = policy.status;
  const bool is_same_spec = before.observed_generation == policy.meta.generation;
  const bool acted = is_same_spec && before.last_cycle && before.last_cycle->created > 0;
  for (api::BalanceRow& row : outcome.balance) {
    const auto is_nominating = [&](const auto& each) { return each.row == row.strategy && each.nominated > 0; };
    // A plan in waves frees its nodes with the last wave. Until then it cannot be judged, as long as it makes progress.
    const bool has_waves_left = continues && before.last_cycle && row.resource == planner::kNodesInUse &&
                                outcome.summary.waves > 0 && outcome.summary.waves < before.last_cycle->waves;
    const planner::BalanceCycle cycle{row,
                                      is_same_spec ? find_row(before.balance, row) : nullptr,
                                      acted,
                                      acted && compare(planner::moves_back, row, before.plan, outcome),
                                      acted && repeats(row, before.plan, outcome),
                                      std::ranges::any_of(outcome.strategies, is_nominating)};
    if (has_waves_left && cycle.previous != nullptr)
      row = *cycle.previous;
    else
      row = planner::next_balance_row(cycle, policy.spec.convergence);
  }
  if (const auto stopped = stopped_strategies(outcome.balance); !stopped.empty()) take_out(stopped, outcome);
}

void set_converged_condition(api::DeschedulerPolicyStatus& status, std::int64_t generation, base::TimePoint now) {
  const std::set<std::string> stopped = stopped_strategies(status.balance);
  const bool moves = status.last_cycle && status.last_cycle->nominated > 0;
  const auto set = [&](bool holds, api::Reason reason, std::string message) {
    api::set_condition(status.conditions,
                       condition(api::ConditionType::kConverged, holds, reason, std::move(message), generation), now);
  };
  if (!stopped.empty()) {
    const auto is_stopped = [&](const api::BalanceRow& row) {
      return stopped.contains(row.strategy) && !planner::may_balance(row);
    };
    const bool oscillates = std::ranges::find_if(status.balance, is_stopped)->state == planner::kOscillating;
    set(false, oscillates ? api::Reason::kOscillating : api::Reason::kNoProgress,
        "moves do not improve the balance, so the strategy has stopped: " + joined(status.balance, is_stopped));
  } else if (!status.balance.empty() && !moves && status.active == 0) {
    set(true, api::Reason::kConverged, joined(status.balance, [](const api::BalanceRow&) { return true; }));
  }
}

}  // namespace controllers
