#include <fmt/format.h>

#include <algorithm>

#include "api/evacuation/refs.hpp"
#include "base/text.hpp"
#include "controllers/evacuation/phases/status_builder.hpp"

/// Observes the state of the remote side and enforces its deadlines.
namespace controllers::evacuation {
namespace {

/// Expected end: from the remote side, otherwise extrapolated from its progress, otherwise from earlier evacuations of
/// the workload.
std::optional<base::TimePoint> expected_end(const StatusBuilder& builder, const evictors::Observation& remote) {
  constexpr std::int32_t kMinProgress = 5;  // minimum progress in percent for an estimate
  if (remote.expected_completion) return remote.expected_completion;
  const auto& status = builder.status();
  if (!status.in_progress_since) return std::nullopt;
  if (status.progress && *status.progress >= kMinProgress) {
    // Estimate again only if the progress changes, so that the status does not change with every reconcile.
    if (remote.progress == builder.seen().evacuation.status.progress && status.expected_completion_at)
      return status.expected_completion_at;
    const base::Duration whole = (builder.now() - *status.in_progress_since) * 100 / *status.progress;
    return std::chrono::ceil<base::seconds>(*status.in_progress_since + whole);
  }
  const auto& past = builder.seen().past_durations;
  if (past.empty()) return status.expected_completion_at;
  return std::chrono::ceil<base::seconds>(*status.in_progress_since + past[past.size() / 2]);
}

void follow_life(StatusBuilder& builder, const evictors::Observation& remote) {
  if (remote.alive != builder.status().last_heartbeat_value && !remote.alive.empty())
    builder.set_heartbeat(remote.alive);
  if (remote.progress) builder.set_progress(*remote.progress);
  builder.set_expected_completion(expected_end(builder, remote));
  if (!remote.message.empty() && builder.phase() == EvacuationPhase::kInProgress)
    builder.set_true_condition(ConditionType::kProgressing, Reason::kHeartbeat, remote.message);
}

/// Key in status.refs: total seconds of earlier stays in the remote side's queue during this attempt.
constexpr std::string_view kQueuedRef = "queuedSeconds";

base::seconds queued_before(const StatusBuilder& builder) {
  constexpr std::int64_t kMax = 1'000'000'000;
  const auto seconds = base::parse_number<std::int64_t>(builder.context().ref(kQueuedRef));
  return base::seconds(std::clamp<std::int64_t>(seconds.value_or(0), 0, kMax));
}

/// Time in the remote side's queue does not count towards the total timeout: the clock moves forward when it ends. All
/// stays of an attempt share timeouts.queue, so entering the queue repeatedly gains nothing.
void follow_queue(StatusBuilder& builder, const evictors::Observation& remote) {
  if (remote.queued) return builder.start_queue_clock();
  if (!builder.status().queued_since) return;
  const base::seconds waited = std::chrono::ceil<base::seconds>(builder.stop_queue_clock());
  const base::seconds in_all = queued_before(builder) + waited;
  builder.remember({{std::string(kQueuedRef), std::to_string(in_all.count())}});
}

/// T19: the remote side failed and retries by itself.
void follow_failures(StatusBuilder& builder, const evictors::Observation& remote) {
  if (remote.failures <= builder.status().remote_failures) return;
  builder.set_remote_failures(remote.failures);
  builder.record_warning(EventReason::kMigrationFailed,
                         fmt::format("try {} failed: {}", remote.failures, remote.last_failure));
}

void follow_acknowledgement(StatusBuilder& builder, const evictors::Observation& remote) {
  if (!remote.acknowledged || builder.is_true(ConditionType::kHandoffAcknowledged)) return;
  builder.set_true_condition(ConditionType::kHandoffAcknowledged, Reason::kAcknowledged);
  builder.record_event(EventReason::kHandoffAcknowledged, "the pod's owner is working on the request");
}

void follow_readiness(StatusBuilder& builder, const evictors::Observation& remote) {
  const bool was_ready = builder.is_true(ConditionType::kReadyToEvict);
  if (remote.ready && !was_ready) {
    builder.set_true_condition(ConditionType::kReadyToEvict, Reason::kReady);
    builder.record_event(EventReason::kReadyToEvict, "the pod's owner reports that it is safe to evict");
  } else if (!remote.ready && was_ready && builder.phase() == EvacuationPhase::kInProgress) {
    builder.set_false_condition(ConditionType::kReadyToEvict,
                                Reason::kRevoked);  // T18; for Requesting see T12b
    builder.record_warning(EventReason::kReadyRevoked, "the pod's owner withdrew ready-to-evict");
  }
}

/// For onTimeout NextEvictor: the next evictor of the chain that can and may move this pod.
EvictorSearch next_evictor(const StatusBuilder& builder) {
  if (!builder.pod()) return NoEvictor{"the pod is gone", {}};
  if (!builder.attempts_left()) return NoEvictor{"no attempt remains for the next evictor", {}};
  return find_evictor(builder, builder.status().evictor_index + 1);
}

Step switch_evictor(StatusBuilder& builder, const ChosenEvictor& next, Reason why, const std::string& message) {
  builder.set_evictor_index(next.index);
  return leave_attempt(builder, EvacuationPhase::kBackoff, why,
                       fmt::format("{}; evictor {} is next", message, next.name));
}

Step remote_failed(StatusBuilder& builder, const evictors::RemoteFailure& failure) {
  builder.resolve_intent(IntentResult::kSuperseded);
  const std::string text = fmt::format("{}: {}", failure.reason, failure.message);
  builder.record_warning(EventReason::kHandoffFailed, text);
  if (failure.try_next) {
    const EvictorSearch search = next_evictor(builder);
    if (const auto* next = std::get_if<ChosenEvictor>(&search))
      return switch_evictor(builder, *next, failure.complete_reason, text);
  }
  if (failure.retryable) return retry_or_fail(builder, failure.complete_reason, text);
  return leave_attempt(builder, EvacuationPhase::kFailed, failure.complete_reason, text);
}

Step acknowledge_timeout(StatusBuilder& builder, const evictors::Probe& probe) {
  const std::string after = base::format_duration(builder.timeouts().acknowledge);
  builder.set_false_condition(ConditionType::kHandoffAcknowledged, Reason::kAcknowledgeTimeout);
  if (!probe.required) {
    builder.record_warning(
        EventReason::kTimedOut,
        fmt::format("the request was not acknowledged within {}; evicting without a handoff", after));
    return Step::kAgain;
  }
  return time_out(builder, Reason::kAcknowledgeTimeout,
                  fmt::format("the request was not acknowledged within {}", after));
}

std::optional<Step> check_acknowledgement(StatusBuilder& builder, const evictors::Probe& probe) {
  if (!probe.acknowledges || builder.is_true(ConditionType::kHandoffAcknowledged)) return std::nullopt;
  if (builder.condition_has_reason(ConditionType::kHandoffAcknowledged, Reason::kAcknowledgeTimeout))
    return std::nullopt;
  const base::TimePoint due = asked_at(builder) + builder.timeouts().acknowledge;
  builder.wake_at_deadline(due);
  if (!builder.expired(due)) return std::nullopt;
  return acknowledge_timeout(builder, probe);
}

std::optional<Step> check_heartbeat(StatusBuilder& builder, const evictors::Probe& probe) {
  const auto& last = builder.status().last_heartbeat_at;
  if (!probe.acknowledges || !last || !builder.is_true(ConditionType::kHandoffAcknowledged)) return std::nullopt;
  const base::TimePoint due = *last + builder.timeouts().heartbeat;
  builder.wake_at_deadline(due);
  if (!builder.expired(due)) return std::nullopt;
  builder.set_false_condition(ConditionType::kProgressing, Reason::kHeartbeatLost);
  builder.record_warning(EventReason::kHeartbeatLost, "the pod's owner no longer sends heartbeats");
  return time_out(builder, Reason::kHeartbeatLost,
                  fmt::format("no heartbeat for {}", base::format_duration(builder.timeouts().heartbeat)));
}

/// While the remote side queues the work, only timeouts.queue applies.
std::optional<Step> check_queue(StatusBuilder& builder) {
  const base::seconds left = std::max(builder.timeouts().queue - queued_before(builder), base::seconds(0));
  const base::TimePoint due = *builder.status().queued_since + left;
  builder.wake_at_deadline(due);
  if (!builder.expired(due)) return std::nullopt;
  const std::string& why = builder.remote().message;
  return time_out(builder, Reason::kProgressTimeout,
                  fmt::format("queued for longer than {}{}{}", base::format_duration(builder.timeouts().queue),
                              why.empty() ? "" : ": ", why));
}

}  // namespace

base::TimePoint asked_at(const StatusBuilder& builder) {
  const auto& status = builder.status();
  const bool current = status.intent && status.intent->token == status.token;
  if (current) return status.intent->time;
  return status.phase_entered_at.value_or(builder.now());
}

std::optional<Step> follow_remote(StatusBuilder& builder, const evictors::Observation& remote) {
  follow_life(builder, remote);
  follow_queue(builder, remote);
  follow_failures(builder, remote);
  builder.remember(remote.refs);
  if (!remote.target.empty()) {
    builder.set_target_node(remote.target);
    builder.remember({{std::string(api::kChosenTargetRef), remote.target.value}});
  }
  if (remote.dead) builder.report_dead_evictor();
  follow_acknowledgement(builder, remote);
  follow_readiness(builder, remote);
  if (remote.failed) return remote_failed(builder, *remote.failed);  // takes precedence over ready
  if (!remote.vanished) return std::nullopt;
  constexpr const char* kVanished = "the request disappeared from the pod, and the pod still exists";
  builder.record_warning(EventReason::kHandoffFailed, kVanished);
  return retry_or_fail(builder, Reason::kHandoffFailed, kVanished);
}

std::optional<Step> follow_observed(StatusBuilder& builder) { return follow_remote(builder, builder.remote()); }

std::optional<Step> check_remote_deadlines(StatusBuilder& builder) {
  const evictors::Probe probe = builder.evictor()->probe(builder.context());
  if (builder.phase() == EvacuationPhase::kInProgress) {
    builder.set_deadline_if_none(builder.now() + builder.timeouts().total);
    if (builder.status().queued_since) return check_queue(builder);
    builder.wake_at_deadline(*builder.status().deadline);
    if (builder.deadline_expired())
      return time_out(builder, Reason::kProgressTimeout, "the total timeout expired" + waited_for(builder));
  }
  if (builder.remote().ready) return std::nullopt;  // declared ready: only the total timeout applies now
  if (auto ended = check_acknowledgement(builder, probe)) return ended;
  return check_heartbeat(builder, probe);
}

void show_wait(StatusBuilder& builder, const evictors::EvictionStep& plan) {
  const bool waits = plan.next == evictors::NextMove::kWait || plan.next == evictors::NextMove::kHold;
  if (!waits || plan.why.empty()) return;
  const bool begun = builder.phase() == EvacuationPhase::kInProgress;
  builder.set_condition(ConditionType::kProgressing, begun ? ConditionStatus::kTrue : ConditionStatus::kFalse,
                        Reason::kWaiting, plan.why);
}

std::string waited_for(const StatusBuilder& builder) {
  const auto* told = api::find_condition(builder.status().conditions, ConditionType::kProgressing);
  return told && told->reason == Reason::kWaiting ? ": " + told->message : std::string();
}

Step time_out(StatusBuilder& builder, Reason reason, std::string message) {
  builder.record_warning(EventReason::kTimedOut, fmt::format("{}: {}", to_string(reason), message));
  switch (builder.spec().on_timeout) {
    case api::OnTimeout::kCancel: return retry_or_fail(builder, reason, std::move(message));
    case api::OnTimeout::kFail: return leave_attempt(builder, EvacuationPhase::kFailed, reason, std::move(message));
    case api::OnTimeout::kNextEvictor: break;
  }
  const EvictorSearch search = next_evictor(builder);
  if (const auto* next = std::get_if<ChosenEvictor>(&search)) return switch_evictor(builder, *next, reason, message);
  const auto& none = std::get<NoEvictor>(search);
  message += "; no other evictor is available: " + none.why;
  if (none.ask_again) return retry_or_fail(builder, reason, std::move(message));
  return leave_attempt(builder, EvacuationPhase::kFailed, reason, std::move(message));
}

}  // namespace controllers::evacuation
