#pragma once

/// Waves of a plan, and the progress of the policy's latest wave. Pure.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "controllers/policy/decide.hpp"

namespace controllers {

/// Progress of the first wave of the last plan, which is the one that was created.
enum class WaveState {
  kNone,      ///< no such plan, nothing was created, or the spec has changed
  kUnderWay,  ///< an Evacuation of it is unfinished or not visible yet; no other cycle may run
  kOver,
};
struct WaveProgress {
  WaveState state = WaveState::kNone;
  bool may_continue = false;                 ///< kOver: further waves were planned, and this one ended recently
  std::optional<base::TimePoint> changes{};  ///< kUnderWay: latest time at which it is over
};
/// Maximum time beyond its decisionTTL for which a wave is under way, so that a slow pod cannot block the policy.
inline constexpr base::Duration kMaxWaiting = std::chrono::hours(1);
/// Maximum time between the end of a wave and the continuation of its plan. After that the plan waits for the schedule.
inline constexpr base::Duration kMaxPause = std::chrono::hours(1);
/// `evacuations` are those of the policy.
/// * An Evacuation that was suspended by a user before it began does not keep the wave under way. In mode Manual a
///   proposal does, until kMaxWaiting after its decisionTTL.
/// * Evacuations of a strategy that plans in waves count even if the status does not list them: the status may be
///   older, or of another spec.
/// * Evacuations that are missing a minute after the cycle's end count as finished and deleted, or as never created.
WaveProgress wave_progress(const api::DeschedulerPolicy& policy, const Evacuations& evacuations, base::TimePoint now);
/// Progress of the last cycle's moves, for any strategy. kNone if nothing was created or the spec has changed.
WaveState state_of_moves(const api::DeschedulerPolicy& policy, const Evacuations& evacuations, base::TimePoint now);
bool is_unfinished(const std::shared_ptr<const api::Evacuation>& evacuation);
/// Decision TTL of a wave's Evacuations, long enough for `moves` to run one after the other.
base::seconds decision_ttl_of_wave(std::size_t moves);
/// Whether the move is carried out in its own cycle: moves of the first wave, and moves without a wave.
bool is_made_now(const api::PlannedMove& move);

/// Ends a continued plan that does not have fewer waves left than the previous one, which had `waves`. Other pods then
/// use the capacity that it frees, so its moves are removed and wait for the schedule.
void end_if_not_shrinking(CycleOutcome& outcome, std::int32_t waves);

}  // namespace controllers
