#pragma once

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"

namespace evictors {

/// spec.timeouts with the defaults of state-machine.md#timeouts filled in. `termination` depends on the pod and is not
/// here.
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

/// The longest grace period that counts: 7 days.
inline constexpr base::seconds kMaxGracePeriod{7 * 24 * 3600};
/// How long a pod may still be there after its grace period.
inline constexpr base::seconds kEndAfterGrace{120};
/// metadata.deletionGracePeriodSeconds of a pod that terminates; else what an eviction would ask for. 0 to
/// kMaxGracePeriod.
base::seconds grace_period(const api::EvacuationSpec& spec, const api::Pod* pod);

/// Timeout of a deletion that begins now: spec.timeouts.termination, or the grace period + kEndAfterGrace.
base::seconds termination_timeout(const api::EvacuationSpec& spec, const api::Pod* pod);
/// When a pod that is seen to terminate since `now` is stuck: spec.timeouts.termination later, or kEndAfterGrace after
/// both its deletionTimestamp and `now`. The deletion may have another grace period than an eviction of ours.
base::TimePoint termination_deadline(const api::EvacuationSpec& spec, const api::Pod* pod, base::TimePoint now);

/// Time a call may take, from its start to its answer.
inline constexpr base::seconds kCallTimeout{34};

}  // namespace evictors
