#include "controllers/policy/reconciler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "api/core/codec.hpp"
#include "api/meta/label_value.hpp"
#include "api/meta/well_known.hpp"
#include "api/origin.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/reasons.hpp"
#include "base/backoff.hpp"
#include "controllers/once/once_run.hpp"
#include "controllers/policy/balance/convergence.hpp"
#include "controllers/policy/circuit.hpp"
#include "controllers/policy/cycle.hpp"
#include "controllers/signing/origin.hpp"
#include "controllers/spec_problems.hpp"
#include "controllers/status_patch.hpp"
#include "kube/classify.hpp"
#include "kube/runtime/worker.hpp"
#include "planning/balance/convergence.hpp"
#include "planning/evacuating_pods.hpp"
#include "strategies/catalog.hpp"
#include "strategies/preferences/preferred_placement.hpp"

namespace controllers {
namespace {

using base::kv;

/// A cycle that is due while a cache is stale is looked at again so often, should nobody tell us earlier.
constexpr base::minutes kStaleRetry{1};
/// The same for a policy whose gates were not asked yet: their first answers decide what it does.
constexpr base::seconds kGateRetry{5};
/// A server that has too much to do takes the next try so soon at the least, and so late at the most.
constexpr base::Backoff kThrottled{base::milliseconds(500), base::seconds(10)};
/// So long each creator waits in one cycle for a server that has too much to do, whoever's 429 it is: other policies
/// are not looked at meanwhile. Then the rest of a namespace that is refused is left to the next cycle.
constexpr base::seconds kMostPaused{30};
/// A policy that would search while another one does looks again so soon.
constexpr base::seconds kSearchRetry{5};
/// Whoever waits for its turn says so often that it is alive.
constexpr base::seconds kTurnPatience{1};
/// Rounds look again so often whether replacements have their nodes.
constexpr base::seconds kSettleRetry{10};

std::string cycle_id(const api::DeschedulerPolicy& policy, base::TimePoint now) {
  return fmt::format("{}-{}", policy.meta.name, std::chrono::floor<base::seconds>(now).time_since_epoch().count());
}

bool is_of_gate(std::string_view reason) {
  return reason == api::Reason::kGateHolds || reason == api::Reason::kGateUnanswered;
}

/// By the condition's own reason.
kube::Event gate_event(api::EventKind kind, const api::Condition& condition) {
  kube::Event event;
  event.kind = kind;
  event.reason = condition.reason;
  event.note = condition.message;
  return event;
}

/// The policy's own, and not put off by somebody who suspended it: that would hold a taint for as long as he likes.
bool waits_or_moves(const api::Evacuation& evacuation, const std::string& policy) {
  return api::policy_of(evacuation) == policy && !api::is_terminal(evacuation.status.phase) &&
         !evacuation.spec.suspend && !evacuation.spec.dry_run;
}

/// A strategy whose plan may take much longer than a look at all pods.
bool searches(const strategies::StrategySpecs& specs) {
  return std::ranges::any_of(specs.runnable, [](const strategies::StrategySpec& each) {
    return strategies::plans_in_waves(each.strategy->name()) ||
           each.strategy->name() == strategies::PreferredPlacement::kName;
  });
}

/// Pods whose VM, name or workload was evacuated so lately that this policy excludes them.
void add_cooling(KnownPods& known, const scheduling::ClusterSnapshot& snapshot, const CooldownLedger& cooldowns,
                 const std::string& policy, base::TimePoint now) {
  if (cooldowns.empty()) return;
  for (const scheduling::PodIndex index : snapshot.pods()) {
    const api::Pod& pod = snapshot.pod(index);
    if (cooldowns.cooling(cooldown_subjects(pod), policy, now)) known.cooling.push_back({pod.meta.ns, pod.uid()});
  }
}

/// Times one phase of a cycle, for all policies together: as many series as there are phases. `trace` may be nullptr.
class PhaseTimer {
 public:
  PhaseTimer(base::Metrics& metrics, const base::Clock& clock, std::string_view phase, CycleTrace* trace)
      : metrics_(metrics), clock_(clock), phase_(phase), trace_(trace), began_(clock.now()) {
    if (trace_) trace_->begin_phase(phase_, began_);
  }
  ~PhaseTimer() {
    const base::TimePoint now = clock_.now();
    if (trace_) trace_->end_phase(phase_, now);
    metrics_
        .histogram("evacuator_planning_phase_duration_seconds", "How long the phases of planning cycles took.",
                   {0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120}, {{"phase", phase_}})
        .observe(std::max(0.0, std::chrono::duration<double>(now - began_).count()),
                 {trace_ ? trace_->id() : std::string(), now});
  }
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;

