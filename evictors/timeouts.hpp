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

/// From the first sight of deletionTimestamp: spec.timeouts.termination, or the grace period + 120 s.
base::seconds termination_timeout(const api::EvacuationSpec& spec, const api::Pod* pod);

/// Time a call may take, from its start to its answer.
inline constexpr base::seconds kCallTimeout{34};

}  // namespace evictors
