#include "controllers/policy/cycle/cycle_planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "api/meta/label_value.hpp"
#include "controllers/policy/balance/convergence.hpp"
#include "controllers/policy/cycle/phase_timer.hpp"
#include "controllers/policy/forbidden.hpp"
#include "controllers/policy/waves.hpp"
#include "planner/strategies/catalog.hpp"
#include "planner/strategies/preferences/preferred_placement.hpp"

namespace controllers {
namespace {

/// Maximum duration of planning, because other policies wait for it. Above the maximum timeBudget of a search, with
/// time to carry out its result.
constexpr base::minutes kMaxPlanningTime{3};
/// Minimum time between two heartbeats during planning.
constexpr base::seconds kHeartbeat{1};

/// Excludes pods whose VM, name or workload is cooling down for this policy.
void add_cooling(KnownPods& known, const scheduling::ClusterSnapshot& snapshot, const CooldownLedger& cooldowns,
                 const std::string& policy, base::TimePoint now) {
  if (cooldowns.empty()) return;
  for (const scheduling::PodIndex index : snapshot.pods()) {
    const api::Pod& pod = snapshot.pod(index);
    if (cooldowns.cooling(cooldown_subjects(pod), policy, now)) known.cooling.push_back({pod.meta.ns, pod.uid()});
  }
}

void add_usage(CycleOutcome& outcome, UsageFigures figures, const scheduling::ClusterSnapshot& snapshot,
               const api::DeschedulerPolicy& policy) {
  for (std::size_t i = 0; i < figures.measured.size(); ++i)
    outcome.usage.push_back(usage_report(*figures.measured[i], figures.health[i], snapshot, policy.spec.node_selector));
  outcome.forecasts = std::move(figures.forecasts);
}

}  // namespace

std::string cycle_id(const api::DeschedulerPolicy& policy, base::TimePoint now) {
  return fmt::format("{}-{}", policy.meta.name, std::chrono::floor<base::seconds>(now).time_since_epoch().count());
}

bool searches(const strategies::StrategySpecs& specs) {
  return std::ranges::any_of(specs.runnable, [](const strategies::StrategySpec& each) {
    return strategies::plans_in_waves(each.strategy->name()) ||
           each.strategy->name() == strategies::PreferredPlacement::kName;
  });
}

void CyclePlanner::look_at_hints(const api::DeschedulerPolicy& policy,
                                 const std::vector<std::shared_ptr<const api::Evacuation>>& evacuations,
                                 base::TimePoint now) {
  if (deps_.hints_in_force) resting_hints_.look(policy.meta.uid, evacuations, policy.status.plan, now);
}

base::Result<CycleOutcome> CyclePlanner::plan(const api::DeschedulerPolicy& policy, const planning::PlanSpec& spec,
                                              const CycleTerms& terms) {
  const std::string& name = policy.meta.name;
  const Cycle cycle{policy, spec, terms, deps_.traces.of(name)};
  auto planned = judged_plan(cycle);
  if (!planned || !terms.may_move || deps_.taints.place(name, *planned, deps_.policy_lock.progress())) return planned;
  return judged_plan(cycle);
}

/// Plans, then removes moves of stopped strategies and plans, and the taints for these moves.
base::Result<CycleOutcome> CyclePlanner::judged_plan(const Cycle& cycle) {
  const api::DeschedulerPolicy& policy = cycle.policy;
  CycleOutcome outcome = plan_on_caches(cycle);
  if (!deps_.is_wanted(policy)) return base::Error{base::ErrorCode::kCancelled, "nobody wants the plan any more"};
  judge_balance(policy, outcome, cycle.terms.continues);
  if (cycle.terms.continues) end_if_it_does_not_shrink(outcome, policy.status.last_cycle->waves);
  return outcome;
}

CycleOutcome CyclePlanner::plan_on_caches(const Cycle& cycle) {
  return searches(cycle.spec.strategy_specs) ? plan_on(own_snapshot(cycle), cycle)
                                             : plan_on(kept_snapshot(cycle), cycle);
}

/// Separate snapshot for a search, because other policies update the cached one while it runs.
scheduling::ClusterSnapshot CyclePlanner::own_snapshot(const Cycle& cycle) const {
  const PhaseTimer timer(deps_.metrics, deps_.clock, "snapshot", cycle.trace);
  return scheduling::ClusterSnapshot(deps_.snapshot(), scheduling::quantities_of(cycle.policy.spec.compatibility));
}

const scheduling::ClusterSnapshot& CyclePlanner::kept_snapshot(const Cycle& cycle) {
  const PhaseTimer timer(deps_.metrics, deps_.clock, "snapshot", cycle.trace);
  return snapshots_.at(deps_.snapshot(), scheduling::quantities_of(cycle.policy.spec.compatibility));
}

CycleOutcome CyclePlanner::plan_on(const scheduling::ClusterSnapshot& snapshot, const Cycle& cycle) {
  const api::DeschedulerPolicy& policy = cycle.policy;
  const base::TimePoint now = cycle.terms.now;
  const PhaseTimer timer(deps_.metrics, deps_.clock, "strategies", cycle.trace);
  KnownPods pods = known(snapshot, cycle);
  const bool hints_in_force = deps_.hints_in_force && deps_.hints_in_force();
  const std::string hints_rest = hints_in_force ? resting_hints_.why(policy.meta.uid, now) : std::string();
  pods.placement_hints = hints_in_force && hints_rest.empty();
  UsageFigures figures = deps_.usage ? deps_.usage(policy.meta.name) : UsageFigures{};
  pods.usage = figures.measured;
  attend(pods, cycle);
  CycleOutcome outcome = searches(cycle.spec.strategy_specs)
                             ? search(snapshot, pods, cycle)
                             : run_cycle(cycle.spec, snapshot, pods, cycle_id(policy, now), now);
  add_usage(outcome, std::move(figures), snapshot, policy);
  if (!hints_rest.empty()) outcome.warnings.insert(outcome.warnings.begin(), hints_rest);
  add_remarks(outcome, policy.meta.name);
  return outcome;
}

/// Collects the planning input except measured usage and hints.
KnownPods CyclePlanner::known(const scheduling::ClusterSnapshot& snapshot, const Cycle& cycle) {
  const auto& [policy, spec, terms, trace] = cycle;
  KnownPods known = known_pods(deps_.evacuations.list(), policy);
  known.forbidden = forbidden_namespaces(deps_.evacuations.list(), terms.now);
  add_cooling(known, snapshot, deps_.cooldowns, policy.meta.name, terms.now);
  restarts_.restore(policy.status.restarts, terms.now);  // observed by an earlier leader
  restarts_.observe(snapshot, terms.now);
  known.restarts = &restarts_;
  known.server_minor = deps_.server_minor;
  known.namespaces_without_hints = deps_.namespaces_without_hints;
  if (deps_.taints.may_plan_with(policy)) {
    known.taint_value = api::soft_taint_value(policy.meta.name);
    known.pledged = deps_.taints.pledged(policy.meta.name, spec, terms.now);
  }
  known.continues_plan = terms.continues;
  if (policy.status.observed_generation == policy.meta.generation) known.rounds = policy.status.rounds;
  known.is_settled = terms.is_settled;
  known.may_time_out = policy.spec.mode == api::PolicyMode::kAutomatic;
  return known;
}

/// Connects planning to the heartbeat, the executor, the trace and its cancellation.
void CyclePlanner::attend(KnownPods& known, const Cycle& cycle) const {
  const base::TimePoint begin = deps_.steady->now();  // start of this plan; a cycle may make two plans
  known.elapsed = [&steady = *deps_.steady, begin] { return steady.now() - begin; };
  known.is_cancelled = [this, &policy = cycle.policy, progress = deps_.policy_lock.progress()] {
    progress();
    return !deps_.is_wanted(policy);
  };
  known.heartbeat = [&steady = *deps_.steady, progress = deps_.policy_lock.progress(), last = begin]() mutable {
    const base::TimePoint at = steady.now();
    if (at < last + kHeartbeat) return;
    last = at;
    progress();
  };
  known.time_limit = kMaxPlanningTime;
  known.executor = executor_;
  if (cycle.trace == nullptr) return;
  known.on_strategy = [this, trace = cycle.trace](std::string_view strategy, bool begins) {
    const base::TimePoint at = deps_.clock.now();
    begins ? trace->begin_strategy(strategy, at) : trace->end_strategy(strategy, at);
  };
}

/// Runs without the policy lock, so all data that it uses must be private to it.
CycleOutcome CyclePlanner::search(const scheduling::ClusterSnapshot& snapshot, KnownPods& known, const Cycle& cycle) {
  const strategies::RestartHistory restarts = restarts_;
  known.restarts = &restarts;
  const PolicyLock::ScopedUnlock unlock(deps_.policy_lock);
  return run_cycle(cycle.spec, snapshot, known, cycle_id(cycle.policy, cycle.terms.now), cycle.terms.now);
}

/// Adds information that planning lacked, and problems that Evacuations cannot report themselves.
void CyclePlanner::add_remarks(CycleOutcome& outcome, const std::string& policy) const {
  if (deps_.unknown) {
    std::vector<std::string> unknown = deps_.unknown();
    outcome.warnings.insert(outcome.warnings.begin(), unknown.begin(), unknown.end());
  }
  if (!deps_.stuck) return;
  for (std::string& each : deps_.stuck(policy)) outcome.problems.push_back(std::move(each));
}

std::vector<api::RestartRecord> CyclePlanner::remembered_restarts(const strategies::StrategySpecs& specs) const {
  const auto window = specs.restart_window();
  return window ? restarts_.records(*window, deps_.clock.now()) : std::vector<api::RestartRecord>();
}

}  // namespace controllers
