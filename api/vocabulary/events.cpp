#include "api/vocabulary/events.hpp"

#include <cstdlib>

namespace api {
namespace {

constexpr std::string_view kOnEvacuation = "Evacuation";
constexpr std::string_view kOnBoth = "Evacuation and pod";
constexpr std::string_view kOnPolicy = "DeschedulerPolicy";
constexpr std::string_view kSeeConditions =
    "`kubectl describe evac NAME -n NAMESPACE`: the conditions show what it waits for.";

constexpr std::array kEventReasons = {
    Term<EventReason>{EventReason::kAccepted, "Accepted", kOnEvacuation, "The request is valid and waits for a slot.",
                      ""},
    Term<EventReason>{EventReason::kSlotAcquired, "SlotAcquired", kOnBoth,
                      "An attempt starts, or holds a slot again. The pod gets this event for the first attempt only.",
                      ""},
    Term<EventReason>{
        EventReason::kSlotReturned, "SlotReturned", kOnEvacuation,
        "The Evacuation made no progress, and its slot was returned. It queues again, or continues without a slot.",
        "The message names the progress that is missing."},
    Term<EventReason>{EventReason::kHandoffRequested, "HandoffRequested", kOnEvacuation,
                      "The operator asked the pod's owner to prepare or to hand over.", ""},
    Term<EventReason>{EventReason::kHandoffAcknowledged, "HandoffAcknowledged", kOnEvacuation,
                      "The pod's owner is working on the request.", ""},
    Term<EventReason>{EventReason::kHandoffFailed, "HandoffFailed", kOnEvacuation,
                      "The pod's owner reported that it cannot hand over, or its request disappeared.",
                      "Read the message and the log of the workload's operator."},
    Term<EventReason>{EventReason::kReadyToEvict, "ReadyToEvict", kOnEvacuation,
                      "The pod's owner reports that it is safe to evict the pod.", ""},
    Term<EventReason>{EventReason::kReadyRevoked, "ReadyRevoked", kOnEvacuation,
                      "The pod's owner withdrew its confirmation that the pod is safe to evict. Evacuator waits again.",
                      "If this event repeats, read the log of the workload's operator."},
    Term<EventReason>{
        EventReason::kEvictionRequested, "EvictionRequested", kOnEvacuation,
        "The operator requested the eviction. The token in the message is also in the API server's audit log.", ""},
    Term<EventReason>{
        EventReason::kEvictionBlocked, "EvictionBlocked", kOnEvacuation,
        "The eviction is not possible now. The message begins with the reason (see the condition Progressing).",
        "Look up that reason in the table of condition reasons."},
    Term<EventReason>{EventReason::kEvictionAccepted, "EvictionAccepted", kOnEvacuation,
                      "The pod's owner accepted the eviction and moves the pod in the background.", ""},
    Term<EventReason>{EventReason::kEvictionGranted, "EvictionGranted", kOnEvacuation,
                      "The eviction is granted. From now on it cannot be rolled back.", ""},
    Term<EventReason>{
        EventReason::kMigrationFailed, "MigrationFailed", kOnEvacuation,
        "An attempt of the pod's owner failed. The owner retries.",
        "If the event repeats, check the owner's own objects, for example `kubectl get vmim -n NAMESPACE`."},
    Term<EventReason>{EventReason::kHeartbeatLost, "HeartbeatLost", kOnEvacuation,
                      "The pod's owner no longer sends heartbeats.",
                      "Check that the workload's operator runs, and read its log."},
    Term<EventReason>{
        EventReason::kTimedOut, "TimedOut", kOnEvacuation,
        "A timeout of `spec.timeouts` expired. The message names the timeout and what the Evacuation waited for.",
        "Remove what blocked it, or raise the timeout. `spec.onTimeout` determines the next step."},
    Term<EventReason>{EventReason::kCancelRequested, "CancelRequested", kOnEvacuation,
                      "The cancellation is in effect: the attempt is rolled back.", ""},
    Term<EventReason>{EventReason::kCancelRefused, "CancelRefused", kOnEvacuation,
                      "The cancellation came too late: the pod is already leaving.",
                      "No action is needed: the Evacuation completes."},
    Term<EventReason>{EventReason::kRollbackCompleted, "RollbackCompleted", kOnEvacuation,
                      "The attempt is rolled back completely.", ""},
    Term<EventReason>{EventReason::kRollbackIncomplete, "RollbackIncomplete", kOnEvacuation,
                      "The attempt could not be rolled back completely. The rollback is not retried.",
                      "Read the message. Check the pod's annotations and the log of the workload's operator."},
    Term<EventReason>{EventReason::kReplacementReady, "ReplacementReady", kOnEvacuation,
                      "A replacement is Ready. The message names it and its node.", ""},
    Term<EventReason>{EventReason::kWriteRefused, "WriteRefused", kOnBoth,
                      "The API server rejects the status of the Evacuation: the stored object does not match the "
                      "schema, for example because it was created under an older CRD. Its pod is not moved.",
                      "The message names the field. Correct the Evacuation, or delete it: `kubectl delete evac NAME -n "
                      "NAMESPACE`."},
    Term<EventReason>{EventReason::kPreparing, "Preparing", kOnEvacuation, "The phase Preparing starts.", ""},
    Term<EventReason>{EventReason::kInProgress, "InProgress", kOnEvacuation,
                      "The pod's owner is working on the request.", ""},
    Term<EventReason>{EventReason::kEvicting, "Evicting", kOnEvacuation, "The pod is about to terminate.", ""},
    Term<EventReason>{EventReason::kVerifying, "Verifying", kOnEvacuation,
                      "The pod has left its node. The Evacuation waits for its replacement.", ""},
    Term<EventReason>{EventReason::kAborting, "Aborting", kOnEvacuation,
                      "The attempt ended and is rolled back. The message contains the reason.", kSeeConditions},
    Term<EventReason>{EventReason::kBackoff, "Backoff", kOnEvacuation,
                      "The attempt ended, and the next attempt starts after a delay. The message contains the reason.",
                      kSeeConditions},
    Term<EventReason>{EventReason::kEvicted, "Evicted", kOnBoth,
                      "Complete: the pod left because the operator evicted it.", ""},
    Term<EventReason>{EventReason::kMigrated, "Migrated", kOnBoth,
                      "Complete: the workload moved to another node without interruption.", ""},
    Term<EventReason>{EventReason::kMovedByOwner, "MovedByOwner", kOnBoth,
                      "The pod's owner moves the pod, or has moved it.", ""},
    Term<EventReason>{EventReason::kGoneExternally, "GoneExternally", kOnBoth,
                      "The pod leaves, or has left, but the operator did not evict it.",
                      "If this is unexpected, find out in the API server's audit log who deleted the pod."},
    Term<EventReason>{EventReason::kDryRun, "DryRun", kOnBoth,
                      "Complete: the dry run found that the eviction would be granted now.", ""},
    Term<EventReason>{EventReason::kUserCancelled, "UserCancelled", kOnBoth, "Complete: `spec.cancel` was set.", ""},
    Term<EventReason>{EventReason::kPolicyDeleted, "PolicyDeleted", kOnBoth,
                      "Complete: the policy that created the Evacuation was deleted.", ""},
    Term<EventReason>{
        EventReason::kDecisionExpired, "DecisionExpired", kOnBoth,
        "Complete: the Evacuation got no slot within `timeouts.decisionTTL`, or the nodes that its plan relied on no "
        "longer have free capacity.",
        "`kubectl get evac -A -o wide` lists what holds the slots. The policy plans again in its next cycle."},
    Term<EventReason>{EventReason::kTargetGone, "TargetGone", kOnBoth,
                      "Complete: the pod left before the operator requested anything.", ""},
    Term<EventReason>{EventReason::kObjectDeleted, "ObjectDeleted", kOnBoth, "Complete: the Evacuation was deleted.",
                      ""},
    Term<EventReason>{EventReason::kFailed, "Failed", kOnBoth,
                      "Complete: the Evacuation failed. The message begins with the reason of the condition Complete.",
                      "Look up that reason in the table of condition reasons."},
    Term<EventReason>{EventReason::kEvacuationsCreated, "EvacuationsCreated", kOnPolicy,
                      "A cycle of the policy created Evacuations.", ""},
    Term<EventReason>{
        EventReason::kInvalidSpec, "InvalidSpec", kOnPolicy, "The policy is invalid and not in effect.",
        "The message names every wrong field. Check a file before you apply it: `evacuator validate FILE`."},
    Term<EventReason>{
        EventReason::kCircuitOpened, "CircuitOpened", kOnPolicy,
        "The circuit breaker opened: the policy moves no more pods.",
        "Find out why the newest Evacuation left no Ready replacement. Then run the command in the message."},
    Term<EventReason>{EventReason::kAuditLogFailing, "AuditLogFailing", "Lease of the operator",
                      "The operator cannot write its audit log. The message contains the error.",
                      "Repair the sink: disk full, volume lost, or wrong permissions. See `docs/audit.md`."},
    Term<EventReason>{EventReason::kAuditLogRecovered, "AuditLogRecovered", "Lease of the operator",
                      "The operator can write the audit log again.", ""},
    Term<EventReason>{
        EventReason::kAnotherOperator, "AnotherOperator", "Lease of the operator",
        "Another installation of Evacuator serves the cluster. This installation is inactive.",
        "Uninstall one of the two installations. The message names the other one. See `docs/upgrade.md`."},
    Term<EventReason>{EventReason::kClusterClaimed, "ClusterClaimed", "Lease of the operator",
                      "The other installation is gone. This installation serves the cluster now.", ""},
};
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
