#include "controllers/policy/reconciler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "api/evacuation/stored_times.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/reasons.hpp"
#include "controllers/policy/balance/convergence.hpp"
#include "controllers/policy/cycle.hpp"
#include "controllers/policy/once_run.hpp"
#include "controllers/policy/spec_problems.hpp"

namespace controllers {
namespace {

using base::kv;

/// Retry delay of a due cycle while a cache is stale, unless the policy is enqueued earlier.
constexpr base::minutes kStaleRetry{1};
/// Retry delay for a policy until its gates have been asked once; their first answers decide what it does.
constexpr base::seconds kGateRetry{5};
/// Retry delay for a policy whose search must wait for another one.
constexpr base::seconds kSearchRetry{5};
bool is_of_gate(std::string_view reason) {
  return reason == api::Reason::kGateHolds || reason == api::Reason::kGateUnanswered;
}

}  // namespace

PolicyReconciler::PolicyReconciler(Dependencies dependencies)
    : deps_(std::move(dependencies)),
      policy_lock_(deps_.leadership.progress),
      metrics_(deps_.metrics),
      statuses_(deps_.client, deps_.clocks.wall),
      taints_(deps_.steering.taints, deps_.caches.evacuations, deps_.clocks.wall),
      traces_(deps_.spans),
      observer_(deps_.clocks.wall, deps_.caches, deps_.steering),
      planner_(deps_, taints_, traces_, policy_lock_, [this](const auto& policy) { return is_wanted(policy); }),
      creator_(
          deps_, traces_, [this](const auto& policy) { return may_go_on(policy); },
          [this] { policy_lock_.progress()(); }) {}

base::Result<kube::Requeue> PolicyReconciler::reconcile(const api::ObjectKey& key) {
  const PolicyLock::Guard turn(policy_lock_);
  auto seen = deps_.caches.policies.get(key);
  forget_previous(key.name, seen ? seen->meta.uid : std::string());
  if (!seen || seen->meta.is_terminating() || !seen->plan_spec) taints_.drop(key.name);
  if (!seen || seen->meta.is_terminating()) return kube::Requeue::await_change();
  known_[key.name] = seen->meta.uid;
  seen = statuses_.as_stored(std::move(seen));
  if (!seen->plan_spec) {
    if (auto saved = reject(*seen, seen->spec_problem); !saved) return saved.error();
    return kube::Requeue::await_change();
  }
  if (const auto errors = problems_of(seen->spec, seen->plan_spec->strategy_specs, deps_.evictors); !errors.empty()) {
    taints_.drop(key.name);
    if (auto saved = reject(*seen, api::to_error(errors).message); !saved) return saved.error();
    return kube::Requeue::await_change();
  }
  api::DeschedulerPolicy policy = statuses_.with_own_writes(*seen);
  const api::DeschedulerPolicyStatus known = policy.status;
  api::correct_times(policy.status, deps_.clocks.wall.now());
  return reconcile_valid(*seen, with_circuit(std::move(policy)), known);
}

/// Drops the state of an earlier policy with this name; no other component does.
void PolicyReconciler::forget_previous(const std::string& name, const std::string& uid) {
  const auto known = known_.find(name);
  if (known == known_.end() || known->second == uid) return;
  statuses_.forget(known->second);
  planner_.forget(known->second);
  known_.erase(known);
  verdicts_.erase(name);
  metrics_.forget(name);
  deps_.audit.forget(name);
}

base::Result<kube::Requeue> PolicyReconciler::reconcile_valid(const ObservedPolicy& seen,
                                                              const api::DeschedulerPolicy& policy,
                                                              const api::DeschedulerPolicyStatus& known) {
  const planner::PlanSpec& spec = *seen.plan_spec;
  const std::string& name = policy.meta.name;
  GateVerdict gates = gates_of(name);
  if (gates.is_pending) return kube::Requeue::in(kGateRetry);
  const Situation situation = observer_.observe(policy, spec, std::move(gates));
  planner_.observe_hints(policy, situation.evacuations, situation.now);
  const bool due = situation.timing.due;
  if (due && policy_lock_.is_searching() && searches(spec.strategy_specs)) return kube::Requeue::in(kSearchRetry);
  const bool put_off = situation.is_put_off(policy.spec.mode);
  const bool may_move =
      policy.spec.mode != api::PolicyMode::kDryRun && !policy.status.circuit.opened_at && !situation.gates.stops();
  if (!situation.is_moving() && !due) taints_.stop_emptying(name);
  if (!may_move || policy.spec.suspend || situation.timing.opening != Opening::kOpen) taints_.drop(name);
  std::optional<CycleOutcome> outcome;
  if (due && !put_off) {
    auto ran = run_due_cycle(policy, spec, situation, may_move);
    if (!ran) return ran.error();
    outcome = *std::move(ran);
  }
  const auto next = status_after(policy, spec, situation, outcome ? &*outcome : nullptr);
  set_gates_condition(seen, known, next);
  metrics_.on_status(name, next);
  auto saved = save(seen, known, next);
  if (saved) verdicts_[name].stored = verdicts_[name].judged;
  if (outcome) {
    std::string problem = outcome->is_judged ? "" : "a strategy could not be evaluated";
    if (!saved) problem = "the status was not stored: " + std::string(to_string(saved.error().code));
    traces_.end(name, outcome->summary, std::move(problem), deps_.clocks.wall.now());
  }
  if (deps_.steering.once && !put_off) notify_once(policy, situation, outcome ? &*outcome : nullptr);
  if (!saved) return saved.error();
  return put_off ? kube::Requeue::in(kStaleRetry) : next_requeue(next, situation);
}

base::Result<CycleOutcome> PolicyReconciler::run_due_cycle(const api::DeschedulerPolicy& policy,
                                                           const planner::PlanSpec& spec, const Situation& situation,
                                                           bool may_move) {
  const std::string& name = policy.meta.name;
  std::optional<api::TriggerKind> trigger;
  if (deps_.steering.triggers) trigger = deps_.steering.triggers->take(name);  // what happens now is for the next cycle
  traces_.begin(policy.meta, cycle_id(policy, situation.now), situation.now);
  auto planned = planner_.plan(policy, spec,
                               {.now = situation.now,
                                .may_move = may_move,
                                .continues = situation.wave.may_continue,
                                .is_settled = situation.settled.is_settled});
  if (!planned) {
    traces_.drop(name);
    if (trigger) deps_.steering.triggers->give_back(name, *trigger);
    return planned;
  }
  if (trigger) {
    metrics_.on_triggered(name, *trigger);
    deps_.log.info("cycle triggered", {kv("policy", name), kv("trigger", to_string(*trigger))});
  }
  CycleOutcome outcome = *std::move(planned);
  count_planned(situation.strategy, outcome);
  deps_.audit.on_planned(policy, outcome);
  if (may_move) taints_.pledge(name, spec, outcome);
  if (may_move) carry_out(policy, outcome);
  count_made(situation.strategy, outcome);
  if (outcome.summary.created == 0 && outcome.existing == 0) taints_.stop_emptying(name);
  outcome.summary.duration = std::chrono::duration_cast<base::milliseconds>(deps_.clocks.wall.now() - situation.now);
  metrics_.on_cycle(policy, outcome, traces_.id_of(name), deps_.clocks.wall.now());
  deps_.log.info("cycle planned", {kv("policy", name), kv("cycle", outcome.summary.id),
                                   kv("nodes", outcome.summary.nodes), kv("pods", outcome.summary.pods),
                                   kv("nominated", outcome.summary.nominated), kv("created", outcome.summary.created)});
  deps_.audit.on_cycle(policy, outcome);
  return outcome;
}

/// `outcome` is nullptr if no cycle ran.
api::DeschedulerPolicyStatus PolicyReconciler::status_after(const api::DeschedulerPolicy& policy,
                                                            const planner::PlanSpec& spec, const Situation& situation,
                                                            const CycleOutcome* outcome) {
  const std::string& name = policy.meta.name;
  const std::int64_t generation = policy.meta.generation;
  const base::TimePoint now = situation.now;
  const auto counts = tally(deps_.caches.evacuations.by_index(kByPolicy, name),
                            {policy.status.evicted_counted, policy.status.evicted_until}, now);
  auto next = next_status(policy, counts, outcome, now, situation.gates);
  next.cooldowns = deps_.measured.cooldowns.records(name, now);
  if (outcome != nullptr) {
    next.restarts = planner_.remembered_restarts(spec.strategy_specs);
    next.balance = outcome->balance;
    next.strategy_state = outcome->strategy_state;
    next.node_classes = node_classes_of(*outcome);
  }
  set_converged_condition(next, generation, now);
  if (situation.strategy) set_progress_condition(*situation.strategy, next, generation, now);
  if (outcome != nullptr) {
    set_usage_condition(next.conditions, outcome->usage, generation, now);
    set_forecast_condition(next.conditions, outcome->forecasts, generation, now);
  }
  taints_.tell(next.conditions, policy, spec, now);
  set_audit_condition(next, deps_.audit.failing(), generation, now);
  set_stale_caches_condition(next, situation.stale, generation, now);
  return next;
}

/// Requeues for the next cycle, or the next change that happens without an event.
kube::Requeue PolicyReconciler::next_requeue(const api::DeschedulerPolicyStatus& next,
                                             const Situation& situation) const {
  std::optional<base::TimePoint> at = deps_.steering.once ? std::nullopt : next.next_cycle_time;
  const auto changes = situation.changes(next);
  if (changes && (!at || *changes < *at)) at = changes;
  if (!at) return kube::Requeue::await_change();
  return kube::Requeue::in(std::max<base::Duration>(*at - deps_.clocks.wall.now(), base::milliseconds(1)));
}

/// `outcome` is nullptr if no cycle ran in this reconcile.
void PolicyReconciler::notify_once(const api::DeschedulerPolicy& policy, const Situation& situation,
                                   const CycleOutcome* outcome) const {
  if (outcome != nullptr) {
    const char* held = policy.spec.mode == api::PolicyMode::kDryRun ? "mode DryRun: no Evacuations are created"
                       : policy.status.circuit.opened_at ? "the circuit breaker is open: no Evacuations are created"
                       : situation.gates.stops()         ? "a gate holds: no Evacuations are created"
                                                         : "";
    deps_.steering.once->on_cycle(policy.meta, *outcome, held, policy.status.circuit.opened_at.has_value());
  } else if (policy.spec.suspend) {
    deps_.steering.once->on_no_cycle(policy.meta, "no cycle: spec.suspend is true", false);
  } else if (situation.timing.opening != Opening::kOpen) {
    deps_.steering.once->on_no_cycle(policy.meta, "no cycle: outside of its windows, or inside a blackout", false);
  } else if (deps_.steering.once->has_cycled(policy.meta.uid) &&
             std::ranges::none_of(situation.evacuations, is_unfinished)) {
    taints_.drop(policy.meta.name);  // no later cycle would drop them
  }
}

GateVerdict PolicyReconciler::gates_of(const std::string& policy) const {
  return deps_.measured.gates ? deps_.measured.gates(policy) : GateVerdict{};
}

void PolicyReconciler::set_gates_condition(const ObservedPolicy& seen, const api::DeschedulerPolicyStatus& known,
                                           const api::DeschedulerPolicyStatus& next) const {
  const auto* before = api::find_condition(known.conditions, api::ConditionType::kSuspended);
  const auto* after = api::find_condition(next.conditions, api::ConditionType::kSuspended);
  if (!after || (before && before->reason == after->reason)) return;
  const bool holds = is_of_gate(after->reason);
  if (!holds && !(before && is_of_gate(before->reason))) return;
  kube::Event event;
  event.kind = holds ? api::EventKind::kWarning : api::EventKind::kNormal;
  event.reason = after->reason;
  event.note = after->message;
  publish(seen.meta, std::move(event), "Gate");
}

void PolicyReconciler::carry_out(const api::DeschedulerPolicy& policy, CycleOutcome& outcome) {
  const PhaseTimer timer(deps_.metrics, deps_.clocks.wall, "create", traces_.of(policy.meta.name));
  creator_.create(policy, outcome);
  if (outcome.summary.created == 0) return;
  publish(policy.meta,
          kube::Event::normal(api::EventReason::kEvacuationsCreated,
                              fmt::format("created {} Evacuations for {} nominated pods", outcome.summary.created,
                                          outcome.summary.nominated)),
          "Plan");
}

bool PolicyReconciler::is_wanted(const api::DeschedulerPolicy& policy) const {
  if (is_stopping_ && is_stopping_()) return false;
  const auto now = deps_.caches.policies.get(policy.meta.key());
  return deps_.leadership.may_act() && now && now->meta.uid == policy.meta.uid &&
         now->meta.generation == policy.meta.generation && !now->meta.is_terminating();
}

bool PolicyReconciler::may_go_on(const api::DeschedulerPolicy& policy) const {
  return is_wanted(policy) && observer_.stale_caches().empty() && !gates_of(policy.meta.name).stops();
}

base::Status PolicyReconciler::reject(const ObservedPolicy& seen, const std::string& problem) {
  if (deps_.steering.once)
    deps_.steering.once->on_no_cycle(seen.meta, "no cycle: the policy is invalid: " + problem, true);
  const auto next = invalid_status(seen.status, seen.meta.generation, problem, deps_.clocks.wall.now());
  metrics_.on_status(seen.meta.name, next);
  if (next == seen.status) return base::Done{};
  deps_.audit.on_invalid(seen.meta, problem);
  deps_.log.warning("policy is invalid", {kv("policy", seen.meta.name), kv("problem", problem)});
  publish(seen.meta, kube::Event::warning(api::EventReason::kInvalidSpec, problem), "Validate");
  return save(seen, seen.status, next);
}

base::Status PolicyReconciler::save(const ObservedPolicy& seen, const api::DeschedulerPolicyStatus& known,
                                    const api::DeschedulerPolicyStatus& next) {
  if (!statuses_.must_write(seen, known, next)) return base::Done{};
  if (!deps_.leadership.may_act()) return base::Error{base::ErrorCode::kCancelled, "not the leader"};
  const PhaseTimer timer(deps_.metrics, deps_.clocks.wall, "status", traces_.of(seen.meta.name));
  return statuses_.write(seen, next);
}

void PolicyReconciler::publish(const api::ObjectMeta& policy, kube::Event event, std::string action) const {
  deps_.events.publish(std::move(event).about(kube::event_object(kube::kPolicies, policy), std::move(action)));
}

/// Updates the circuit breaker's state before any Evacuation is created.
api::DeschedulerPolicy PolicyReconciler::with_circuit(api::DeschedulerPolicy policy) {
  const bool was_open = policy.status.circuit.opened_at.has_value();
  Verdicts& verdicts = verdicts_[policy.meta.name];
  verdicts.judged = verdicts.stored;
  policy.status.circuit = next_circuit(policy, deps_.caches.evacuations.by_index(kByPolicy, policy.meta.name),
                                       deps_.clocks.wall.now(), &verdicts.judged);
  const bool open = policy.status.circuit.opened_at.has_value();
  metrics_.on_circuit(policy.meta.name, open);
  if (open && !was_open) {
    publish(policy.meta,
            kube::Event::warning(api::EventReason::kCircuitOpened,
                                 circuit_condition(policy, policy.status.circuit).message),
            "Verify");
  }
  return policy;
}

}  // namespace controllers
