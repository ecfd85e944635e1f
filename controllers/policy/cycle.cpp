#include "controllers/policy/cycle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/vocabulary/reasons.hpp"
#include "controllers/policy/audit_records.hpp"

namespace controllers {
namespace {

bool is_forbidden(const api::EvacuationStatus& status) {
  return status.phase == api::EvacuationPhase::kFailed && status.reason == api::Reason::kForbidden;
}

std::string problem_of(const api::Evacuation& evacuation) {
  return fmt::format(
      "namespace {}: the API server does not allow the operator to move its pods (Evacuation {}: {}); none is "
      "nominated there until {}; grant the operator's ServiceAccount the rules of config/rbac/operator_role.yaml, and "
      "of config/optional for this evictor",
      evacuation.meta.ns, evacuation.meta.name, evacuation.status.message,
      base::format_time(*evacuation.status.finished_at + kForbiddenFor));
}

constexpr std::size_t kMaxHeldReported = 3;

/// One-line summary of emptying nodes; "" if there is no note to warn about.
std::string emptying_text(const std::string& strategy, const strategies::EmptyingReport& report) {
  if (report.note.empty()) return "";
  std::string text =
      fmt::format("{}: frees {} nodes, the upper bound is {}; {}", strategy, report.freed, report.bound, report.note);
  const std::size_t told = std::min(report.held.size(), kMaxHeldReported);
  for (std::size_t i = 0; i < told; ++i) {
    const strategies::EmptyingReport::Held& held = report.held[i];
    const std::string by = held.pod.empty() ? "" : fmt::format(" by {}/{}", held.ns, held.pod);
    text += fmt::format("; {} is held{}: {}", held.node, by, held.reason);
  }
  if (told < report.held.size()) text += fmt::format("; and {} more are kept", report.held.size() - told);
  return text;
}

}  // namespace

std::vector<ForbiddenNamespace> forbidden_namespaces(const Evacuations& evacuations, base::TimePoint now) {
  std::map<std::string, const api::Evacuation*> newest;
  for (const auto& each : evacuations) {
    const bool is_evidence = is_forbidden(each->status) || each->status.phase == api::EvacuationPhase::kSucceeded;
    const auto& finished = each->status.finished_at;
    if (!is_evidence || !finished || *finished + kForbiddenFor <= now) continue;
    const api::Evacuation*& known = newest[each->meta.ns];
    const auto rank = [](const api::Evacuation& of) { return std::tie(*of.status.finished_at, of.meta.name); };
    if (!known || rank(*known) < rank(*each)) known = each.get();
  }
  std::vector<ForbiddenNamespace> forbidden;
  for (const auto& [ns, evacuation] : newest) {
    if (is_forbidden(evacuation->status)) forbidden.push_back({ns, problem_of(*evacuation)});
  }
  return forbidden;
}

planner::PlanOptions cycle_options() {
  planner::PlanOptions options;
  // A blocked pod is nominated, too: its Evacuation waits for the budget where users see it.
  options.spend_pdbs = false;
  options.max_refusals = kMaxAuditedPods;
  options.max_node_rows = api::kMaxPublishedClassifiedNodes;
  return options;
}

CycleOutcome make_plan(const planner::PlanInput& input, std::string id) {
  planner::Plan plan = planner::plan_cycle(input);
  CycleOutcome outcome;
  outcome.is_judged = plan.errors.empty();
  outcome.taints = std::move(plan.taints);
  outcome.moves = std::move(plan.moves);
  outcome.balance = std::move(plan.balance);
  outcome.strategy_state = std::move(plan.strategy_state);
  outcome.summary.refused = std::move(plan.refused);
  outcome.refusals = std::move(plan.refusals);
  outcome.summary.id = std::move(id);
  outcome.summary.start = input.now;
  outcome.summary.placement_hints = input.options.placement_hints;
  outcome.summary.nodes = plan.nodes;
  outcome.summary.pods = plan.pods;
  count_moves(outcome);
  for (const planner::StrategyResult& result : plan.strategies) {
    outcome.is_judged = outcome.is_judged && result.problem.empty();
    if (!result.problem.empty()) outcome.problems.push_back(result.strategy + ": " + result.problem);
  }
  for (const api::FieldErrors& list : {plan.errors, plan.warnings}) {
    for (const api::FieldError& error : list) outcome.problems.push_back(error.to_string());
  }
  for (const planner::StrategyResult& result : plan.strategies) {
    if (!result.emptying) continue;
    // Each strategy plans on the result of the earlier ones.
    const std::int32_t before = outcome.summary.nodes_freed.value_or(0);
    outcome.summary.nodes_freed = before + result.emptying->freed;
    outcome.summary.nodes_bound = std::max(outcome.summary.nodes_bound.value_or(0), before + result.emptying->bound);
    const std::string text = emptying_text(result.strategy, *result.emptying);
    if (!text.empty()) outcome.warnings.push_back(text);
  }
  for (const api::FieldError& note : plan.notes) outcome.warnings.push_back(note.to_string());
  outcome.strategies = std::move(plan.strategies);
  const scheduling::InputProblems& problems = input.cluster.problems();
  for (const scheduling::InputProblem& problem : problems.rows()) outcome.warnings.push_back(problem.to_string());
  outcome.more_warnings = problems.total() - static_cast<std::int64_t>(problems.rows().size());
  return outcome;
}

std::vector<api::NodeClasses> node_classes_of(const CycleOutcome& outcome) {
  std::vector<api::NodeClasses> all;
  for (const planner::StrategyResult& result : outcome.strategies) {
    if (!result.classes || all.size() == api::kMaxPublishedNodeClasses) continue;
    api::NodeClasses& classes = all.emplace_back(*result.classes);
    if (result.nominated > 0) classes.nodes.clear();
    classes.nodes.resize(std::min(classes.nodes.size(), api::kMaxPublishedClassifiedNodes));
  }
  return all;
}

}  // namespace controllers
