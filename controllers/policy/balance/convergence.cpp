#include "controllers/policy/balance/convergence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/reasons.hpp"
#include "planning/balance/convergence.hpp"

namespace controllers {
namespace {

/// A second strategy of the same name has rows called "Name[position]".
std::string strategy_of(const api::BalanceRow& row) { return row.strategy.substr(0, row.strategy.find('[')); }

const api::BalanceRow* find_row(const std::vector<api::BalanceRow>& rows, const api::BalanceRow& like) {
  const auto found = std::ranges::find_if(rows, [&](const api::BalanceRow& each) {
    return each.strategy == like.strategy && each.resource == like.resource;
  });
  return found == rows.end() ? nullptr : &*found;
}

/// Of a strategy that balances several resources one that still improves keeps it going.
std::set<std::string> stopped_strategies(const std::vector<api::BalanceRow>& rows) {
  std::set<std::string> stopped;
  for (const api::BalanceRow& row : rows) {
    if (!planning::may_balance(row)) stopped.insert(strategy_of(row));
  }
  for (const api::BalanceRow& row : rows) {
    if (row.state == planning::kImproving) stopped.erase(strategy_of(row));
  }
  return stopped;
}

std::string describe(const api::BalanceRow& row) {
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

void judge_balance(const api::DeschedulerPolicy& policy, CycleOutcome& outcome) {
  const api::DeschedulerPolicyStatus& before = policy.status;
  const bool is_same_spec = before.observed_generation == policy.meta.generation;
  const bool acted = is_same_spec && before.last_cycle && before.last_cycle->created > 0;
  for (api::BalanceRow& row : outcome.balance) {
    const planning::BalanceCycle cycle{row, is_same_spec ? find_row(before.balance, row) : nullptr, acted,
                                       acted && planning::moves_back(strategy_of(row), before.plan, outcome.moves)};
    row = planning::next_balance_row(cycle, policy.spec.convergence);
  }
  const std::set<std::string> stopped = stopped_strategies(outcome.balance);
  std::erase_if(outcome.moves, [&](const api::PlannedMove& move) { return stopped.contains(move.strategy); });
  outcome.summary.nominated = static_cast<std::int32_t>(outcome.moves.size());
}

void tell_convergence(api::DeschedulerPolicyStatus& status, std::int64_t generation, base::TimePoint now) {
  const std::set<std::string> stopped = stopped_strategies(status.balance);
  const bool moves = status.last_cycle && status.last_cycle->nominated > 0;
  api::Condition condition{
      std::string(to_string(api::ConditionType::kConverged)), api::ConditionStatus::kFalse, "", "", generation, {}};
  if (!stopped.empty()) {
    const auto is_stopped = [&](const api::BalanceRow& row) {
      return stopped.contains(strategy_of(row)) && !planning::may_balance(row);
    };
    const auto first = std::ranges::find_if(status.balance, is_stopped);
    const bool oscillates = first->state == planning::kOscillating;
    condition.reason = to_string(oscillates ? api::Reason::kOscillating : api::Reason::kNoProgress);
    condition.message = "moving does not help, so it has stopped: " + joined(status.balance, is_stopped);
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
