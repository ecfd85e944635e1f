#include "planning/evacuating_pods.hpp"

namespace planning {

void EvacuatingPods::add(const api::Evacuation& evacuation) {
  const PodIdentity pod{evacuation.meta.ns, evacuation.spec.pod_ref.uid};
  const auto& outcome = evacuation.status.outcome;
  if (!api::is_terminal(evacuation.status.phase)) {
    leaving.push_back(pod);
  } else if (!outcome || outcome->kind != api::OutcomeKind::kTargetGone) {
    cooling.push_back(pod);
  }
}

}  // namespace planning
