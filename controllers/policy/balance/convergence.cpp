#include "controllers/policy/balance/convergence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/reasons.hpp"
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

bool has_moves(const api::BalanceRow& row, const CycleOutcome& outcome) {
  return std::ranges::any_of(outcome.strategies, [&](const planner::StrategyResult& each) {
    return each.row == row.strategy && each.nominated > 0;
  });
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

/// Strategies, named as in rows, whose rows have stopped. A strategy that balances several resources continues while
/// one of them improves.
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

std::string describe_counts(const api::BalanceRow& row) {
  const std::string_view what = row.resource == strategies::kCountsByDomain
                                    ? "domains contain more pods than maxSkew allows"
                                    : "nodes run more duplicates than their share";
  if (row.before.deviation <= 0) return fmt::format("{}: no {}", row.strategy, what);
  return fmt::format("{}: {}, the fullest {:.2f} of the mean", row.strategy, what, row.before.peak_to_mean);
}

std::string describe(const api::BalanceRow& row) {
  if (row.resource == planner::kNodesInUse)
    return fmt::format("{}: {:.1f} % of the nodes are in use", row.strategy, row.before.deviation);
  if (planner::is_of_counts(row)) return describe_counts(row);
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

/// A plan in waves frees its nodes with the last wave. Until then it cannot be judged, as long as it makes progress.
bool has_waves_left(const api::BalanceRow& row, const api::DeschedulerPolicy& policy, const CycleOutcome& outcome) {
  return row.resource == planner::kNodesInUse && outcome.summary.waves > 0 &&
         outcome.summary.waves < policy.status.last_cycle->waves;
}

}  // namespace

void judge_balance(const api::DeschedulerPolicy& policy, CycleOutcome& outcome, bool continues) {
  const api::DeschedulerPolicyStatus& before = policy.status;
  const bool is_same_spec = before.observed_generation == policy.meta.generation;
  const bool acted = is_same_spec && before.last_cycle && before.last_cycle->created > 0;
  for (api::BalanceRow& row : outcome.balance) {
    const planner::BalanceCycle cycle{row,
                                      is_same_spec ? find_row(before.balance, row) : nullptr,
                                      acted,
                                      acted && compare(planner::moves_back, row, before.plan, outcome),
                                      acted && repeats(row, before.plan, outcome),
                                      has_moves(row, outcome)};
    if (continues && cycle.previous != nullptr && has_waves_left(row, policy, outcome))
      row = *cycle.previous;
    else
      row = planner::next_balance_row(cycle, policy.spec.convergence);
  }
  if (const auto stopped = stopped_strategies(outcome.balance); !stopped.empty()) take_out(stopped, outcome);
}

void set_converged_condition(api::DeschedulerPolicyStatus& status, std::int64_t generation, base::TimePoint now) {
  const std::set<std::string> stopped = stopped_strategies(status.balance);
  const bool moves = status.last_cycle && status.last_cycle->nominated > 0;
  api::Condition condition{
      std::string(to_string(api::ConditionType::kConverged)), api::ConditionStatus::kFalse, "", "", generation, {}};
  if (!stopped.empty()) {
    const auto is_stopped = [&](const api::BalanceRow& row) {
      return stopped.contains(row.strategy) && !planner::may_balance(row);
    };
    const auto first = std::ranges::find_if(status.balance, is_stopped);
    const bool oscillates = first->state == planner::kOscillating;
    condition.reason = to_string(oscillates ? api::Reason::kOscillating : api::Reason::kNoProgress);
    condition.message =
        "moves do not improve the balance, so the strategy has stopped: " + joined(status.balance, is_stopped);
  } else if (!status.balance.empty() && !moves && status.active == 0) {
    condition.status = api::ConditionStatus::kTrue;
    condition.reason = to_string(api::Reason::kConverged);
    condition.message = joined(status.balance, [](const api::BalanceRow&) { return true; });
  } else {
    return;
  }
  api::set_condition(status.conditions, std::move(condition), now);
}

}  // namespace controllers
