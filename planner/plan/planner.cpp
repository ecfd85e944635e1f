#include "planner/plan/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "planner/plan/balance/convergence.hpp"
#include "planner/plan/plan_builder.hpp"
#include "planner/scheduling/evictability_rules.hpp"
#include "planner/scheduling/predicates.hpp"
#include "planner/snapshot/autoscaler_marks.hpp"
#include "planner/strategies/load/measured_entries.hpp"
#include "planner/strategies/load/move_cost.hpp"

namespace planner {
namespace {

using scheduling::NodeIndex;

bool is_in_scope(const PlanSpec& spec, const api::Node& node) {
  // A node about to be removed is out of scope. Upstream has no such rule.
  return scheduling::is_in_scope(spec.node_selector, node) &&
         (spec.is_upstream() || scheduling::removal_of(node) == scheduling::NodeRemoval::kNone);
}

std::vector<NodeIndex> nodes_in_scope(const PlanInput& input) {
  std::vector<NodeIndex> nodes;
  for (const NodeIndex node : input.cluster.nodes()) {
    if (is_in_scope(input.spec, input.cluster.node(node))) nodes.push_back(node);
  }
  return nodes;
}

/// Completes a strategy's node report with the nodes out of scope, and with a note if no pod is moved.
void complete_classes(const PlanInput& input, StrategyResult& result) {
  api::NodeClasses& classes = *result.classes;
  classes.strategy = result.strategy;
  for (const NodeIndex node : input.cluster.nodes()) {
    const api::Node& object = input.cluster.node(node);
    if (is_in_scope(input.spec, object)) continue;
    ++classes.not_considered;
    if (classes.nodes.size() < input.options.max_node_rows)
      classes.nodes.push_back({object.meta.name, api::NodeClass::kNotConsidered, object.unschedulable,
                               why_out_of_scope(input.spec, object)});
  }
  if (result.nominated > 0 || !classes.note.empty()) return;
  classes.note = result.refused > 0 ? fmt::format("no pod is moved: {} are refused, with reasons", result.refused)
                                    : "no pod is moved: no move would bring its node closer to its threshold";
}

/// Name of the strategy in rows of status.balance. A second strategy of the same name gets its position in the spec.
std::string row_name_of(const strategies::StrategySpec& spec, const std::vector<api::BalanceRow>& rows) {
  const std::string name(spec.strategy->name());
  const bool is_taken = std::ranges::find(rows, name, &api::BalanceRow::strategy) != rows.end();
  return is_taken ? fmt::format("{}[{}]", name, spec.position) : name;
}

std::vector<NodeTaint> taints_of(const PlanBuilder& builder) {
  const scheduling::WhatIf& what_if = builder.what_if();
  std::vector<NodeTaint> taints;
  for (const scheduling::SoftTaint& taint : what_if.soft_taints()) {
    for (const NodeIndex node : taint.nodes)
      taints.push_back(
          {what_if.base().node(node).meta.name, taint.key, taint.value, builder.asks_for(taint.key, node)});
  }
  std::ranges::sort(taints);
  return taints;
}

/// Returns the taints in `after` that are not in `before`, ignoring is_asked.
std::vector<NodeTaint> added_taints(const std::vector<NodeTaint>& before, const std::vector<NodeTaint>& after) {
  const auto place_of = [](const NodeTaint& taint) { return std::tie(taint.node, taint.key, taint.value); };
  std::vector<NodeTaint> added;
  std::ranges::set_difference(after, before, std::back_inserter(added), {}, place_of, place_of);
  return added;
}

/// Nodes in use, in percent of the nodes in scope.
api::BalanceRow emptying_row(const StrategyResult& result, std::size_t nodes) {
  const auto percent = [&](std::int32_t busy) {
    return nodes == 0 ? 0 : 100.0 * static_cast<double>(busy) / static_cast<double>(nodes);
  };
  api::BalanceRow row;
  row.strategy = result.row;
  row.resource = kNodesInUse;
  row.before.deviation = percent(result.emptying->busy);
  row.after.deviation = percent(result.emptying->busy - result.emptying->freed);
  return row;
}

/// Unevenness of the numbers of pods, in percent of their mean.
api::BalanceRow counting_row(const StrategyResult& result) {
  const strategies::CountReport& counts = *result.counts;
  // Six decimals, so that one of very many workloads is visible.
  const auto rounded = [](double value) { return std::round(value * 1e6) / 1e6; };
  api::BalanceRow row;
  row.strategy = result.row;
  row.resource = counts.counted;
  row.before = {rounded(counts.deviation_before), rounded(counts.peak_before)};
  row.after = {rounded(counts.deviation_after), rounded(counts.peak_after)};
  return row;
}

/// Runs one strategy. With `may_be_undone`, nothing of it remains if it makes no move, not even soft taints.
void run(const strategies::StrategySpec& spec, const PlanInput& input, strategies::StrategyContext context,
         PlanBuilder& builder, Plan& plan, bool may_be_undone = false) {
  std::optional<BalanceMeter> meter;
  if (auto subject = spec.strategy->balances(context)) {
    context.means = subject->means;
    meter.emplace(context.cluster.base(), *std::move(subject));
  }
  const std::vector<NodeTaint> before = taints_of(builder);
  builder.begin(spec.strategy->name(), meter ? &*meter : nullptr);
  if (may_be_undone) builder.begin_plan();
  const base::Status done = spec.strategy->nominate(context, builder);
  if (may_be_undone) builder.end_plan(plan.strategies.back().nominated > 0);
  StrategyResult& result = plan.strategies.back();
  result.taints = added_taints(before, taints_of(builder));
  if (!done) builder.fail(done.error());
  if (result.classes) complete_classes(input, result);
  if (!done || (!meter && !result.emptying && !result.counts)) return;
  result.row = row_name_of(spec, plan.balance);
  if (result.emptying) plan.balance.push_back(emptying_row(result, context.nodes.size()));
  if (result.counts) plan.balance.push_back(counting_row(result));
  if (!meter) return;
  for (api::BalanceRow& row : meter->rows(result.row)) plan.balance.push_back(std::move(row));
}

/// Merges the results of the last two runs of one strategy.
void join_last_results(Plan& plan) {
  StrategyResult last = std::move(plan.strategies.back());
  plan.strategies.pop_back();
  last.refused += plan.strategies.back().refused;
  plan.strategies.back() = std::move(last);
}

bool is_in_use(const scheduling::ClusterSnapshot& cluster, NodeIndex node) {
  return !std::ranges::all_of(cluster.pods_on(node),
                              [&](scheduling::PodIndex pod) { return strategies::is_node_bound(cluster, pod); });
}

double imbalance_of(const scheduling::ClusterSnapshot& cluster, strategies::BalanceSubject subject) {
  for (auto& pool : subject.pools) std::erase_if(pool.nodes, [&](NodeIndex node) { return !is_in_use(cluster, node); });
  double most = 0;
  for (const api::BalanceRow& row : BalanceMeter(cluster, std::move(subject)).rows(""))
    most = std::max(most, row.before.deviation);
  return most;
}

strategies::CycleFacts cycle_facts(const PlanInput& input, const strategies::Strategy& strategy,
                                   const strategies::StrategyContext& context) {
  strategies::CycleFacts facts{.is_settled = input.is_settled, .may_time_out = input.may_time_out, .now = input.now};
  facts.nodes = static_cast<std::int32_t>(context.nodes.size());
  facts.nodes_in_use = static_cast<std::int32_t>(
      std::ranges::count_if(context.nodes, [&](NodeIndex node) { return is_in_use(input.cluster, node); }));
  if (auto subject = strategy.balances(context)) facts.imbalance = imbalance_of(input.cluster, *std::move(subject));
  return facts;
}

/// Runs the part of a MultiCycle strategy's plan for this cycle: the first part, starting at the current state, that
/// has moves.
void run_multi_cycle(const strategies::StrategySpec& spec, const strategies::MultiCycle& multi, const PlanInput& input,
                     strategies::StrategyContext context, PlanBuilder& builder, Plan& plan) {
  const std::string name(spec.strategy->name());
  const strategies::CycleFacts facts = cycle_facts(input, *spec.strategy, context);
  const bool is_known = input.strategy_state && input.strategy_state->strategy == name;
  std::string state = multi.begin_cycle(is_known ? input.strategy_state->value : std::string(), facts);
  const auto runs = [&] {
    const auto progress = multi.progress(state);
    return progress && progress->runs_in_cycle();
  };
  bool is_first = true;
  if (!runs()) builder.begin(name);
  while (runs()) {
    context.state = state;
    run(spec, input, context, builder, plan, true);
    if (!std::exchange(is_first, false)) join_last_results(plan);
    const StrategyResult& result = plan.strategies.back();
    if (!result.problem.empty()) {
      plan.strategy_state = input.strategy_state;
      return;
    }
    if (result.nominated > 0) {
      state = multi.after_planning(state, result.nominated);
      break;
    }
    state = multi.after_idle(state, facts);
  }
  plan.strategy_state = {name, std::move(state)};
}

void run_phase(strategies::StrategyPhase phase, const PlanInput& input, const strategies::StrategyContext& context,
               PlanBuilder& builder, Plan& plan) {
  for (const strategies::StrategySpec& each : input.spec.strategy_specs.runnable) {
    if (each.strategy->phase() != phase) continue;
    const auto& tell = input.options.on_strategy;
    if (tell) tell(each.strategy->name(), true);
    if (const auto* multi = dynamic_cast<const strategies::MultiCycle*>(each.strategy.get()))
      run_multi_cycle(each, *multi, input, context, builder, plan);
    else
      run(each, input, context, builder, plan);
    if (tell) tell(each.strategy->name(), false);
  }
}

std::vector<NodeUtilization> utilization_of(const std::vector<NodeIndex>& nodes, const scheduling::WhatIf& what_if) {
  const scheduling::ClusterSnapshot& base = what_if.base();
  const auto amount = [&](NodeIndex node, scheduling::ResourceIndex resource) {
    using api::Quantity;
    return NodeUtilization::Amount{Quantity::from_milli(base.allocatable().get(node, resource)),
                                   Quantity::from_milli(base.used().get(node, resource)),
                                   Quantity::from_milli(what_if.used().get(node, resource))};
  };
  std::vector<NodeUtilization> rows;
  rows.reserve(nodes.size());
  for (const NodeIndex node : nodes) {
    rows.push_back({base.node(node).meta.name, amount(node, scheduling::kCpuIndex),
                    amount(node, scheduling::kMemoryIndex), amount(node, scheduling::kPodsIndex)});
  }
  return rows;
}

/// Returns why no strategy runs, or nullopt. Upstream does nothing with a single node.
std::optional<api::FieldError> reason_to_idle(const PlanInput& input, std::size_t nodes) {
  if (nodes == 0 && input.spec.node_selector && input.cluster.node_count() > 0) {
    return api::FieldError{"spec.nodeSelector",
                           fmt::format("selects no ready node, of {} in total", input.cluster.node_count())};
  }
  if (nodes >= 2 || !input.spec.is_upstream()) return std::nullopt;
  return api::FieldError{
      "spec.compatibility",
      fmt::format("Upstream moves nothing with fewer than two ready and selected nodes, here {}", nodes)};
}

bool lists_namespaces(const scheduling::ClusterSnapshot& cluster) {
  for (scheduling::NamespaceIndex ns = 0; ns < cluster.namespace_count(); ++ns) {
    if (cluster.namespace_object(ns) != nullptr) return true;
  }
  return false;
}

std::vector<strategies::NamedNamespace> named_by(const PlanSpec& spec) {
  std::vector<strategies::NamedNamespace> named;
  const api::FieldPath at = api::FieldPath("spec.evictability").field("namespaces");
  const auto add = [&](const char* list, const std::vector<std::string>& names, bool excluded) {
    for (std::size_t i = 0; i < names.size(); ++i)
      named.push_back({at.field(list).index(i).text(), names[i], excluded});
  };
  add("include", spec.evictability.namespaces.include, false);
  add("exclude", spec.evictability.namespaces.exclude, true);
  const auto& of_strategies = spec.strategy_specs.namespaces;
  named.insert(named.end(), of_strategies.begin(), of_strategies.end());
  return named;
}

/// Warns of namespaces that the policy names, in spec.evictability or in arguments of strategies, and that do not
/// exist: an included one matches nothing, an excluded one is harmless. Reports nothing if the snapshot has no
/// Namespace objects (a dump of pods and nodes), because nothing is known then.
void report_unknown_namespaces(const PlanInput& input, Plan& plan) {
  if (!lists_namespaces(input.cluster)) return;
  for (const strategies::NamedNamespace& each : named_by(input.spec)) {
    if (input.cluster.find_namespace(each.name)) continue;
    (each.excluded ? plan.notes : plan.warnings)
        .push_back({each.path, fmt::format("namespace \"{}\" does not exist", each.name)});
  }
}

}  // namespace

std::string why_out_of_scope(const PlanSpec& spec, const api::Node& node) {
  if (is_in_scope(spec, node)) return {};
  if (scheduling::is_in_scope(spec.node_selector, node)) return "it is about to be removed";
  const bool is_selected = !spec.node_selector || spec.node_selector->matches(node.meta.labels);
  return is_selected ? "it is not ready" : "spec.nodeSelector does not select it";
}

Plan plan_cycle(const PlanInput& input) {
  Plan plan;
  const std::vector<NodeIndex> nodes = nodes_in_scope(input);
  plan.nodes = static_cast<std::int32_t>(nodes.size());
  for (const NodeIndex node : nodes) plan.pods += static_cast<std::int32_t>(input.cluster.pods_on(node).size());

  // A protection that cannot be resolved stops the whole plan; a strategy that cannot be parsed stops only itself.
  const scheduling::EvictabilityRules evictability(input.spec.evictability, input.cluster, input.now, plan.errors,
                                                   input.spec.compatibility);
  if (!plan.errors.empty()) return plan;
  const api::FieldErrors& of_args = input.spec.strategy_specs.errors;
  plan.errors.insert(plan.errors.end(), of_args.begin(), of_args.end());
  report_unknown_namespaces(input, plan);

  if (const auto reason = reason_to_idle(input, nodes.size())) {
    plan.notes.push_back(*reason);
    plan.idle = reason->to_string();
    plan.utilization = utilization_of(nodes, scheduling::WhatIf(input.cluster));
    return plan;
  }

  for (const strategies::StrategySpec& each : input.spec.strategy_specs.runnable) {
    std::string caution = each.strategy->caution(input.spec.is_upstream());
    if (!caution.empty())
      plan.notes.push_back({fmt::format("spec.strategies[{}].args", each.position), std::move(caution)});
  }

  PlanBuilder builder(input, evictability, nodes, plan);
  plan.strategies.reserve(input.spec.strategy_specs.runnable.size());
  strategies::MeasuredEntriesMemo entries;
  const strategies::StrategyContext context{builder.what_if(),
                                            nodes,
                                            evictability,
                                            input.now,
                                            nullptr,
                                            input.restarts,
                                            input.usage,
                                            input.options.elapsed,
                                            input.options.is_cancelled,
                                            input.options.continues_plan,
                                            &entries,
                                            builder.scheduler_rules(),
                                            {},
                                            input.options.executor};
  run_phase(strategies::StrategyPhase::kDeschedule, input, context, builder, plan);
  run_phase(strategies::StrategyPhase::kBalance, input, context, builder, plan);

  std::ranges::stable_sort(plan.balance, {}, &api::BalanceRow::strategy);
  plan.balance.resize(std::min(plan.balance.size(), api::kMaxBalanceRows));
  plan.refused = builder.refusal_counts();
  plan.taints = taints_of(builder);
  plan.utilization = utilization_of(nodes, builder.outcome());
  return plan;
}

}  // namespace planner
