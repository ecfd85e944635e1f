#pragma once

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"

namespace api {

/// Corrects times written by a clock that was ahead. If the newest past time is more than base::kClockTolerance after
/// `now`, times of past events are set to at most `now`, and due times computed by that clock keep their distance to
/// it. In any case, due times are limited to two weeks after `now`. The caller must store the result, because the next
/// correction uses another `now`.
void correct_times(EvacuationStatus& status, base::TimePoint now);

/// Corrects the watermarks of a policy's counters and the times of its restarts. Leaves the start of the last cycle
/// unchanged: a future one only makes the next cycle due immediately and holds no wave. CooldownLedger corrects
/// cooldowns, and strategies correct times in their own state.
void correct_times(DeschedulerPolicyStatus& status, base::TimePoint now);

}  // namespace api
