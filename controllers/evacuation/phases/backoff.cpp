#include <fmt/format.h>

#include <algorithm>

#include "base/backoff.hpp"
#include "controllers/evacuation/phases/status_builder.hpp"

/// Backoff: the last attempt has ended; the next one waits for its delay and for a slot.
namespace controllers::evacuation {
namespace {

/// T36: minimum delay before the slot is requested again, so that it is stored as free and waiting Evacuations come
/// first.
constexpr base::seconds kBehindOthers{1};

/// T22: the next evictor begins at once, but not directly after a refused call (I15).
base::Duration delay_of_switch(const StatusBuilder& builder) {
  const auto& last = builder.status().last_response;
  const base::TimePoint earliest = last && last->code >= 400 ? last->time + kMinimalGap : builder.now();
  return std::max<base::Duration>(earliest - builder.now(), base::Duration::zero());
}

bool goes_to_next_evictor(const StatusBuilder& builder) {
  const auto& status = builder.status();
  const auto chain = builder.chain();
  const auto index = static_cast<std::size_t>(std::max(status.evictor_index, 0));
  return status.adapter != kTerminalPod && index < chain.size() && chain[index].name != status.evictor;
}

// --- rules

std::optional<Step> fail_without_attempts(StatusBuilder& builder) {
  if (builder.attempts_left()) return std::nullopt;
  return builder.finish(EvacuationPhase::kFailed, Reason::kMaxAttempts,
                        fmt::format("all {} attempts failed", builder.status().attempt));
}

/// T25b: no slot in time.
std::optional<Step> expire_waiting(StatusBuilder& builder) {
  const base::TimePoint due = builder.status().next_action_at.value_or(builder.now());
  const base::TimePoint deadline = due + builder.timeouts().decision_ttl;
  builder.set_deadline(deadline);
  builder.wake_at_deadline(deadline);
  if (!builder.expired(deadline)) return std::nullopt;
  return builder.finish(EvacuationPhase::kCancelled, Reason::kDecisionExpired,
                        "got no slot for the next attempt in time");
}

/// T25: waits for the backoff delay.
std::optional<Step> wait_for_next_attempt(StatusBuilder& builder) {
  if (!next_call_is_early(builder)) return std::nullopt;
  return builder.wait();
}

constexpr std::array<Rule, 8> kBackoffRules = {
    end_if_required,  // T24
    fail_without_attempts,
    expire_waiting,         // T25b
    wait_for_next_attempt,  // T25
    wait_while_suspended,
    reject_duplicate,         // T25c
    end_without_destination,  // T25b
    begin_with_slot,          // T25
};

}  // namespace

Step decide_backoff(StatusBuilder& builder) { return first_answer(kBackoffRules, builder); }

Step enter_backoff(StatusBuilder& builder, const ReasonText& reason, std::string message) {
  const auto& retry = builder.spec().retry;
  base::Duration delay = goes_to_next_evictor(builder)
                             ? delay_of_switch(builder)
                             : base::backoff_delay({retry.backoff, retry.backoff_max}, builder.status().attempt);
  if (reason.text() == Reason::kNoProgress) {
    delay = std::max<base::Duration>(delay, kBehindOthers);
    builder.set_false_condition(ConditionType::kSlotAcquired, Reason::kNoProgress, message);
    builder.record_warning(EventReason::kSlotReturned, message);
  } else {
    builder.set_false_condition(ConditionType::kSlotAcquired, Reason::kReleased);
  }
  builder.enter(EvacuationPhase::kBackoff, reason, std::move(message));
  builder.clear_blocked();
  builder.set_next_call_at(builder.now() + delay);
  builder.set_deadline(builder.now() + delay + builder.timeouts().decision_ttl);
  return Step::kAgain;
}

bool next_call_is_early(StatusBuilder& builder) {
  const auto& due = builder.status().next_action_at;
  if (!due || *due <= builder.now()) return false;
  builder.wake_at(*due);
  return true;
}

Step retry_or_fail(StatusBuilder& builder, Reason reason, std::string message) {
  const EvacuationPhase next = builder.attempts_left() ? EvacuationPhase::kBackoff : EvacuationPhase::kFailed;
  return leave_attempt(builder, next, reason, std::move(message));
}

}  // namespace controllers::evacuation
