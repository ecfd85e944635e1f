#pragma once

/// The waves of a plan, and how far the policy is with what it made last. Pure.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "controllers/policy/decide.hpp"

namespace controllers {

/// How far the last plan in waves is with what was made of it, its first wave.
enum class WaveState {
  kNone,      ///< there is none, nothing was made of it, or the spec is another one by now
  kUnderWay,  ///< an Evacuation of it is unfinished, or not seen yet: no other cycle is to run
  kOver,
};
struct WaveProgress {
  WaveState state = WaveState::kNone;
  bool may_continue = false;                 ///< kOver: further waves were planned, and this one ended lately
  std::optional<base::TimePoint> changes{};  ///< kUnderWay: over by then, whatever happens
};
/// A wave is under way no longer than this beyond its decisionTTL: no pod holds the policy up by taking its time.
inline constexpr base::Duration kMaxWaiting = std::chrono::hours(1);
/// A plan that could not go on within this time of its last wave's end waits for the schedule.
inline constexpr base::Duration kMaxPause = std::chrono::hours(1);
/// `evacuations`: those of the policy.
///  * What somebody suspended before it began holds nothing up. In mode Manual a proposal does, as long as
///  kMaxWaiting.
///  * What a strategy that plans in waves made counts though the status does not know of it: it may be older, or of
///    another spec.
///  * What is not there a minute after the cycle's end is taken as finished and deleted, or was never made.
WaveProgress wave_progress(const api::DeschedulerPolicy& policy,
                           const std::vector<std::shared_ptr<const api::Evacuation>>& evacuations, base::TimePoint now);
/// How far what the last cycle made is, whichever strategy planned it: kNone, nothing was made, or the spec is another
/// one by now.
WaveState state_of_moves(const api::DeschedulerPolicy& policy,
                         const std::vector<std::shared_ptr<const api::Evacuation>>& evacuations, base::TimePoint now);
bool is_unfinished(const std::shared_ptr<const api::Evacuation>& evacuation);
/// How long the Evacuations of a wave may wait for their turn, so that `moves` can go one after the other.
base::seconds decision_ttl_of_wave(std::size_t moves);
/// What of a plan's moves is made in its cycle: those of its first wave, and those of none.
bool is_made_now(const api::PlannedMove& move);

/// A plan that goes on has fewer waves left than the one before, of `waves`. If it has not, somebody takes what it
/// makes free: its moves are taken out and wait for the schedule.
void end_if_it_does_not_shrink(CycleOutcome& outcome, std::int32_t waves);

}  // namespace controllers
