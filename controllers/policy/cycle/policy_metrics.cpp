#include "controllers/policy/cycle/policy_metrics.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "api/vocabulary/condition_types.hpp"
#include "planner/plan/balance/convergence.hpp"

namespace controllers {

void PolicyMetrics::set(const char* series, const char* help, const std::string& policy, double value) const {
  metrics_.gauge(series, help, {{"policy", policy}}).set(value);
}

void PolicyMetrics::on_status(const std::string& policy, const api::DeschedulerPolicyStatus& status) const {
  set("evacuator_policy_active_evacuations", "Number of unfinished Evacuations of the policy.", policy, status.active);
  set("evacuator_policy_evicted_pods", "Total number of pods that have left because of the policy, as in its status.",
      policy, static_cast<double>(status.evicted));
  const auto* ready = api::find_condition(status.conditions, api::ConditionType::kReady);
  set("evacuator_policy_ready", "1 if the policy's condition Ready is True.", policy,
      ready != nullptr && ready->status == api::ConditionStatus::kTrue ? 1 : 0);
  if (status.last_cycle)
    set("evacuator_policy_last_cycle_timestamp_seconds", "Start time of the policy's last cycle, as Unix time.", policy,
        std::chrono::duration<double>(status.last_cycle->start.time_since_epoch()).count());
}

void PolicyMetrics::on_circuit(const std::string& policy, bool open) const {
  set("evacuator_policy_circuit_open", "1 if the policy moves no more pods, see its condition CircuitOpen.", policy,
      open ? 1 : 0);
}

void PolicyMetrics::on_triggered(const std::string& policy, api::TriggerKind trigger) const {
  metrics_
      .counter("evacuator_policy_triggered_cycles_total",
               "Number of planning cycles that started with a pending trigger.",
               {{"policy", policy}, {"trigger", to_string(trigger)}})
      .increment();
}

void PolicyMetrics::on_cycle(const api::DeschedulerPolicy& policy, const CycleOutcome& outcome,
                             const std::string& trace, base::TimePoint now) const {
  const std::string& name = policy.meta.name;
  metrics_.counter("evacuator_policy_cycles_total", "Number of planning cycles.", {{"policy", name}}).increment();
  set("evacuator_policy_nominated", "Number of pods nominated in the last cycle.", name, outcome.summary.nominated);
  metrics_
      .histogram("evacuator_policy_cycle_duration_seconds",
                 "Duration of planning cycles, including the creation of Evacuations.",
                 {0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}, {{"policy", name}})
      .observe(static_cast<double>(outcome.summary.duration.count()) / 1000, {trace, now});
  metrics_
      .counter("evacuator_policy_evacuations_created_total", "Number of Evacuations that the policy created.",
               {{"policy", name}})
      .increment(outcome.summary.created);
  publish_imbalance(policy, outcome.balance);
  for (const api::ReasonCount& each : outcome.summary.refused) {
    metrics_
        .counter("evacuator_policy_refusals_total", "Number of pods that were considered and refused, by reason.",
                 {{"policy", name}, {"reason", each.reason}})
        .increment(each.count);
  }
}

/// One series per policy, so that no series outlives a strategy or resource that is removed from the policy.
void PolicyMetrics::publish_imbalance(const api::DeschedulerPolicy& policy,
                                      const std::vector<api::BalanceRow>& rows) const {
  const auto is_of_load = [](const api::BalanceRow& row) { return !planner::is_of_counts(row); };
  if (std::ranges::none_of(rows, is_of_load) && std::ranges::none_of(policy.status.balance, is_of_load)) return;
  double worst = std::numeric_limits<double>::quiet_NaN();
  for (const api::BalanceRow& row : rows) {
    if (is_of_load(row)) worst = std::fmax(worst, row.before.deviation);
  }
  set("evacuator_policy_imbalance",
      "Standard deviation of the load of nodes in percentage points, before the last cycle's moves, for the strategy "
      "and resource with the highest value.",
      policy.meta.name, worst);
}

}  // namespace controllers