 private:
  base::Metrics& metrics_;
  const base::Clock& clock_;
  const std::string_view phase_;
  CycleTrace* const trace_;
  const base::TimePoint began_;
};

}  // namespace

/// A policy's turn.
class PolicyReconciler::Turn {
 public:
  explicit Turn(PolicyReconciler& of) : of_(of) {
    of_.begin_turn(of_.deps_.progress ? of_.deps_.progress() : [] {});
  }
  ~Turn() { of_.turn_.unlock(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  PolicyReconciler& of_;
};

/// A time in the middle of a policy's turn when others have theirs.
class PolicyReconciler::Intermission {
 public:
  explicit Intermission(PolicyReconciler& of) : of_(of), progress_(of.progress_) {
    of_.is_searching_ = true;
    of_.turn_.unlock();
  }
  ~Intermission() {
    of_.begin_turn(std::move(progress_));
    of_.is_searching_ = false;
  }
  Intermission(const Intermission&) = delete;
  Intermission& operator=(const Intermission&) = delete;

 private:
  PolicyReconciler& of_;
  Progress progress_;
};

/// Another one's may take minutes where it makes thousands of Evacuations.
void PolicyReconciler::begin_turn(Progress progress) {
  turn_.lock(kTurnPatience, progress);
  progress_ = std::move(progress);
}

base::Result<kube::Requeue> PolicyReconciler::reconcile(const api::ObjectKey& key) {
  const Turn turn(*this);
  return reconcile_in_turn(key);
}

base::Result<kube::Requeue> PolicyReconciler::reconcile_in_turn(const api::ObjectKey& key) {
  const auto seen = deps_.policies.get(key);
  forget_earlier(key.name, seen ? seen->meta.uid : std::string());
  if (!seen || seen->meta.is_terminating() || !seen->plan_spec) drop_taints(key.name);
  if (!seen || seen->meta.is_terminating()) return kube::Requeue::await_change();
  known_[key.name] = seen->meta.uid;
  if (!seen->plan_spec) {
    if (auto saved = reject(*seen, seen->spec_problem); !saved) return saved.error();
    return kube::Requeue::await_change();
  }
  if (const auto errors = problems_of(seen->spec, seen->plan_spec->strategy_specs, deps_.evictors); !errors.empty()) {
    drop_taints(key.name);
    if (auto saved = reject(*seen, api::to_error(errors).message); !saved) return saved.error();
    return kube::Requeue::await_change();
  }
  const api::DeschedulerPolicy policy = with_own_writes(*seen);
  return reconcile_valid(*seen, with_circuit(policy), policy.status);
}

/// Whatever belongs to a policy of that name that is not there any more: nobody else would ever drop it.
void PolicyReconciler::forget_earlier(const std::string& name, const std::string& uid) {
  const auto known = known_.find(name);
  if (known == known_.end() || known->second == uid) return;
  own_.erase(known->second);
  resting_hints_.forget(known->second);
  known_.erase(known);
  deps_.metrics.forget("policy", name);
  deps_.audit.forget(name);
}

base::Result<kube::Requeue> PolicyReconciler::reconcile_valid(const ObservedPolicy& seen,
                                                              const api::DeschedulerPolicy& policy,
                                                              const api::DeschedulerPolicyStatus& known) {
  const planning::PlanSpec& spec = *seen.plan_spec;
  const std::string& name = policy.meta.name;
  GateVerdict gates = gates_of(name);
  if (gates.not_asked_yet) return kube::Requeue::in(kGateRetry);
  const Situation situation = look(policy, spec, std::move(gates));
  const bool due = situation.timing.due;
  if (due && is_searching_ && searches(spec.strategy_specs)) return kube::Requeue::in(kSearchRetry);
  const bool put_off = situation.is_put_off(policy.spec.mode);
  const bool may_move =
      policy.spec.mode != api::PolicyMode::kDryRun && !policy.status.circuit.opened_at && !situation.gates.stops();
  if (!situation.is_moving() && !due) stop_emptying(name);
  if (!may_move || policy.spec.suspend || situation.timing.opening != Opening::kOpen) drop_taints(name);
  std::optional<CycleOutcome> outcome;
  if (due && !put_off) {
    auto ran = run_due_cycle(policy, spec, situation, may_move);
    if (!ran) return ran.error();
    outcome = *std::move(ran);
  }
  const auto next = status_after(policy, spec, situation, outcome ? &*outcome : nullptr);
  tell_gates(seen, known, next);
  publish_status(name, next);
  auto saved = save(seen, known, next);
  if (outcome) end_trace(name, *outcome, saved);
  if (deps_.once && !put_off) tell_once(policy, situation, outcome ? &*outcome : nullptr);
  if (!saved) return saved.error();
  return put_off ? kube::Requeue::in(kStaleRetry) : next_look(next, situation);
}

PolicyReconciler::Situation PolicyReconciler::look(const api::DeschedulerPolicy& policy, const planning::PlanSpec& spec,
                                                   GateVerdict gates) {
  Situation seen;
  seen.now = deps_.clock.now();
  seen.gates = std::move(gates);
  seen.evacuations = deps_.evacuations.by_index(kByPolicy, policy.meta.name);
  if (deps_.hints_in_force) resting_hints_.look(policy.meta.uid, seen.evacuations, policy.status.plan, seen.now);
  seen.wave = wave_progress(policy, seen.evacuations, seen.now);
  if (spec.strategy_specs.in_rounds() != nullptr) {
    seen.moved = state_of_moves(policy, seen.evacuations, seen.now);
    seen.settled = settlement(policy, seen);
  }
  const bool continues = seen.wave.may_continue || rounds_go_on(policy, seen.moved, seen.settled);
  seen.timing = timing_with_triggers(policy, continues, seen.now);
  seen.stale = stale_caches();
  return seen;
}

Settlement PolicyReconciler::settlement(const api::DeschedulerPolicy& policy, const Situation& situation) const {
  const bool one_runs =
      situation.moved == WaveState::kUnderWay || std::ranges::any_of(situation.evacuations, is_unfinished);
  if (one_runs) return {false, false};
  const auto& rounds = policy.status.rounds;
  if (!are_running(rounds) || !rounds->planned_at) return {};
  return settlement_of(situation.evacuations, deps_.snapshot().pods, *rounds->planned_at, situation.now);
}

void PolicyReconciler::begin_trace(const api::DeschedulerPolicy& policy, base::TimePoint now) {
  if (!deps_.spans) return;
  auto trace = std::make_unique<CycleTrace>(policy.meta.name, policy.meta.uid, cycle_id(policy, now), now);
  if (deps_.spans->wants(trace->id())) traces_.insert_or_assign(policy.meta.name, std::move(trace));
}

CycleTrace* PolicyReconciler::trace_of(const std::string& policy) const {
  const auto found = traces_.find(policy);
  return found == traces_.end() ? nullptr : found->second.get();
}

void PolicyReconciler::end_trace(const std::string& policy, const CycleOutcome& outcome, const base::Status& saved) {
  const auto found = traces_.find(policy);
  if (found == traces_.end()) return;
  const api::LastCycle& summary = outcome.summary;
  std::string problem = outcome.is_judged ? "" : "a strategy could not judge";
  if (!saved) problem = "the status was not saved: " + std::string(to_string(saved.error().code));
  for (tracing::Span& span : found->second->finish({{"evacuator.nodes", std::int64_t{summary.nodes}},
                                                    {"evacuator.pods", std::int64_t{summary.pods}},
                                                    {"evacuator.nominated", std::int64_t{summary.nominated}},
                                                    {"evacuator.created", std::int64_t{summary.created}}},
                                                   std::move(problem), deps_.clock.now()))
    deps_.spans->add(std::move(span));
  traces_.erase(found);
}

/// `made`: the Evacuation as the server answered.
void PolicyReconciler::link_trace(const std::string& policy, std::string_view made) const {
  CycleTrace* const trace = trace_of(policy);
  const auto meta = trace ? api::decode_meta(made) : base::Result<api::ObjectMeta>(base::unavailable(""));
  if (meta && deps_.spans->wants(tracing::trace_id_of(meta->uid))) trace->link(meta->uid);
}

base::Result<CycleOutcome> PolicyReconciler::run_due_cycle(const api::DeschedulerPolicy& policy,
                                                           const planning::PlanSpec& spec, const Situation& situation,
                                                           bool may_move) {
  const std::string& name = policy.meta.name;
  const auto trigger = deps_.triggers ? deps_.triggers->take(name) : std::nullopt;  // what happens now is for the next
  begin_trace(policy, situation.now);
  auto planned =
      plan_on_nodes(policy, spec, may_move, situation.wave.may_continue, situation.settled.is_settled, situation.now);
  if (!planned && trigger) deps_.triggers->give_back(name, *trigger);
  if (!planned) traces_.erase(name);
  if (!planned) return planned;
  if (trigger) note_trigger(name, *trigger);
  CycleOutcome outcome = *std::move(planned);
  count_planned(outcome);
  deps_.audit.on_planned(policy, outcome);
  if (may_move) pledge_taints(policy, spec, outcome);
  if (may_move) carry_out(policy, outcome);
  count_made(outcome);
  if (outcome.summary.created == 0 && outcome.existing == 0) stop_emptying(policy.meta.name);
  outcome.summary.duration = std::chrono::duration_cast<base::milliseconds>(deps_.clock.now() - situation.now);
  count_cycle(policy, outcome);
  deps_.audit.on_cycle(policy, outcome);
  return outcome;
}

/// `outcome`: of the cycle that ran; nullptr: none did.
api::DeschedulerPolicyStatus PolicyReconciler::status_after(const api::DeschedulerPolicy& policy,
                                                            const planning::PlanSpec& spec, const Situation& situation,
                                                            const CycleOutcome* outcome) {
  const std::string& name = policy.meta.name;
  const std::int64_t generation = policy.meta.generation;
  const base::TimePoint now = situation.now;
  const auto counts = tally(deps_.evacuations.by_index(kByPolicy, name),
                            {policy.status.evicted_counted, policy.status.evicted_until}, now);
  auto next = next_status(policy, counts, outcome, now, situation.gates);
  next.cooldowns = deps_.cooldowns.records(name, now);
  if (outcome != nullptr) {
    next.restarts = remembered_restarts(spec.strategy_specs);
    next.balance = outcome->balance;
    next.rounds = outcome->rounds;
  }
  tell_convergence(next, generation, now);
  if (const strategies::Strategy* in_rounds = spec.strategy_specs.in_rounds())
    tell_rounds(next, in_rounds->rounds().value(), generation, now);
  if (outcome != nullptr) {
    tell_usage(next.conditions, outcome->usage, generation, now);
    tell_forecasts(next.conditions, outcome->forecasts, generation, now);
  }
  if (deps_.taints)
    tell_soft_taints(next.conditions, spec.strategy_specs.soft_taints(), deps_.taints->problem(name),
                     deps_.taints->nodes_of(name), generation, now);
  tell_audit_health(next, deps_.audit.failing(), generation, now);
  tell_stale_caches(next, situation.stale, generation, now);
  return next;
}

kube::Requeue PolicyReconciler::next_look(const api::DeschedulerPolicyStatus& next, const Situation& situation) const {
  auto changes = situation.timing.changes;
  const auto no_later = [&](base::TimePoint time) { changes = std::min(changes.value_or(time), time); };
  if (situation.wave.changes) no_later(*situation.wave.changes);
  if (situation.settled.awaits_pods && are_running(next.rounds)) no_later(situation.now + kSettleRetry);
  return look_again(deps_.once ? std::nullopt : next.next_cycle_time, changes);
}

CycleTiming PolicyReconciler::timing_with_triggers(const api::DeschedulerPolicy& policy, bool continues,
                                                   base::TimePoint now) {
  if (deps_.once) return timing_once(policy, now);
  CycleTiming timing = cycle_timing(policy, now);
  if (continues && !policy.spec.suspend && timing.opening == Opening::kOpen) timing.due = true;
  const auto in = deps_.triggers ? deps_.triggers->due_in(policy.meta.name) : std::nullopt;
  if (!in) return timing;
  if (*in > base::Duration::zero()) {
    timing.changes = std::min(timing.changes.value_or(now + *in), now + *in);
  } else if (policy.spec.suspend || timing.opening != Opening::kOpen) {
    deps_.triggers->take(policy.meta.name);  // not kept for the time when cycles may start again
  } else {
    timing.due = true;
  }
  return timing;
}

/// The schedule says when cycles may run; that one is to run now says whoever started us.
CycleTiming PolicyReconciler::timing_once(const api::DeschedulerPolicy& policy, base::TimePoint now) const {
  CycleTiming timing = cycle_timing(policy, now);
  timing.due = !policy.spec.suspend && timing.opening == Opening::kOpen && !deps_.once->has_cycled(policy.meta.uid);
  return timing;
}

/// Whatever was decided is written, or is going to be. `outcome`: nullptr: no cycle ran in this reconcile.
void PolicyReconciler::tell_once(const api::DeschedulerPolicy& policy, const Situation& situation,
                                 const CycleOutcome* outcome) const {
  if (outcome != nullptr) {
    const char* held = policy.spec.mode == api::PolicyMode::kDryRun ? "mode DryRun: nothing is made"
                       : policy.status.circuit.opened_at            ? "the circuit breaker is open: nothing is made"
                       : situation.gates.stops()                    ? "a gate holds: nothing is made"
                                                                    : "";
    deps_.once->on_cycle(policy.meta, *outcome, held, policy.status.circuit.opened_at.has_value());
  } else if (policy.spec.suspend) {
    deps_.once->on_no_cycle(policy.meta, "no cycle: spec.suspend is true", false);
  } else if (situation.timing.opening != Opening::kOpen) {
    deps_.once->on_no_cycle(policy.meta, "no cycle: outside of its windows, or in a blackout", false);
  } else if (deps_.once->has_cycled(policy.meta.uid) && std::ranges::none_of(situation.evacuations, is_unfinished)) {
    drop_taints(policy.meta.name);  // nobody would at the end
  }
}

GateVerdict PolicyReconciler::gates_of(const std::string& policy) const {
  return deps_.gates ? deps_.gates(policy) : GateVerdict{};
}

void PolicyReconciler::tell_gates(const ObservedPolicy& seen, const api::DeschedulerPolicyStatus& known,
                                  const api::DeschedulerPolicyStatus& next) const {
  const auto* before = api::find_condition(known.conditions, api::ConditionType::kSuspended);
  const auto* after = api::find_condition(next.conditions, api::ConditionType::kSuspended);
  if (!after || (before && before->reason == after->reason)) return;
  const bool held = before && is_of_gate(before->reason);
  if (is_of_gate(after->reason)) {
    publish(seen.meta, gate_event(api::EventKind::kWarning, *after), "Gate");
  } else if (held) {
    publish(seen.meta, gate_event(api::EventKind::kNormal, *after), "Gate");
  }
}

void PolicyReconciler::note_trigger(const std::string& policy, api::TriggerKind trigger) {
  deps_.metrics
      .counter("evacuator_policy_triggered_cycles_total", "Planning cycles that began with a trigger pending.",
               {{"policy", policy}, {"trigger", to_string(trigger)}})
      .increment();
  deps_.log.info("cycle triggered", {kv("policy", policy), kv("trigger", to_string(trigger))});
}

/// At the earlier of them.
kube::Requeue PolicyReconciler::look_again(std::optional<base::TimePoint> next,
                                           std::optional<base::TimePoint> other) const {
  if (other && (!next || *other < *next)) next = other;
  if (!next) return kube::Requeue::await_change();
  return kube::Requeue::in(std::max<base::Duration>(*next - deps_.clock.now(), base::milliseconds(1)));
}

CycleOutcome PolicyReconciler::plan(const api::DeschedulerPolicy& policy, const planning::PlanSpec& spec,
                                    bool continues, bool is_settled, base::TimePoint now) {
  const auto quantities = scheduling::quantities_of(policy.spec.compatibility);
  if (!searches(spec.strategy_specs)) {
    std::optional<PhaseTimer> timer(std::in_place, deps_.metrics, deps_.clock, "snapshot", trace_of(policy.meta.name));
    const scheduling::ClusterSnapshot& kept = snapshots_.at(deps_.snapshot(), quantities);
    timer.reset();
    return plan_on(kept, policy, spec, continues, is_settled, now);
  }
  std::optional<PhaseTimer> timer(std::in_place, deps_.metrics, deps_.clock, "snapshot", trace_of(policy.meta.name));
  const scheduling::ClusterSnapshot own(deps_.snapshot(), quantities);  // others update snapshots_ meanwhile
  timer.reset();
  return plan_on(own, policy, spec, continues, is_settled, now);
}

CycleOutcome PolicyReconciler::plan_on(const scheduling::ClusterSnapshot& snapshot,
                                       const api::DeschedulerPolicy& policy, const planning::PlanSpec& spec,
                                       bool continues, bool is_settled, base::TimePoint now) {
  CycleTrace* const trace = trace_of(policy.meta.name);
  const PhaseTimer timer(deps_.metrics, deps_.clock, "strategies", trace);
  KnownPods known = known_pods(deps_.evacuations.list(), policy);
  known.forbidden = forbidden_namespaces(deps_.evacuations.list(), now);
  add_cooling(known, snapshot, deps_.cooldowns, policy.meta.name, now);
  restarts_.restore(policy.status.restarts, now);  // what an earlier leader saw
  restarts_.observe(snapshot, now);
  known.restarts = &restarts_;
  known.server_minor = deps_.server_minor;
  const bool hints_in_force = deps_.hints_in_force && deps_.hints_in_force();
  const std::string hints_rest = hints_in_force ? resting_hints_.why(policy.meta.uid, now) : std::string();
  known.placement_hints = hints_in_force && hints_rest.empty();
  known.namespaces_without_hints = deps_.namespaces_without_hints;
  // What a person admits one by one meets whatever taints there are then.
  if (deps_.taints && deps_.taints->problem(policy.meta.name).empty() && policy.spec.mode != api::PolicyMode::kManual)
    known.taint_value = api::soft_taint_value(policy.meta.name);
  if (known.taint_value) known.pledged = pledged_taints(policy, spec, now);
  UsageFigures figures = deps_.usage ? deps_.usage(policy.meta.name) : UsageFigures{};
  known.usage = figures.measured;
  known.elapsed = [this, now] { return deps_.clock.now() - now; };
  known.is_cancelled = [this, &policy, progress = progress_] {
    progress();
    return !is_wanted(policy);
  };
  known.executor = executor_;
  if (trace) {
    known.on_strategy = [this, trace](std::string_view strategy, bool begins) {
      const base::TimePoint at = deps_.clock.now();
      begins ? trace->begin_strategy(strategy, at) : trace->end_strategy(strategy, at);
    };
  }
  known.continues_plan = continues;
  if (policy.status.observed_generation == policy.meta.generation) known.rounds = policy.status.rounds;
  known.is_settled = is_settled;
  known.may_time_out = policy.spec.mode == api::PolicyMode::kAutomatic;
  CycleOutcome outcome = searches(spec.strategy_specs) ? search(spec, snapshot, known, cycle_id(policy, now), now)
                                                       : run_cycle(spec, snapshot, known, cycle_id(policy, now), now);
  for (std::size_t i = 0; i < figures.measured.size(); ++i)
    outcome.usage.push_back(usage_report(*figures.measured[i], figures.health[i], snapshot, policy.spec.node_selector));
  outcome.forecasts = std::move(figures.forecasts);
  if (!hints_rest.empty()) outcome.warnings.insert(outcome.warnings.begin(), hints_rest);
  if (deps_.unknown) {
    std::vector<std::string> unknown = deps_.unknown();
    outcome.warnings.insert(outcome.warnings.begin(), unknown.begin(), unknown.end());
  }
  if (!deps_.stuck) return outcome;
  for (std::string& each : deps_.stuck(policy.meta.name)) outcome.problems.push_back(std::move(each));
  return outcome;
}

/// Beside the turns of other policies, on what belongs to nobody else.
CycleOutcome PolicyReconciler::search(const planning::PlanSpec& spec, const scheduling::ClusterSnapshot& snapshot,
                                      KnownPods& known, std::string id, base::TimePoint now) {
  const strategies::RestartHistory restarts = restarts_;
  known.restarts = &restarts;
  const Intermission others_turns(*this);
  return run_cycle(spec, snapshot, known, std::move(id), now);
}

/// Without the moves that are not to be made, and without the taints for them.
base::Result<CycleOutcome> PolicyReconciler::judged_plan(const api::DeschedulerPolicy& policy,
                                                         const planning::PlanSpec& spec, bool continues,
                                                         bool is_settled, base::TimePoint now) {
  CycleOutcome outcome = plan(policy, spec, continues, is_settled, now);
  if (!is_wanted(policy)) return base::Error{base::ErrorCode::kCancelled, "nobody wants the plan any more"};
  judge_balance(policy, outcome, continues);
  if (continues) end_if_it_does_not_shrink(outcome, policy.status.last_cycle->waves);
  return outcome;
}

base::Result<CycleOutcome> PolicyReconciler::plan_on_nodes(const api::DeschedulerPolicy& policy,
                                                           const planning::PlanSpec& spec, bool may_move,
                                                           bool continues, bool is_settled, base::TimePoint now) {
  auto planned = judged_plan(policy, spec, continues, is_settled, now);
  if (!planned || !may_move || place_taints(policy, *planned)) return planned;
  return judged_plan(policy, spec, continues, is_settled, now);
}

/// False: the plan counts on taints that cannot be written.
bool PolicyReconciler::place_taints(const api::DeschedulerPolicy& policy, const CycleOutcome& outcome) {
  if (!deps_.taints) return true;
  if (!outcome.is_judged) return deps_.taints->keep(policy.meta.name), true;
  return deps_.taints->place(policy.meta.name, outcome.taints, progress_) || outcome.taints.empty();
}

/// Nodes whose soft taint replacements of earlier moves are still to meet.
std::vector<std::string> PolicyReconciler::pledged_taints(const api::DeschedulerPolicy& policy,
                                                          const planning::PlanSpec& spec, base::TimePoint now) const {
  if (!spec.strategy_specs.asks_for(api::well_known::kLoadedTaint)) {
    deps_.taints->forget_pledges(policy.meta.name);
    return {};
  }
  std::vector<api::ObjectKey> unfinished;
  for (const auto& each : deps_.evacuations.by_index(kByPolicy, policy.meta.name)) {
    const bool counts = spec.strategy_specs.asks_for(api::well_known::kLoadedTaint, each->spec.source.strategy);
    if (counts && waits_or_moves(*each, policy.meta.name)) unfinished.push_back(each->meta.key());
  }
  const auto look = [&](const api::ObjectKey& key) {
    const auto seen = deps_.evacuations.get(key);
    if (!seen) return TaintPledges::Progress::kNotSeen;
    return waits_or_moves(*seen, policy.meta.name) ? TaintPledges::Progress::kUnfinished
                                                   : TaintPledges::Progress::kFinished;
  };
  return deps_.taints->pledged(policy.meta.name, unfinished, look, now);
}

void PolicyReconciler::pledge_taints(const api::DeschedulerPolicy& policy, const planning::PlanSpec& spec,
                                     const CycleOutcome& outcome) const {
  if (!deps_.taints) return;
  TaintPledge pledge{.nodes = {}, .evacuations = {}, .made = deps_.clock.now()};
  for (const planning::NodeTaint& taint : outcome.taints) {
    if (taint.key == api::well_known::kLoadedTaint && taint.is_asked) pledge.nodes.push_back(taint.node);
  }
  for (const api::PlannedMove& move : outcome.moves) {
    if (is_made_now(move) && spec.strategy_specs.asks_for(api::well_known::kLoadedTaint, move.strategy))
      pledge.evacuations.push_back({move.ns, api::evacuation_name(move.pod, {move.uid})});
  }
  deps_.taints->pledge(policy.meta.name, std::move(pledge));
}

/// No Evacuation is there for whose sake nodes are to be avoided.
void PolicyReconciler::stop_emptying(const std::string& policy) const {
  if (deps_.taints) deps_.taints->drop(policy, api::well_known::kEmptyingTaint);
}

void PolicyReconciler::drop_taints(const std::string& policy) const {
  if (deps_.taints) deps_.taints->drop(policy);
}

void PolicyReconciler::carry_out(const api::DeschedulerPolicy& policy, CycleOutcome& outcome) {
  const PhaseTimer timer(deps_.metrics, deps_.clock, "create", trace_of(policy.meta.name));
  const auto keys = deps_.keys.keys();
  if (!keys && !outcome.moves.empty()) {
    outcome.problems.push_back("nothing is evacuated: an Evacuation that is not signed would count as made by hand; " +
                               deps_.keys.problem());
    return;
  }
  if (!outcome.moves.empty()) create_all(policy, keys->current, outcome);
  if (!clock_warning_.empty()) outcome.warnings.insert(outcome.warnings.begin(), clock_warning_);
  if (outcome.summary.created == 0) return;
  publish(policy.meta,
          kube::Event::normal(api::EventReason::kEvacuationsCreated,
                              fmt::format("created {} Evacuations for {} nominated pods", outcome.summary.created,
                                          outcome.summary.nominated)),
          "Plan");
}

/// In the order of the plan, but for the few that are under way at the same time.
void PolicyReconciler::create_all(const api::DeschedulerPolicy& policy, const signing::Key& key,
                                  CycleOutcome& outcome) {
  const auto made_now = static_cast<std::size_t>(std::ranges::count_if(outcome.moves, is_made_now));
  std::atomic<std::size_t> next = 0;
  paused_ = {};
  const auto create = [&] {
    for (std::size_t i = next++; i < outcome.moves.size(); i = next++) {
      const api::PlannedMove& move = outcome.moves[i];
      if (!is_made_now(move) || is_refused(move.ns, outcome)) continue;
      if (!may_go_on(policy) || !create_one(policy, move, evacuation_for(policy, move, made_now), key, outcome))
        next = outcome.moves.size();
      progress_();
    }
  };
  const auto others = std::min(static_cast<std::size_t>(creators_), outcome.moves.size()) - 1;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < others; ++i) threads.emplace_back(create);
  create();
}

/// Remembers what the newest object tells of the clocks. False when what was made does not count as ours by them, so
/// that more would be no better.
bool PolicyReconciler::clocks_agree(base::TimePoint sent, std::string_view made, CycleOutcome& outcome) {
  const base::Duration skew = clock_skew(sent, deps_.clock.now(), made);
  std::string warning = clock_skew_warning(skew);
  if (!warning.empty() && clock_warning_.empty()) deps_.log.warning("clocks differ", {kv("problem", warning)});
  clock_warning_ = std::move(warning);
  if (std::chrono::abs(skew) <= kOriginWindow) return true;
  outcome.problems.push_back("nothing more is evacuated: " + clock_warning_);
  return false;
}

std::vector<std::string> PolicyReconciler::stale_caches() const {
  return deps_.stale ? deps_.stale() : std::vector<std::string>();
}

bool PolicyReconciler::is_wanted(const api::DeschedulerPolicy& policy) const {
  if (is_stopping_ && is_stopping_()) return false;
  const auto now = deps_.policies.get(policy.meta.key());
  return deps_.may_act() && now && now->meta.uid == policy.meta.uid && now->meta.generation == policy.meta.generation &&
         !now->meta.is_terminating();
}

bool PolicyReconciler::may_go_on(const api::DeschedulerPolicy& policy) const {
  return is_wanted(policy) && stale_caches().empty() && !gates_of(policy.meta.name).stops();
}

/// A quota is full, the namespace is being deleted, or a webhook of it has no time: the others have nothing to do with
/// that.
bool PolicyReconciler::is_refused(const std::string& ns, const CycleOutcome& outcome) {
  const std::lock_guard lock(creating_);
  return outcome.refusing.contains(ns);
}

/// Makes room for one of the same name.
void PolicyReconciler::remove_expired(const api::ObjectKey& key) const {
  const auto old = deps_.evacuations.get(key);
  if (old && planning::never_began(*old))
    static_cast<void>(deps_.client.remove(kube::kEvacuations, key, old->meta.uid));
}

/// The server has too much to do and says when to come again: only this creator waits, the plan goes on.
bool PolicyReconciler::waits_for_turn(const api::DeschedulerPolicy& policy, const base::Error& error, int tries) {
  if (error.code != base::ErrorCode::kThrottled) return false;
  const base::Duration asked =
      std::min<base::Duration>(error.retry_after.value_or(base::Duration::zero()), kube::kLongestRetryAfter);
  const base::Duration pause = std::max(asked, base::backoff_delay(kThrottled, tries));
  {
    const std::lock_guard lock(creating_);
    if (paused_ + pause > kMostPaused * creators_) return false;
    paused_ += pause;
  }
  if (pause_ && !pause_(pause)) return false;
  progress_();
  return may_go_on(policy);
}

/// False when going on makes no sense: the server is away or refuses us.
bool PolicyReconciler::create_one(const api::DeschedulerPolicy& policy, const api::PlannedMove& move,
                                  api::Evacuation evacuation, const signing::Key& key, CycleOutcome& outcome) {
  remove_expired(evacuation.meta.key());
  base::TimePoint sent;
  api::Evacuation wanted;
  base::Result<std::string> made = base::unavailable("not sent");
  int tries = 0;
  do {
    sent = deps_.clock.now();
    wanted = with_origin(evacuation, key, sent);  // signed anew: a signature soon counts no more
    made = deps_.client.create(kube::kEvacuations, move.ns, api::encode_evacuation(wanted));
  } while (!made && waits_for_turn(policy, made.error(), ++tries));
  const base::Error* refused = made ? nullptr : &made.error();
  deps_.audit.on_created(policy, move, wanted, refused);
  if (made) {
    link_trace(policy.meta.name, *made);
    deps_.log.info("evacuation created",
                   {kv("policy", policy.meta.name), kv("evacuation", wanted.meta.key().to_string()),
                    kv("node", move.from), kv("strategy", move.strategy)});
  }
  return note_created(wanted, made, sent, outcome);
}

bool PolicyReconciler::note_created(const api::Evacuation& wanted, const base::Result<std::string>& made,
                                    base::TimePoint sent, CycleOutcome& outcome) {
  const std::lock_guard lock(creating_);
  if (made) {
    ++outcome.summary.created;
    if (deps_.once) deps_.once->on_created(wanted.meta.key());
    return clocks_agree(sent, *made, outcome);
  }
  // A deterministic name: whoever made it, this pod is taken care of.
  if (made.error().code == base::ErrorCode::kAlreadyExists) return ++outcome.existing, true;
  outcome.problems.push_back(made.error().during("creating Evacuation " + wanted.meta.key().to_string()).message);
  const bool is_of_namespace =
      made.error().code == base::ErrorCode::kThrottled ||
      (made.error().code == base::ErrorCode::kForbidden && !kube::is_right_missing(made.error()));
  if (is_of_namespace) return outcome.refusing.insert(wanted.meta.ns), true;
  return made.error().code == base::ErrorCode::kInvalid || made.error().code == base::ErrorCode::kNotFound;
}

base::Status PolicyReconciler::reject(const ObservedPolicy& seen, const std::string& problem) {
  if (deps_.once) deps_.once->on_no_cycle(seen.meta, "no cycle: the policy is invalid: " + problem, true);
  const auto next = invalid_status(seen.status, seen.meta.generation, problem, deps_.clock.now());
  publish_status(seen.meta.name, next);
  if (next == seen.status) return base::Done{};
  deps_.audit.on_invalid(seen.meta, problem);
  deps_.log.warning("policy is invalid", {kv("policy", seen.meta.name), kv("problem", problem)});
  publish(seen.meta, kube::Event::warning(api::EventReason::kInvalidSpec, problem), "Validate");
  return save(seen, seen.status, next);
}

/// `known` is what `next` was decided on: the cached status, or our own newer one that the cache does not show yet.
base::Status PolicyReconciler::save(const ObservedPolicy& seen, const api::DeschedulerPolicyStatus& known,
                                    const api::DeschedulerPolicyStatus& next) {
  const auto own = own_.find(seen.meta.uid);
  const bool known_is_stored = own == own_.end() || own->second.stored || seen.status == next;
  if (known == next && known_is_stored) return base::Done{};
  if (!deps_.may_act()) return base::Error{base::ErrorCode::kCancelled, "not the leader"};
  const PhaseTimer timer(deps_.metrics, deps_.clock, "status", trace_of(seen.meta.name));
  const auto saved = deps_.client.patch(
      kube::kPolicies, seen.meta.key(), kube::PatchType::kMerge,
      guarded_status_patch(seen.meta, api::encode_status(seen.status), api::encode_status(next)), "status");
  // The cycle has run whether or not its report could be written.
  own_[seen.meta.uid] = {next, saved.ok()};
  if (!saved) return saved.error().during("saving the policy's status");
  return base::Done{};
}

void PolicyReconciler::publish(const api::ObjectMeta& policy, kube::Event event, std::string action) const {
  deps_.events.publish(std::move(event).about(kube::event_object(kube::kPolicies, policy), std::move(action)));
}

api::DeschedulerPolicy PolicyReconciler::with_own_writes(api::DeschedulerPolicy policy) const {
  const auto own = own_.find(policy.meta.uid);
  if (own == own_.end()) return policy;
  if (policy.status.observed_generation < own->second.status.observed_generation) policy.status = own->second.status;
  if (!own->second.status.last_cycle) return policy;
  const auto& cached = policy.status.last_cycle;
  const base::TimePoint newest = own->second.status.last_cycle->start;
  const auto is_ahead = [now = deps_.clock.now()](base::TimePoint time) { return is_from_the_future(time, now); };
  if (!cached || cached->start < std::chrono::floor<base::seconds>(newest) ||
      (is_ahead(cached->start) && !is_ahead(newest)))
    policy.status = own->second.status;
  return policy;
}

/// The circuit breaker's state as of now, before anything is made under it.
api::DeschedulerPolicy PolicyReconciler::with_circuit(api::DeschedulerPolicy policy) {
  const bool was_open = policy.status.circuit.opened_at.has_value();
  policy.status.circuit =
      next_circuit(policy, deps_.evacuations.by_index(kByPolicy, policy.meta.name), deps_.clock.now());
  const bool open = policy.status.circuit.opened_at.has_value();
  deps_.metrics
      .gauge("evacuator_policy_circuit_open", "1: the policy moves nothing more, see its condition CircuitOpen.",
             {{"policy", policy.meta.name}})
      .set(open ? 1 : 0);
  if (open && !was_open) {
    publish(policy.meta,
            kube::Event::warning(api::EventReason::kCircuitOpened,
                                 circuit_condition(policy, policy.status.circuit).message),
            "Verify");
  }
  return policy;
}

std::vector<api::RestartRecord> PolicyReconciler::remembered_restarts(const strategies::StrategySpecs& specs) const {
  const auto window = specs.restart_window();
  return window ? restarts_.records(*window, deps_.clock.now()) : std::vector<api::RestartRecord>();
}

/// One series a policy, so that none outlives a strategy or a resource that is not in the policy any more.
void PolicyReconciler::publish_imbalance(const api::DeschedulerPolicy& policy,
                                         const std::vector<api::BalanceRow>& rows) const {
  const auto is_of_load = [](const api::BalanceRow& row) { return !planning::is_of_counts(row); };
  if (std::ranges::none_of(rows, is_of_load) && std::ranges::none_of(policy.status.balance, is_of_load)) return;
  double worst = std::numeric_limits<double>::quiet_NaN();
  for (const api::BalanceRow& row : rows) {
    if (is_of_load(row)) worst = std::fmax(worst, row.before.deviation);
  }
  deps_.metrics
      .gauge("evacuator_policy_imbalance",
             "Standard deviation of the load of nodes in percentage points, before the last cycle's moves, of the "
             "strategy and resource where it is highest.",
             {{"policy", policy.meta.name}})
      .set(worst);
}

void PolicyReconciler::publish_status(const std::string& name, const api::DeschedulerPolicyStatus& status) const {
  const auto gauge = [&](const char* series, const char* help, double value) {
    deps_.metrics.gauge(series, help, {{"policy", name}}).set(value);
  };
  gauge("evacuator_policy_active_evacuations", "Evacuations of the policy that have not ended.", status.active);
  gauge("evacuator_policy_evicted_pods", "Pods that ever left under the policy, as its status counts them.",
        static_cast<double>(status.evicted));
  const auto* ready = api::find_condition(status.conditions, api::ConditionType::kReady);
  gauge("evacuator_policy_ready", "1: the policy's condition Ready is True.",
        ready != nullptr && ready->status == api::ConditionStatus::kTrue ? 1 : 0);
  if (status.last_cycle)
    gauge("evacuator_policy_last_cycle_timestamp_seconds", "When the policy's last cycle began, as Unix time.",
          std::chrono::duration<double>(status.last_cycle->start.time_since_epoch()).count());
}

void PolicyReconciler::count_cycle(const api::DeschedulerPolicy& policy, const CycleOutcome& outcome) {
  const std::string& name = policy.meta.name;
  deps_.metrics.counter("evacuator_policy_cycles_total", "Planning cycles run.", {{"policy", name}}).increment();
  deps_.metrics.gauge("evacuator_policy_nominated", "Pods nominated in the last cycle.", {{"policy", name}})
      .set(outcome.summary.nominated);
  deps_.metrics
      .histogram("evacuator_policy_cycle_duration_seconds", "How long planning cycles took, creations included.",
                 {0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}, {{"policy", name}})
      .observe(static_cast<double>(outcome.summary.duration.count()) / 1000,
               {trace_of(name) ? trace_of(name)->id() : std::string(), deps_.clock.now()});
  deps_.metrics
      .counter("evacuator_policy_evacuations_created_total", "Evacuations that the policy made.", {{"policy", name}})
      .increment(outcome.summary.created);
  publish_imbalance(policy, outcome.balance);
  for (const api::ReasonCount& refused : outcome.summary.refused) {
    deps_.metrics
        .counter("evacuator_policy_refusals_total", "Pods that were considered and refused, by reason.",
                 {{"policy", name}, {"reason", refused.reason}})
        .increment(refused.count);
  }
  deps_.log.info("cycle planned", {kv("policy", name), kv("cycle", outcome.summary.id),
                                   kv("nodes", outcome.summary.nodes), kv("pods", outcome.summary.pods),
                                   kv("nominated", outcome.summary.nominated), kv("created", outcome.summary.created)});
}

}  // namespace controllers
