#include "cmd/explain/opinion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

#include "api/json/strict_object.hpp"
#include "api/meta/label_value.hpp"
#include "base/parallel.hpp"
#include "cmd/drain/request.hpp"
#include "planner/plan/evacuating_pods.hpp"
#include "planner/plan/planner.hpp"
#include "planner/scheduling/evictability_rules.hpp"
#include "planner/scheduling/pdb_budget.hpp"
#include "planner/scheduling/predicates.hpp"
#include "planner/snapshot/autoscaler_marks.hpp"
#include "planner/snapshot/snapshot_cache.hpp"

namespace cmd::plugin {
namespace {

constexpr std::array kVerdictNames = {api::WireName{PolicyVerdict::kNominates, "Nominates"},
                                      api::WireName{PolicyVerdict::kRefused, "Refused"},
                                      api::WireName{PolicyVerdict::kProtected, "Protected"},
                                      api::WireName{PolicyVerdict::kNotNominated, "Content"},
                                      api::WireName{PolicyVerdict::kOutOfScope, "NotLookedAt"},
                                      api::WireName{PolicyVerdict::kNotEvaluated, "NotEvaluated"}};

std::string why_out_of_scope(const planner::PlanSpec& spec, const scheduling::ClusterSnapshot& cluster,
                             scheduling::PodIndex pod) {
  const scheduling::NodeIndex at = cluster.node_of(pod);
  if (at == scheduling::kNoNode) return "the pod's node is unknown";
  const std::string why = planner::why_out_of_scope(spec, cluster.node(at));
  return why.empty() ? why : fmt::format("node {}: {}", cluster.node(at).meta.name, why);
}

/// Returns plan input that excludes pods with existing Evacuations, as the operator does. The pod in question is
/// evaluated as if it had no Evacuation.
planner::PlanInput plan_input(const api::DeschedulerPolicy& policy, const planner::PlanSpec& spec,
                              const scheduling::ClusterSnapshot& cluster,
                              const std::vector<api::Evacuation>& evacuations, const std::string& asked,
                              base::TimePoint now) {
  planner::PlanInput input{.spec = spec, .cluster = cluster, .leaving = {}, .now = now};
  input.options.spend_pdbs = false;  // like the operator, which nominates a blocked pod and lets it wait for its budget
  if (policy.spec.mode != api::PolicyMode::kManual) input.options.taint_value = api::soft_taint_value(policy.meta.name);
  input.options.placement_hints = policy.status.last_cycle && policy.status.last_cycle->placement_hints;
  input.options.max_refusals = std::numeric_limits<std::size_t>::max();
  input.options.max_node_rows = std::numeric_limits<std::size_t>::max();
  input.options.elapsed = [begin = std::chrono::steady_clock::now()] {
    return std::chrono::duration_cast<base::Duration>(std::chrono::steady_clock::now() - begin);
  };
  input.options.executor = base::run_on_all_cores;
  planner::EvacuatingPods pods(policy.meta.name, policy.spec.mode);
  for (const api::Evacuation& each : evacuations) {
    const api::PodUid& uid = each.spec.pod_ref.uid;
    if (uid.empty() || (uid.value == asked && !api::is_terminal(each.status.phase))) continue;
    pods.add(each);
  }
  input.leaving = std::move(pods.leaving);
  input.cooling = std::move(pods.cooling);
  if (policy.status.observed_generation == policy.meta.generation) input.strategy_state = policy.status.strategy_state;
  return input;
}

/// Copies the plan's decision about the pod. Finds it by name, because pods in a manually written dump may have no UID.
/// Returns false if no strategy named the pod.
bool apply_plan(const planner::Plan& plan, const api::ObjectMeta& pod, PolicyOpinion& opinion) {
  const auto is_about_it = [&](const auto& row) { return row.pod == pod.name && row.ns == pod.ns; };
  const auto move = std::ranges::find_if(plan.moves, is_about_it);
  if (move != plan.moves.end()) {
    opinion.verdict = PolicyVerdict::kNominates;
    opinion.strategy = move->strategy;
    opinion.message = move->reason;
    opinion.target = move->to;
    return true;
  }
  const auto refusal = std::ranges::find_if(plan.refusals, is_about_it);
  if (refusal == plan.refusals.end()) return false;
  opinion.verdict = PolicyVerdict::kRefused;
  opinion.strategy = refusal->strategy;
  opinion.rule = refusal->reason;
  opinion.message = refusal->message;
  return true;
}

/// Applies the evictability rules to a pod that no strategy named.
void apply_rules(const api::DeschedulerPolicySpec& spec, const scheduling::ClusterSnapshot& cluster,
                 scheduling::PodIndex pod, base::TimePoint now, PolicyOpinion& opinion) {
  api::FieldErrors errors;  // ignored: planning has already reported errors of the spec
  const scheduling::EvictabilityRules rules(spec.evictability, cluster, now, errors, spec.compatibility);
  auto refusal = rules.refusal(pod);
  if (!refusal) refusal = rules.refusal_before_eviction(pod, scheduling::WhatIf(cluster));
  if (refusal) {
    opinion.verdict = PolicyVerdict::kProtected;
    opinion.rule = refusal->reason;
    opinion.message = rules.explain(*refusal, pod, scheduling::WhatIf(cluster));
    return;
  }
  opinion.verdict = PolicyVerdict::kNotNominated;
  opinion.message = "it may be moved, but no strategy nominates it";
}

/// Describes how utilization strategies classified the pod's node and why they move no pods. Empty if there are no such
/// strategies.
std::string words_about_node(const planner::Plan& plan, const std::string& node) {
  std::string words;
  for (const planner::StrategyResult& result : plan.strategies) {
    if (!result.classes) continue;
    const auto row = std::ranges::find(result.classes->nodes, node, &api::ClassifiedNode::node);
    if (row == result.classes->nodes.end()) continue;
    words += fmt::format("; {}: its node is {}{}: {}{}", result.strategy, api::to_string(row->node_class),
                         row->cordoned ? " and cordoned" : "", row->reason,
                         result.classes->note.empty() ? "" : "; " + result.classes->note);
  }
  return words;
}

/// What keeps a node from being emptied: the strategy's report has the first nodes only, its refusals name a protected
/// pod of each.
std::string keeper_of(const planner::Plan& plan, const planner::StrategyResult& result, const std::string& node) {
  const auto& held = result.emptying->held;
  const auto row = std::ranges::find(held, node, &strategies::EmptyingReport::Held::node);
  if (row != held.end()) {
    const std::string pod = row->pod.empty() ? "" : fmt::format("pod {}/{} prevents that: ", row->ns, row->pod);
    return fmt::format("{}{}: {}", pod, row->reason, row->message);
  }
  const auto refusal = std::ranges::find_if(plan.refusals, [&](const api::RefusedPod& each) {
    return each.node == node && each.strategy == result.strategy;
  });
  if (refusal == plan.refusals.end()) return result.emptying->note;
  return fmt::format("pod {}/{} prevents that: {}: {}", refusal->ns, refusal->pod, refusal->reason, refusal->message);
}

/// Why strategies that empty nodes leave this one as it is; "": there are none, or they do not report it.
std::string words_about_emptying(const planner::Plan& plan, const std::string& node) {
  std::string words;
  for (const planner::StrategyResult& result : plan.strategies) {
    const std::string why = result.emptying ? keeper_of(plan, result, node) : "";
    if (!why.empty()) words += fmt::format("; {}: its node is not emptied: {}", result.strategy, why);
  }
  return words;
}

/// What comes of a nomination.
std::string nominated_words(const PolicyOpinion& opinion) {
  const bool only_says_so = opinion.suspended || opinion.mode == api::PolicyMode::kDryRun;
  if (!only_says_so) return fmt::format("policy {} moves it in its next cycle", opinion.policy);
  return fmt::format("policy {} would move it, but takes no action ({})", opinion.policy,
                     opinion.suspended ? "it is suspended" : "mode DryRun");
}

std::string first_problem(const planner::Plan& plan) {
  if (!plan.errors.empty()) return plan.errors.front().to_string();
  for (const planner::StrategyResult& result : plan.strategies) {
    if (!result.problem.empty()) return result.strategy + ": " + result.problem;
  }
  return {};
}

}  // namespace

std::string_view to_string(PolicyVerdict verdict) { return api::name_of(kVerdictNames, verdict); }

PolicyOpinion opinion_of(const api::DeschedulerPolicy& policy, const scheduling::ClusterSnapshot& cluster,
                         const std::vector<api::Evacuation>& evacuations, scheduling::PodIndex pod, base::TimePoint now,
                         std::optional<int> server_minor) {
  const std::string& uid = cluster.pod(pod).meta.uid;
  PolicyOpinion opinion;
  opinion.policy = policy.meta.name;
  opinion.mode = policy.spec.mode;
  opinion.suspended = policy.spec.suspend;
  opinion.in_published = std::ranges::find(policy.status.plan, uid, &api::PlannedMove::uid) != policy.status.plan.end();
  if (policy.status.last_cycle) opinion.last_cycle = policy.status.last_cycle->start;
  const planner::PlanSpec spec(policy.spec);
  opinion.message = why_out_of_scope(spec, cluster, pod);
  if (!opinion.message.empty()) {
    opinion.verdict = PolicyVerdict::kOutOfScope;
    return opinion;
  }
  strategies::RestartHistory restarts;
  restarts.restore(policy.status.restarts, now);
  planner::PlanInput input = plan_input(policy, spec, cluster, evacuations, uid, now);
  input.restarts = &restarts;
  input.server_minor = server_minor;
  const planner::Plan plan = planner::plan_cycle(input);
  if (apply_plan(plan, cluster.pod(pod).meta, opinion)) return opinion;
  if (const std::string problem = first_problem(plan); !problem.empty()) {
    opinion.verdict = PolicyVerdict::kNotEvaluated;
    opinion.message = problem;
    return opinion;
  }
  if (!plan.idle.empty()) {
    opinion.verdict = PolicyVerdict::kOutOfScope;
    opinion.message = plan.idle;
    return opinion;
  }
  apply_rules(policy.spec, cluster, pod, now, opinion);
  if (opinion.verdict == PolicyVerdict::kNotNominated) {
    const std::string& node = cluster.node(cluster.node_of(pod)).meta.name;
    opinion.message += words_about_node(plan, node) + words_about_emptying(plan, node);
  }
  return opinion;
}

void evaluate_policies(Explanation& explanation, scheduling::SnapshotInput cluster,
                       const std::vector<api::DeschedulerPolicy>& policies,
                       const std::vector<api::Evacuation>& evacuations, base::TimePoint now,
                       std::optional<int> server_minor) {
  scheduling::SnapshotCache snapshots;
  for (const api::DeschedulerPolicy& policy : policies) {
    const auto& snapshot = snapshots.at(cluster, scheduling::quantities_of(policy.spec.compatibility));
    const auto at = snapshot.find_pod(explanation.key.ns, explanation.key.name);
    if (at) explanation.policies.push_back(opinion_of(policy, snapshot, evacuations, *at, now, server_minor));
  }
}

std::vector<BudgetFact> budgets_of(const api::Pod& pod, const std::vector<api::PodDisruptionBudget>& budgets,
                                   const scheduling::SnapshotInput::List<api::Pod>& pods) {
  std::vector<BudgetFact> facts;
  for (const api::PodDisruptionBudget& budget : budgets) {
    if (budget.meta.ns != pod.meta.ns || !budget.covers(pod)) continue;
    const auto has_ended = [&](const auto& each) {
      return each->is_terminal() && each->meta.ns == budget.meta.ns && budget.covers(*each);
    };
    const bool never = !scheduling::why_never_evictable(budget, std::ranges::count_if(pods, has_ended)).empty();
    facts.push_back({budget.meta.name, budget.disruptions_allowed, budget.current_healthy, budget.desired_healthy,
                     budget.expected_pods, never});
  }
  return facts;
}

void assign_evacuations(Explanation& explanation, const std::vector<api::Evacuation>& evacuations) {
  for (const api::Evacuation& each : evacuations) {
    if (each.meta.ns != explanation.key.ns) continue;
    if (each.spec.pod_ref.name == explanation.key.name) explanation.of_pod.push_back(each);
    const auto& outcome = each.status.outcome;
    if (explanation.pod && outcome && outcome->replacement && outcome->replacement->uid == explanation.pod->meta.uid)
      explanation.created_by.push_back(each);
  }
  const auto newest_first = [](const api::Evacuation& a, const api::Evacuation& b) {
    return a.meta.creation_timestamp > b.meta.creation_timestamp;
  };
  std::ranges::stable_sort(explanation.of_pod, newest_first);
  std::ranges::stable_sort(explanation.created_by, newest_first);
}

std::string conclusion(const Explanation& explanation) {
  const auto& of_pod = explanation.of_pod;
  if (!explanation.pod) {
    if (of_pod.empty() && !explanation.cycles.empty())
      return "the pod does not exist; past cycles contain a pod of this name";
    if (of_pod.empty()) return "the pod does not exist, and no Evacuation refers to it";
    return of_pod.front().status.phase == api::EvacuationPhase::kSucceeded
               ? "it was evacuated"
               : "it is gone; its Evacuation did not move it";
  }
  const auto moving = std::ranges::find_if(of_pod, [&](const api::Evacuation& each) {
    return !api::is_terminal(each.status.phase) && is_about(each, *explanation.pod);
  });
  if (moving != of_pod.end()) return "it is being evacuated";
  const auto& policies = explanation.policies;
  const auto nominates = std::ranges::find(policies, PolicyVerdict::kNominates, &PolicyOpinion::verdict);
  if (nominates != policies.end()) return nominated_words(*nominates);
  const auto refuses = std::ranges::find(policies, PolicyVerdict::kRefused, &PolicyOpinion::verdict);
  if (refuses != policies.end())
    return fmt::format("policy {} would move it, but refuses: {}", refuses->policy, refuses->rule);
  if (policies.empty()) return "it stays: no policy applies to it";
  return "it stays: no policy nominates it";
}

}  // namespace cmd::plugin
