#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "api/vocabulary/term.hpp"

namespace api {

/// Field `type` of an Event.
enum class EventKind { kNormal, kWarning };
std::string_view to_string(EventKind kind);

/// Field `reason` of the Events that Evacuator publishes (docs/design/state-machine.md).
enum class EventReason {
  // Evacuation, in order of its lifecycle
  kAccepted,
  kSlotAcquired,
  kSlotReturned,
  kHandoffRequested,
  kHandoffAcknowledged,
  kHandoffFailed,
  kReadyToEvict,
  kReadyRevoked,
  kEvictionRequested,
  kEvictionBlocked,
  kEvictionAccepted,
  kEvictionGranted,
  kMigrationFailed,
  kHeartbeatLost,
  kTimedOut,
  kCancelRequested,
  kCancelRefused,
  kRollbackCompleted,
  kRollbackIncomplete,
  kReplacementReady,
  kWriteRefused,
  // start of a phase, if no more specific event was published
  kPreparing,
  kInProgress,
  kEvicting,
  kVerifying,
  kAborting,
  kBackoff,
  // outcomes
  kEvicted,
  kMigrated,
  kMovedByOwner,
  kGoneExternally,
  kDryRun,
  kUserCancelled,
  kPolicyDeleted,
  kDecisionExpired,
  kTargetGone,
  kObjectDeleted,
  kFailed,
  // DeschedulerPolicy
  kEvacuationsCreated,
  kInvalidSpec,
  kCircuitOpened,
  // Lease of the operator
  kAuditLogFailing,
  kAuditLogRecovered,
  kAnotherOperator,
  kClusterClaimed,
};
inline constexpr EventReason kLastEventReason = EventReason::kClusterClaimed;

std::string_view to_string(EventReason reason);
std::optional<EventReason> parse_event_reason(std::string_view name);
std::span<const Term<EventReason>> event_reasons();

inline bool operator==(std::string_view text, EventReason reason) { return text == to_string(reason); }

}  // namespace api
