#pragma once

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"

namespace evictors {

/// spec.timeouts, with the defaults of state-machine.md#timeouts for unset values. Does not include `termination`,
/// which depends on the pod.
struct Timeouts {
  base::seconds decision_ttl{600};
  base::seconds prepare{300};
  base::seconds acknowledge{60};
  base::seconds heartbeat{1200};
  base::seconds total{3600};
  base::seconds queue{3600};
  base::seconds blocked{900};
  base::seconds verify{600};
  base::seconds abort{300};
};
Timeouts effective_timeouts(const api::EvacuationSpec& spec);

/// Maximum grace period: 7 days. Longer ones are cut.
inline constexpr base::seconds kMaxGracePeriod{7 * 24 * 3600};
/// Time after its grace period during which a pod may still exist.
inline constexpr base::seconds kTerminationSlack{120};
/// Returns metadata.deletionGracePeriodSeconds of a terminating pod, else the grace period of an eviction. Clamped to 0
/// … kMaxGracePeriod.
base::seconds grace_period(const api::EvacuationSpec& spec, const api::Pod* pod);

/// Returns the timeout of a deletion that begins now: spec.timeouts.termination, or the grace period +
/// kTerminationSlack.
base::seconds termination_timeout(const api::EvacuationSpec& spec, const api::Pod* pod);
/// Returns when a pod that has been seen terminating since `now` counts as stuck: after spec.timeouts.termination, or
/// kTerminationSlack after its deletionTimestamp and `now`, whichever is later. The deletion may have another grace
/// period than Evacuator's eviction.
base::TimePoint termination_deadline(const api::EvacuationSpec& spec, const api::Pod* pod, base::TimePoint now);

/// Maximum time from the start of a call to its answer.
inline constexpr base::seconds kCallTimeout{34};

}  // namespace evictors
