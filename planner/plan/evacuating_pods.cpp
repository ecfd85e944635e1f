#include "planner/plan/evacuating_pods.hpp"

#include "api/origin.hpp"
#include "api/vocabulary/reasons.hpp"
#include "planner/strategies/catalog.hpp"

namespace planner {

/// Returns true if the pod of an unfinished Evacuation is expected to leave. REQUIRES: the Evacuation is unfinished.
bool EvacuatingPods::is_leaving(const api::Evacuation& evacuation) const {
  using Phase = api::EvacuationPhase;
  const Phase phase = evacuation.status.phase;
  if (evacuation.spec.dry_run) return false;
  if (!api::is_between_attempts(phase)) return true;
  const bool is_own = api::policy_of(evacuation) == policy_;
  if (evacuation.spec.suspend) return is_own && mode_ == api::PolicyMode::kManual;
  return phase == Phase::kBackoff || api::origin_is_verified(evacuation);
}

bool never_began(const api::Evacuation& evacuation) {
  const api::EvacuationStatus& status = evacuation.status;
  return api::is_terminal(status.phase) && status.attempt == 0 && status.reason == api::Reason::kDecisionExpired &&
         api::origin_is_verified(evacuation) && strategies::plans_in_waves(evacuation.spec.source.strategy);
}

void EvacuatingPods::add(const api::Evacuation& evacuation) {
  const auto& hint = evacuation.spec.placement;
  const PodIdentity pod{evacuation.meta.ns, evacuation.spec.pod_ref.uid, hint ? hint->node_name.value : ""};
  const auto& outcome = evacuation.status.outcome;
  if (!api::is_terminal(evacuation.status.phase)) {
    (is_leaving(evacuation) ? leaving : cooling).push_back(pod);
  } else if (!never_began(evacuation) && (!outcome || outcome->kind != api::OutcomeKind::kTargetGone)) {
    cooling.push_back(pod);
  }
}

}  // namespace planner
