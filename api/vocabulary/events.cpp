#include "api/vocabulary/events.hpp"

#include <cstdlib>

namespace api {
namespace {

constexpr std::string_view kOnEvacuation = "Evacuation";
constexpr std::string_view kOnBoth = "Evacuation and pod";
constexpr std::string_view kOnPolicy = "DeschedulerPolicy";
constexpr std::string_view kSeeConditions =
    "`kubectl describe evac NAME -n NAMESPACE`: the conditions show what it waits for.";

constexpr auto kEventReasons = [] {
  using enum EventReason;
  return std::to_array<Term<EventReason>>({
      {kAccepted, "Accepted", kOnEvacuation, "The request is valid and waits for a slot."},
      {kSlotAcquired, "SlotAcquired", kOnBoth,
       "An attempt starts, or holds a slot again. The pod gets this event for the first attempt only."},
      {kSlotReturned, "SlotReturned", kOnEvacuation,
       "The Evacuation made no progress, and its slot was returned. It queues again, or continues without a slot.",
       "The message names the progress that is missing."},
      {kHandoffRequested, "HandoffRequested", kOnEvacuation,
       "The operator asked the pod's owner to prepare or to hand over."},
      {kHandoffAcknowledged, "HandoffAcknowledged", kOnEvacuation, "The pod's owner is working on the request."},
      {kHandoffFailed, "HandoffFailed", kOnEvacuation,
       "The pod's owner reported that it cannot hand over, or its request disappeared.",
       "Read the message and the log of the workload's operator."},
      {kReadyToEvict, "ReadyToEvict", kOnEvacuation, "The pod's owner reports that it is safe to evict the pod."},
      {kReadyRevoked, "ReadyRevoked", kOnEvacuation,
       "The pod's owner withdrew its confirmation that the pod is safe to evict. Evacuator waits again.",
       "If this event repeats, read the log of the workload's operator."},
      {kEvictionRequested, "EvictionRequested", kOnEvacuation,
       "The operator requested the eviction. The token in the message is also in the API server's audit log."},
      {kEvictionBlocked, "EvictionBlocked", kOnEvacuation,
       "The eviction is not possible now. The message begins with the reason (see the condition Progressing).",
       "Look up that reason in the table of condition reasons."},
      {kEvictionAccepted, "EvictionAccepted", kOnEvacuation,
       "The pod's owner accepted the eviction and moves the pod in the background."},
      {kEvictionGranted, "EvictionGranted", kOnEvacuation,
       "The eviction is granted. From now on it cannot be rolled back."},
      {kMigrationFailed, "MigrationFailed", kOnEvacuation, "An attempt of the pod's owner failed. The owner retries.",
       "If the event repeats, check the owner's own objects, for example `kubectl get vmim -n NAMESPACE`."},
      {kHeartbeatLost, "HeartbeatLost", kOnEvacuation, "The pod's owner no longer sends heartbeats.",
       "Check that the workload's operator runs, and read its log."},
      {kTimedOut, "TimedOut", kOnEvacuation,
       "A timeout of `spec.timeouts` expired. The message names the timeout and what the Evacuation waited for.",
       "Remove what blocked it, or raise the timeout. `spec.onTimeout` determines the next step."},
      {kCancelRequested, "CancelRequested", kOnEvacuation,
       "The cancellation is in effect: the attempt is rolled back."},
      {kCancelRefused, "CancelRefused", kOnEvacuation, "The cancellation came too late: the pod is already leaving.",
       "No action is needed: the Evacuation completes."},
      {kRollbackCompleted, "RollbackCompleted", kOnEvacuation, "The attempt is rolled back completely."},
      {kRollbackIncomplete, "RollbackIncomplete", kOnEvacuation,
       "The attempt could not be rolled back completely. The rollback is not retried.",
       "Read the message. Check the pod's annotations and the log of the workload's operator."},
      {kReplacementReady, "ReplacementReady", kOnEvacuation,
       "A replacement is Ready. The message names it and its node."},
      {kWriteRefused, "WriteRefused", kOnBoth,
       "The API server rejects the status of the Evacuation: the stored object does not match the schema, for example "
       "because it was created under an older CRD. Its pod is not moved.",
       "The message names the field. Correct the Evacuation, or delete it: `kubectl delete evac NAME -n NAMESPACE`."},
      {kPreparing, "Preparing", kOnEvacuation, "The phase Preparing starts."},
      {kInProgress, "InProgress", kOnEvacuation, "The pod's owner is working on the request."},
      {kEvicting, "Evicting", kOnEvacuation, "The pod is about to terminate."},
      {kVerifying, "Verifying", kOnEvacuation, "The pod has left its node. The Evacuation waits for its replacement."},
      {kAborting, "Aborting", kOnEvacuation, "The attempt ended and is rolled back. The message contains the reason.",
       kSeeConditions},
      {kBackoff, "Backoff", kOnEvacuation,
       "The attempt ended, and the next attempt starts after a delay. The message contains the reason.",
       kSeeConditions},
      {kEvicted, "Evicted", kOnBoth, "Complete: the pod left because the operator evicted it."},
      {kMigrated, "Migrated", kOnBoth, "Complete: the workload moved to another node without interruption."},
      {kMovedByOwner, "MovedByOwner", kOnBoth, "The pod's owner moves the pod, or has moved it."},
      {kGoneExternally, "GoneExternally", kOnBoth, "The pod leaves, or has left, but the operator did not evict it.",
       "If this is unexpected, find out in the API server's audit log who deleted the pod."},
      {kDryRun, "DryRun", kOnBoth, "Complete: the dry run found that the eviction would be granted now."},
      {kUserCancelled, "UserCancelled", kOnBoth, "Complete: `spec.cancel` was set."},
      {kPolicyDeleted, "PolicyDeleted", kOnBoth, "Complete: the policy that created the Evacuation was deleted."},
      {kDecisionExpired, "DecisionExpired", kOnBoth,
       "Complete: the Evacuation got no slot within `timeouts.decisionTTL`, or the nodes that its plan relied on no "
       "longer have free capacity.",
       "`kubectl get evac -A -o wide` lists what holds the slots. The policy plans again in its next cycle."},
      {kTargetGone, "TargetGone", kOnBoth, "Complete: the pod left before the operator requested anything."},
      {kObjectDeleted, "ObjectDeleted", kOnBoth, "Complete: the Evacuation was deleted."},
      {kFailed, "Failed", kOnBoth,
       "Complete: the Evacuation failed. The message begins with the reason of the condition Complete.",
       "Look up that reason in the table of condition reasons."},
      {kEvacuationsCreated, "EvacuationsCreated", kOnPolicy, "A cycle of the policy created Evacuations."},
      {kInvalidSpec, "InvalidSpec", kOnPolicy, "The policy is invalid and not in effect.",
       "The message names every wrong field. Check a file before you apply it: `evacuator validate FILE`."},
      {kCircuitOpened, "CircuitOpened", kOnPolicy, "The circuit breaker opened: the policy moves no more pods.",
       "Find out why the newest Evacuation left no Ready replacement. Then run the command in the message."},
      {kAuditLogFailing, "AuditLogFailing", "Lease of the operator",
       "The operator cannot write its audit log. The message contains the error.",
       "Repair the sink: disk full, volume lost, or wrong permissions. See `docs/audit.md`."},
      {kAuditLogRecovered, "AuditLogRecovered", "Lease of the operator", "The operator can write the audit log again."},
      {kAnotherOperator, "AnotherOperator", "Lease of the operator",
       "Another installation of Evacuator serves the cluster. This installation is inactive.",
       "Uninstall one of the two installations. The message names the other one. See `docs/upgrade.md`."},
      {kClusterClaimed, "ClusterClaimed", "Lease of the operator",
       "The other installation is gone. This installation serves the cluster now."},
  });
}();
static_assert(is_complete(kEventReasons, kLastEventReason));

}  // namespace

std::string_view to_string(EventKind kind) {
  switch (kind) {
    case EventKind::kNormal: return "Normal";
    case EventKind::kWarning: return "Warning";
  }
  std::abort();
}

std::string_view to_string(EventReason reason) { return term_name(kEventReasons, reason); }
std::optional<EventReason> parse_event_reason(std::string_view name) { return term_value(kEventReasons, name); }
std::span<const Term<EventReason>> event_reasons() { return kEventReasons; }

}  // namespace api
