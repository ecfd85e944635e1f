#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "controllers/evacuation/phases/draft.hpp"

namespace controllers {
namespace {

using api::ConditionStatus;
using api::EvacuationPhase;

/// The remote side's own word; else what its progress says; else what the workload's earlier evacuations took.
std::optional<base::TimePoint> expected_end(const Draft& draft, const evictors::Observation& remote) {
  constexpr std::int32_t kTelling = 5;  // percent: before that it says nothing
  if (remote.expected_completion) return remote.expected_completion;
  const auto& status = draft.status();
  if (!status.in_progress_since) return std::nullopt;
  if (status.progress && *status.progress >= kTelling) {
    // Anew only when the progress changes: the status must not change with every look.
    if (remote.progress == draft.seen().evacuation.status.progress && status.expected_completion_at)
      return status.expected_completion_at;
    const base::Duration whole = (draft.now() - *status.in_progress_since) * 100 / *status.progress;
    return std::chrono::ceil<base::seconds>(*status.in_progress_since + whole);
  }
  const auto& past = draft.seen().past_durations;
  if (past.empty()) return status.expected_completion_at;
  return std::chrono::ceil<base::seconds>(*status.in_progress_since + past[past.size() / 2]);
}

void follow_life(Draft& draft, const evictors::Observation& remote) {
  auto& status = draft.status();
  if (remote.alive != status.last_heartbeat_value && !remote.alive.empty()) {
    status.last_heartbeat_value = remote.alive;
    status.last_heartbeat_at = draft.now();  // ours: the operator's clock may be off
  }
  if (remote.progress) status.progress = remote.progress;
  status.expected_completion_at = expected_end(draft, remote);
  if (!remote.message.empty() && status.phase == EvacuationPhase::kInProgress)
    draft.set_condition(ConditionType::kProgressing, ConditionStatus::kTrue, Reason::kHeartbeat, remote.message);
}

/// In status.refs: the seconds that earlier spells in the remote side's queue took in this attempt.
constexpr std::string_view kQueuedRef = "queuedSeconds";

base::seconds queued_before(const Draft& draft) {
  constexpr std::int64_t kMost = 1'000'000'000;
  std::int64_t seconds = 0;
  for (const auto& [name, value] : draft.status().refs) {
    if (name == kQueuedRef) std::from_chars(value.data(), value.data() + value.size(), seconds);
  }
  return base::seconds(std::clamp<std::int64_t>(seconds, 0, kMost));
}

/// Waiting in the remote side's queue costs nothing of the total timeout; the clock is moved on when it ends. All
/// spells of an attempt share timeouts.queue: whoever flips in and out of the queue indefinitely gains nothing by it.
void follow_queue(Draft& draft, const evictors::Observation& remote) {
  auto& status = draft.status();
  if (remote.queued) {
    if (!status.queued_since) status.queued_since = draft.now();
    return;
  }
  if (!status.queued_since) return;
  const base::Duration waited = draft.now() - *status.queued_since;
  if (status.in_progress_since) *status.in_progress_since += waited;
  if (status.deadline) *status.deadline += waited;
  const base::seconds in_all = queued_before(draft) + std::chrono::ceil<base::seconds>(waited);
  draft.remember({{std::string(kQueuedRef), std::to_string(in_all.count())}});
  status.queued_since.reset();
}

/// T19: the remote side failed and tries again by itself.
void follow_failures(Draft& draft, const evictors::Observation& remote) {
  auto& status = draft.status();
  if (remote.failures <= status.remote_failures) return;
  status.remote_failures = remote.failures;
  draft.record_warning(EventReason::kMigrationFailed,
                       fmt::format("try {} failed: {}", remote.failures, remote.last_failure));
}

void follow_acknowledgement(Draft& draft, const evictors::Observation& remote) {
  if (!remote.acknowledged || api::is_true(draft.status().conditions, ConditionType::kHandoffAcknowledged)) return;
  draft.set_condition(ConditionType::kHandoffAcknowledged, ConditionStatus::kTrue, Reason::kAcknowledged);
  draft.record_event(EventReason::kHandoffAcknowledged, "the pod's owner is at work");
}

void follow_readiness(Draft& draft, const evictors::Observation& remote) {
  const bool was_ready = api::is_true(draft.status().conditions, ConditionType::kReadyToEvict);
  if (remote.ready && !was_ready) {
    draft.set_condition(ConditionType::kReadyToEvict, ConditionStatus::kTrue, Reason::kReady);
    draft.record_event(EventReason::kReadyToEvict, "the pod's owner says it is safe to evict");
  } else if (!remote.ready && was_ready && draft.phase() == EvacuationPhase::kInProgress) {
    draft.set_condition(ConditionType::kReadyToEvict, ConditionStatus::kFalse,
                        Reason::kRevoked);  // T18; from Requesting see T12b
    draft.record_warning(EventReason::kReadyRevoked, "the pod's owner withdrew ready-to-evict");
  }
}

/// NextEvictor: the next one in the chain that can, and may, move this pod; nullopt and why not.
std::optional<Resolution> next_evictor(const Draft& draft, std::string* why_not) {
  if (!draft.pod() || !draft.attempts_left()) {
    *why_not = draft.pod() ? "no attempt is left for the next evictor" : "the pod is gone";
    return std::nullopt;
  }
  std::optional<base::TimePoint> ask_again;
  return resolve_evictor(draft, draft.status().evictor_index + 1, why_not, &ask_again);
}

Step switch_evictor(Draft& draft, const Resolution& next, Reason why, const std::string& message) {
  draft.status().evictor_index = next.index;
  return leave_attempt(draft, EvacuationPhase::kBackoff, why,
                       fmt::format("{}; evictor {} is next", message, next.evictor));
}

Step remote_failed(Draft& draft, const evictors::RemoteFailure& failure) {
  draft.resolve_intent("Superseded");
  const std::string text = fmt::format("{}: {}", failure.reason, failure.message);
  draft.record_warning(EventReason::kHandoffFailed, text);
  if (failure.try_next) {
    std::string why_not;
    if (const auto next = next_evictor(draft, &why_not))
      return switch_evictor(draft, *next, failure.complete_reason, text);
  }
  if (failure.retryable) return retry_or_fail(draft, failure.complete_reason, text);
  return leave_attempt(draft, EvacuationPhase::kFailed, failure.complete_reason, text);
}

/// When the current request was written.
base::TimePoint asked_at(const Draft& draft) {
  const auto& status = draft.status();
  const bool current = status.intent && status.intent->token == status.token;
  if (current) return status.intent->time;
  return status.phase_entered_at.value_or(draft.now());
}

Step acknowledge_timeout(Draft& draft, const evictors::Probe& probe) {
  const std::string after = base::format_duration(draft.timeouts().acknowledge);
  draft.set_condition(ConditionType::kHandoffAcknowledged, ConditionStatus::kFalse, Reason::kAcknowledgeTimeout);
  if (!probe.required) {
    draft.record_warning(EventReason::kTimedOut,
                         fmt::format("nobody acknowledged within {}; evicting without a handoff", after));
    return Step::kAgain;
  }
  return timed_out(draft, Reason::kAcknowledgeTimeout, fmt::format("nobody acknowledged the request within {}", after));
}

std::optional<Step> check_acknowledgement(Draft& draft, const evictors::Probe& probe) {
  const auto& conditions = draft.status().conditions;
  if (!probe.acknowledges || api::is_true(conditions, ConditionType::kHandoffAcknowledged)) return std::nullopt;
  if (draft.condition_has_reason(ConditionType::kHandoffAcknowledged, Reason::kAcknowledgeTimeout)) return std::nullopt;
  const base::TimePoint due = asked_at(draft) + draft.timeouts().acknowledge;
  draft.wake_at_deadline(due);
  if (!draft.expired(due)) return std::nullopt;
  return acknowledge_timeout(draft, probe);
}

std::optional<Step> check_heartbeat(Draft& draft, const evictors::Probe& probe) {
  const auto& last = draft.status().last_heartbeat_at;
  if (!probe.acknowledges || !last || !api::is_true(draft.status().conditions, ConditionType::kHandoffAcknowledged))
    return std::nullopt;
  const base::TimePoint due = *last + draft.timeouts().heartbeat;
  draft.wake_at_deadline(due);
  if (!draft.expired(due)) return std::nullopt;
  draft.set_condition(ConditionType::kProgressing, ConditionStatus::kFalse, Reason::kHeartbeatLost);
  draft.record_warning(EventReason::kHeartbeatLost, "the pod's owner shows no life any more");
  return timed_out(draft, Reason::kHeartbeatLost,
                   fmt::format("no sign of life for {}", base::format_duration(draft.timeouts().heartbeat)));
}

}  // namespace

std::optional<Step> follow_remote(Draft& draft, const evictors::Observation& remote) {
  follow_life(draft, remote);
  follow_queue(draft, remote);
  follow_failures(draft, remote);
  draft.remember(remote.refs);
  if (!remote.target.empty()) draft.status().target_node = remote.target;
  if (remote.dead) draft.out().dead = draft.status().evictor;
  follow_acknowledgement(draft, remote);
  follow_readiness(draft, remote);
  if (remote.failed) return remote_failed(draft, *remote.failed);  // beats ready
  if (!remote.vanished) return std::nullopt;
  draft.record_warning(EventReason::kHandoffFailed, "the request vanished from the pod, and the pod is still there");
  return retry_or_fail(draft, Reason::kHandoffFailed, "the request vanished from the pod, and the pod is still there");
}

std::optional<Step> check_remote_deadlines(Draft& draft, const evictors::Observation& remote) {
  const evictors::Probe probe = draft.evictor()->probe(draft.context());
  if (draft.phase() == EvacuationPhase::kInProgress) {
    auto& deadline = draft.status().deadline;
    if (!deadline) deadline = draft.now() + draft.timeouts().total;
    if (const auto& since = draft.status().queued_since) {
      const base::TimePoint due = *since + std::max(draft.timeouts().queue - queued_before(draft), base::seconds(0));
      draft.wake_at_deadline(due);
      if (!draft.expired(due)) return std::nullopt;
      return timed_out(draft, Reason::kProgressTimeout,
                       fmt::format("queued for longer than {}", base::format_duration(draft.timeouts().queue)));
    }
    draft.wake_at_deadline(*deadline);
    if (draft.expired(*deadline))
      return timed_out(draft, Reason::kProgressTimeout, "the total timeout is over" + waited_for(draft));
  }
  if (remote.ready) return std::nullopt;  // its word is given: only the total timeout counts now
  if (auto ended = check_acknowledgement(draft, probe)) return ended;
  return check_heartbeat(draft, probe);
}

void show_wait(Draft& draft, const evictors::Plan& plan) {
  if (plan.next != evictors::Next::kWait || plan.why.empty()) return;
  const bool begun = draft.phase() == EvacuationPhase::kInProgress;
  draft.set_condition(ConditionType::kProgressing, begun ? ConditionStatus::kTrue : ConditionStatus::kFalse,
                      Reason::kWaiting, plan.why);
}

std::string waited_for(const Draft& draft) {
  const auto* told = api::find_condition(draft.status().conditions, ConditionType::kProgressing);
  return told && told->reason == Reason::kWaiting ? ": " + told->message : std::string();
}

Step timed_out(Draft& draft, Reason reason, std::string message) {
  draft.record_warning(EventReason::kTimedOut, fmt::format("{}: {}", to_string(reason), message));
  switch (draft.spec().on_timeout) {
    case api::OnTimeout::kCancel: return retry_or_fail(draft, reason, std::move(message));
    case api::OnTimeout::kFail: return leave_attempt(draft, EvacuationPhase::kFailed, reason, std::move(message));
    case api::OnTimeout::kNextEvictor: break;
  }
  std::string why_not;
  const auto next = next_evictor(draft, &why_not);
  if (!next) {
    return leave_attempt(draft, EvacuationPhase::kFailed, reason,
                         fmt::format("{}; no other evictor takes over: {}", message, why_not));
  }
  return switch_evictor(draft, *next, reason, message);
}

Step retry_or_fail(Draft& draft, Reason reason, std::string message) {
  const bool again = draft.attempts_left();
  return leave_attempt(draft, again ? EvacuationPhase::kBackoff : EvacuationPhase::kFailed, reason, std::move(message));
}

}  // namespace controllers
