#pragma once

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"

namespace api {

/// Corrects what a clock that was ahead has written: what happened after `now` happened now, and what was due a while
/// after that is due as long after now, and within two weeks. A status whose newest time is at most
/// base::kClockTolerance after `now` stays. The caller has to store the result: the next correction begins at another
/// `now`.
void correct_times(EvacuationStatus& status, base::TimePoint now);

/// Corrects the watermarks of a policy's counters, and when its rounds and restarts were judged. The start of the last
/// cycle stays: one from the future makes the next cycle due at once, and holds no wave. CooldownLedger corrects the
/// cooldowns.
void correct_times(DeschedulerPolicyStatus& status, base::TimePoint now);

}  // namespace api
