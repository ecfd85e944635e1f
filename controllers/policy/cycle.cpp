#include "controllers/policy/cycle.hpp"

#include "api/origin.hpp"
#include "controllers/policy/audit_records.hpp"
#include "planning/planner.hpp"

namespace controllers {

namespace {

bool is_leaving(const api::Evacuation& evacuation, const api::DeschedulerPolicy& policy) {
  using Phase = api::EvacuationPhase;
  const Phase phase = evacuation.status.phase;
  if (evacuation.spec.dry_run) return false;
  if (phase != Phase::kPending && phase != Phase::kBackoff) return true;
  const bool is_own = api::policy_of(evacuation) == policy.meta.name;
  if (evacuation.spec.suspend) return is_own && policy.spec.mode == api::PolicyMode::kManual;
  return phase == Phase::kBackoff || api::origin_is_verified(evacuation);
}

}  // namespace

KnownPods known_pods(const std::vector<std::shared_ptr<const api::Evacuation>>& evacuations,
                     const api::DeschedulerPolicy& policy) {
  KnownPods known;
  for (const auto& evacuation : evacuations) {
    const auto& outcome = evacuation->status.outcome;
    planning::PodIdentity pod{evacuation->meta.ns, evacuation->spec.pod_ref.uid};
    if (!api::is_terminal(evacuation->status.phase)) {
      (is_leaving(*evacuation, policy) ? known.leaving : known.cooling).push_back(std::move(pod));
    } else if (!outcome || outcome->kind != api::OutcomeKind::kTargetGone) {
      known.cooling.push_back(std::move(pod));
    }
  }
  return known;
}

CycleOutcome run_cycle(const planning::PlanSpec& spec, const scheduling::ClusterSnapshot& snapshot,
                       const KnownPods& known, std::string id, base::TimePoint now) {
  std::vector<std::string> forbidden;
  for (const ForbiddenNamespace& each : known.forbidden) forbidden.push_back(each.ns);
  planning::Plan plan = planning::plan_cycle({.spec = spec,
                                              .cluster = snapshot,
                                              .leaving = known.leaving,
                                              .now = now,
                                              // A blocked pod is nominated all the same: its Evacuation waits in the
                                              // open and goes when the budget allows.
                                              .options = {.spend_pdbs = false, .max_refusals = kMaxAuditedPods},
                                              .cooling = known.cooling,
                                              .forbidden = std::move(forbidden),
                                              .restarts = known.restarts,
                                              .usage = known.usage});
  CycleOutcome outcome;
  outcome.moves = std::move(plan.moves);
  outcome.summary.refused = std::move(plan.refused);
  outcome.refusals = std::move(plan.refusals);
  outcome.summary.id = std::move(id);
  outcome.summary.start = now;
  outcome.summary.nodes = plan.nodes;
  outcome.summary.pods = plan.pods;
  outcome.summary.nominated = static_cast<std::int32_t>(outcome.moves.size());
  for (const planning::StrategyResult& result : plan.strategies) {
    if (!result.problem.empty()) outcome.problems.push_back(result.strategy + ": " + result.problem);
  }
  for (const ForbiddenNamespace& each : known.forbidden) outcome.problems.push_back(each.problem);
  for (const api::FieldErrors& list : {plan.errors, plan.warnings}) {
    for (const api::FieldError& error : list) outcome.problems.push_back(error.to_string());
  }
  for (const api::FieldError& note : plan.notes) outcome.warnings.push_back(note.to_string());
  const scheduling::InputProblems& problems = snapshot.problems();
  for (const scheduling::InputProblem& problem : problems.rows()) outcome.warnings.push_back(problem.to_string());
  outcome.more_warnings = problems.total() - static_cast<std::int64_t>(problems.rows().size());
  return outcome;
}

}  // namespace controllers
