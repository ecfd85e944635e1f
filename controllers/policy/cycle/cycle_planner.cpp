#include "controllers/policy/cycle/cycle_planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "api/meta/label_value.hpp"
#include "controllers/policy/balance/convergence.hpp"
#include "controllers/policy/cycle.hpp"
#include "controllers/policy/waves.hpp"
#include "planner/plan/evacuating_pods.hpp"
#include "planner/strategies/catalog.hpp"
#include "planner/strategies/preferences/preferred_placement.hpp"

namespace controllers {
namespace {

/// Maximum duration of planning, because other policies wait for it. Above the maximum timeBudget of a search.
constexpr base::minutes kMaxPlanningTime{3};
/// Minimum time between two heartbeats during planning.
constexpr base::seconds kHeartbeat{1};

/// Pods whose VM, name or workload was evacuated so lately that this policy excludes them.
void add_cooling(std::vector<planner::PodIdentity>& cooling, const scheduling::ClusterSnapshot& snapshot,
                 const CooldownLedger& cooldowns, const std::string& policy, base::TimePoint now) {
  if (cooldowns.empty()) return;
  for (const scheduling::PodIndex index : snapshot.pods()) {
    const api::Pod& pod = snapshot.pod(index);
    if (cooldowns.cooling(cooldown_subjects(pod), policy, now)) cooling.push_back({pod.meta.ns, pod.uid()});
  }
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

void CyclePlanner::observe_hints(const api::DeschedulerPolicy& policy, const Evacuations& evacuations,
                                 base::TimePoint now) {
  if (ports_.steering.hints_in_force) resting_hints_.look(policy.meta.uid, evacuations, policy.status.plan, now);
}

base::Result<CycleOutcome> CyclePlanner::plan(const api::DeschedulerPolicy& policy, const planner::PlanSpec& spec,
                                              const CycleTerms& terms) {
  const std::string& name = policy.meta.name;
  const Cycle cycle{policy, spec, terms, traces_.of(name), searches(spec.strategy_specs)};
  auto planned = plan_once(cycle);
  if (!planned || !terms.may_move || taints_.place(name, *planned, policy_lock_.progress())) return planned;
  return plan_once(cycle);  // the taints that the plan counts on cannot be written: without any
}

base::Result<CycleOutcome> CyclePlanner::plan_once(const Cycle& cycle) {
  std::optional<scheduling::ClusterSnapshot> own;
  const scheduling::ClusterSnapshot& snapshot = take_snapshot(cycle, own);
  Collected collected = collect(snapshot, cycle);
  CycleOutcome outcome = make(collected, cycle);
  if (!is_wanted_(cycle.policy)) return base::Error{base::ErrorCode::kCancelled, "the plan was cancelled"};
  judge_balance(cycle.policy, outcome, cycle.terms.continues);
  if (cycle.terms.continues) end_if_not_shrinking(outcome, cycle.policy.status.last_cycle->waves);
  return outcome;
}

const scheduling::ClusterSnapshot& CyclePlanner::take_snapshot(const Cycle& cycle,
                                                               std::optional<scheduling::ClusterSnapshot>& own) {
  const PhaseTimer timer(ports_.metrics, ports_.clocks.wall, "snapshot", cycle.trace);
  const auto quantities = scheduling::quantities_of(cycle.policy.spec.compatibility);
  return cycle.searches ? own.emplace(ports_.caches.snapshot(), quantities)
                        : snapshots_.at(ports_.caches.snapshot(), quantities);
}

CyclePlanner::Collected CyclePlanner::collect(const scheduling::ClusterSnapshot& snapshot, const Cycle& cycle) {
  const auto& [policy, spec, terms, trace, searches] = cycle;
  const std::string& name = policy.meta.name;
  const auto evacuations = ports_.caches.evacuations.list();
  planner::EvacuatingPods pods(name, policy.spec.mode);
  for (const auto& evacuation : evacuations) pods.add(*evacuation);
  add_cooling(pods.cooling, snapshot, ports_.measured.cooldowns, name, terms.now);
  restarts_.restore(policy.status.restarts, terms.now);  // what an earlier leader saw
  restarts_.observe(snapshot, terms.now);
  Collected collected{.input = {.spec = spec,
                                .cluster = snapshot,
                                .leaving = std::move(pods.leaving),
                                .now = terms.now,
                                .options = cycle_options(),
                                .cooling = std::move(pods.cooling),
                                .restarts = &restarts_,
                                .server_minor = ports_.measured.server_minor,
                                .is_settled = terms.is_settled,
                                .may_time_out = policy.spec.mode == api::PolicyMode::kAutomatic},
                      .figures = ports_.measured.usage ? ports_.measured.usage(name) : UsageFigures{},
                      .problems = {},
                      .hints_rest = {}};
  planner::PlanInput& input = collected.input;
  for (ForbiddenNamespace& each : forbidden_namespaces(evacuations, terms.now)) {
    input.forbidden.push_back(std::move(each.ns));
    collected.problems.push_back(std::move(each.problem));
  }
  input.usage = collected.figures.measured;
  if (policy.status.observed_generation == policy.meta.generation) input.strategy_state = policy.status.strategy_state;
  const bool hints_in_force = ports_.steering.hints_in_force && ports_.steering.hints_in_force();
  if (hints_in_force) collected.hints_rest = resting_hints_.why(policy.meta.uid, terms.now);
  input.options.placement_hints = hints_in_force && collected.hints_rest.empty();
  if (!ports_.steering.namespaces_without_hints.empty())
    input.options.namespaces_without_hints = ports_.steering.namespaces_without_hints;
  input.options.continues_plan = terms.continues;
  if (taints_.may_plan_with(policy)) {
    input.options.taint_value = api::soft_taint_value(name);
    input.options.pledged = taints_.pledged(name, spec, terms.now);
  }
  add_progress(input.options, cycle);
  return collected;
}

/// Heartbeats, cancellation, time limit and threads of the plan.
void CyclePlanner::add_progress(planner::PlanOptions& options, const Cycle& cycle) const {
  const base::TimePoint begin = ports_.clocks.steady.now();  // of this plan: a cycle may make two
  options.elapsed = [&steady = ports_.clocks.steady, begin] { return steady.now() - begin; };
  options.is_cancelled = [this, &policy = cycle.policy, progress = policy_lock_.progress()] {
    progress();
    return !is_wanted_(policy);
  };
  options.heartbeat = [&steady = ports_.clocks.steady, progress = policy_lock_.progress(), last = begin]() mutable {
    const base::TimePoint at = steady.now();
    if (at < last + kHeartbeat) return;
    last = at;
    progress();
  };
  options.time_limit = kMaxPlanningTime;
  options.executor = executor_;
  if (cycle.trace == nullptr) return;
  options.on_strategy = [this, trace = cycle.trace](std::string_view strategy, bool begins) {
    const base::TimePoint at = ports_.clocks.wall.now();
    begins ? trace->begin_strategy(strategy, at) : trace->end_strategy(strategy, at);
  };
}

CycleOutcome CyclePlanner::make(Collected& collected, const Cycle& cycle) const {
  const PhaseTimer timer(ports_.metrics, ports_.clocks.wall, "strategies", cycle.trace);
  const api::DeschedulerPolicy& policy = cycle.policy;
  CycleOutcome outcome;
  if (cycle.searches) {
    const strategies::RestartHistory restarts = restarts_;  // other policies add to restarts_ meanwhile
    collected.input.restarts = &restarts;
    const PolicyLock::ScopedUnlock unlock(policy_lock_);
    outcome = make_plan(collected.input, cycle_id(policy, cycle.terms.now));
  } else {
    outcome = make_plan(collected.input, cycle_id(policy, cycle.terms.now));
  }
  std::ranges::move(collected.problems, std::back_inserter(outcome.problems));
  UsageFigures& figures = collected.figures;
  for (std::size_t i = 0; i < figures.measured.size(); ++i)
    outcome.usage.push_back(
        usage_report(*figures.measured[i], figures.health[i], collected.input.cluster, policy.spec.node_selector));
  outcome.forecasts = std::move(figures.forecasts);
  if (!collected.hints_rest.empty()) outcome.warnings.insert(outcome.warnings.begin(), collected.hints_rest);
  if (ports_.caches.unknown) {
    std::vector<std::string> unknown = ports_.caches.unknown();
    outcome.warnings.insert(outcome.warnings.begin(), unknown.begin(), unknown.end());
  }
  if (ports_.caches.stuck)
    std::ranges::move(ports_.caches.stuck(policy.meta.name), std::back_inserter(outcome.problems));
  return outcome;
}

std::vector<api::RestartRecord> CyclePlanner::remembered_restarts(const strategies::StrategySpecs& specs) const {
  const auto window = specs.restart_window();
  return window ? restarts_.records(*window, ports_.clocks.wall.now()) : std::vector<api::RestartRecord>();
}

}  // namespace controllers
