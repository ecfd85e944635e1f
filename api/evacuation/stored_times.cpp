#include "api/evacuation/stored_times.hpp"

#include <algorithm>

#include "base/time/stored_time.hpp"

namespace api {
namespace {

constexpr std::optional<base::TimePoint> EvacuationStatus::*kPast[] = {
    &EvacuationStatus::started_at,        &EvacuationStatus::attempt_started_at, &EvacuationStatus::phase_entered_at,
    &EvacuationStatus::in_progress_since, &EvacuationStatus::blocked_since,      &EvacuationStatus::request_sent_at,
    &EvacuationStatus::last_heartbeat_at, &EvacuationStatus::queued_since,       &EvacuationStatus::finished_at};

constexpr std::optional<base::TimePoint> EvacuationStatus::*kDue[] = {
    &EvacuationStatus::deadline, &EvacuationStatus::next_action_at, &EvacuationStatus::expected_completion_at};

/// Latest possible due time: every timeout is at most a week, and a retry waits a day.
constexpr base::seconds kMaxDue{2 * 604800};

/// Times in status.refs are past events, or lie at most base::kClockTolerance ahead.
void correct_refs(EvacuationStatus& status, base::TimePoint now) {
  for (auto& [name, value] : status.refs) {
    const auto time = base::parse_time(value);
    if (time && base::is_in_future(*time, now)) value = base::format_time(now);
  }
}

/// Calls `visit` with each time of a past event that was taken from the operator's clock.
template <typename Visit>
void for_past(EvacuationStatus& status, Visit visit) {
  for (const auto member : kPast) {
    if (auto& time = status.*member) visit(*time);
  }
  if (status.intent) visit(status.intent->time);
  if (status.abort) visit(status.abort->started_at);
  if (status.last_response) visit(status.last_response->time);
  for (Blocker& each : status.blocked_by) visit(each.since);
  if (status.outcome && status.outcome->replacement && status.outcome->replacement->ready_at)
    visit(*status.outcome->replacement->ready_at);
}

/// Bounds due times, for a clock that was ahead and wrote no other time.
void limit_due_times(EvacuationStatus& status, base::TimePoint now) {
  for (const auto member : kDue) {
    if (auto& due = status.*member) due = std::min(*due, now + kMaxDue);
  }
}

}  // namespace

void correct_times(EvacuationStatus& status, base::TimePoint now) {
  correct_refs(status, now);
  base::TimePoint newest = base::TimePoint::min();
  for_past(status, [&](base::TimePoint& time) { newest = std::max(newest, time); });
  if (!base::is_in_future(newest, now)) return limit_due_times(status, now);
  const bool entered_ahead = status.phase_entered_at && base::is_in_future(*status.phase_entered_at, now);
  for (const auto member : kDue) {
    auto& due = status.*member;
    const bool is_from_fast_clock = due && (*due >= newest || (entered_ahead && *due > now));
    if (is_from_fast_clock) due = std::max(now, *due - (newest - now));
  }
  for_past(status, [&](base::TimePoint& time) { time = std::min(time, now); });
  limit_due_times(status, now);
}

void correct_times(DeschedulerPolicyStatus& status, base::TimePoint now) {
  const auto correct = [&](std::optional<base::TimePoint>& time) {
    if (time) time = base::clamp_to_now(*time, now);
  };
  correct(status.evicted_until);
  correct(status.circuit.counted_until);
  correct(status.circuit.opened_at);
  for (RestartRecord& record : status.restarts) {
    for (RestartObservation& look : record.looks) look.time = base::clamp_to_now(look.time, now);
  }
}

}  // namespace api
