#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "api/vocabulary/term.hpp"

namespace api {

/// Field `reason` of the conditions that Evacuator sets, and of an Evacuation's status and history.
enum class Reason {
  // Evacuation: before an attempt begins
  kSigned,
  kNotSigned,
  kValid,
  kExcludedByPolicy,
  kPodNotFound,
  kUIDMismatch,
  kAcquired,
  kSlotAcquired,
  kCapacityReserved,
  kReleased,
  kPaused,
  kWaitingCapacity,
  kWaitingForGroup,
  kWaitingTotal,
  kWaitingNode,
  kWaitingTargetNode,
  kWaitingNamespace,
  kWaitingWorkload,
  kWaitingZone,
  kWaitingRate,
  kCoolingDown,
  kWaitingAuditLog,
  kNoProgress,
  // PodGroup
  kPrepared,
  kLeaving,
  kMemberStays,
  // work of the pod's owner
  kNotApplicable,
  kAwaitingAcknowledgement,
  kAcknowledged,
  kHandoffRequested,
  kWaiting,
  kHeartbeat,
  kReady,
  kReadyToEvict,
  kRevoked,
  // eviction call
  kGranted,
  kEvictionGranted,
  kEvictionAccepted,
  kOwnerDeleted,
  kRequestFound,
  kAlreadyInProgress,
  kGrantedWithoutDelete,
  // blocked
  kPDBBlocked,
  kPDBNeverAllows,
  kMultiPDB,
  kPDBBroken,
  kThrottled,
  kWebhookDown,
  kRefusedByWebhook,
  kRetryLater,
  kNamespaceTerminating,
  kUnauthorized,
  kConflict,
  kGoneMaybe,
  kOutcomeUnknown,
  // the pod leaves
  kStillPresent,
  kTerminating,
  kTerminationStuck,
  kPodDeleted,
  kUIDChanged,
  kPodTerminal,
  kPodTerminating,
  kAwaitingReplacement,
  kHintTaken,
  kHintUnused,
  kNotExpected,
  kSameNode,
  // cancel and rollback
  kPointOfNoReturn,
  kCancelAccepted,
  kRollbackRunning,
  kComplete,
  kNothingToDo,
  kOtherRequestersRemain,
  kRemoteMarkRemains,
  kAbortTimeout,
  kTimedOut,
  // Succeeded
  kEvicted,
  kMigrated,
  kMovedByOwner,
  kGoneExternally,
  kDryRun,
  // Cancelled
  kUserCancelled,
  kPolicyDeleted,
  kDecisionExpired,
  kTargetGone,
  kObjectDeleted,
  // Failed
  kInvalidSpec,
  kSpecChanged,
  kNotAllowed,
  kDuplicateRequest,
  kNotEvictable,
  kForbidden,
  kMaxAttempts,
  kGroupStays,
  kAcknowledgeTimeout,
  kHeartbeatLost,
  kProgressTimeout,
  kBlockedTimeout,
  kTerminationTimeout,
  kReplacementTimeout,
  kHandoffFailed,
  kMigrationFailed,
  kNativeFailed,
  // DeschedulerPolicy
  kMovesNominated,
  kEvacuationsRunning,
  kNothingToMove,
  kAsExpected,
  kCycleProblems,
  kStaleCaches,
  kSuspendedByUser,
  kActive,
  kVerificationsSucceed,
  kVerificationFailing,
  kNone,
  kStrangeInput,
  kWritten,
  kSinkFailing,
  kConverged,
  kOscillating,
  kOutsideWindow,
  kBlackout,
  kGateHolds,
  kGateUnanswered,
  kFreshSamples,
  kSamplesMissing,
  kSourceFailing,
  kBetterThanNaive,
  kWorseThanNaive,
  kTooLittleHistory,
  kAdvised,
  kInsufficientHistory,
  kTaintsWritten,
  kRoundRunning,
  kMaxRounds,
  kNotSettled,
};
inline constexpr Reason kLastReason = Reason::kNotSettled;

std::string_view to_string(Reason reason);
std::optional<Reason> parse_reason(std::string_view name);
std::span<const Term<Reason>> reasons();

inline bool operator==(std::string_view text, Reason reason) { return text == to_string(reason); }

}  // namespace api
