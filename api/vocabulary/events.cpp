#include "api/vocabulary/events.hpp"

#include <cstdlib>

namespace api {
namespace {

constexpr std::string_view kOnEvacuation = "Evacuation";
constexpr std::string_view kOnBoth = "Evacuation and pod";
constexpr std::string_view kOnPolicy = "DeschedulerPolicy";
constexpr std::string_view kSeeConditions =
    "`kubectl describe evac NAME -n NAMESPACE`: its conditions say what it waits for.";

constexpr std::array kEventReasons = {
    Term<EventReason>{EventReason::kAccepted, "Accepted", kOnEvacuation, "The request is valid and waits for a slot.",
                      ""},
    Term<EventReason>{EventReason::kSlotAcquired, "SlotAcquired", kOnBoth,
                      "An attempt begins, or has a slot again. On the pod it is told for the first attempt only.", ""},
    Term<EventReason>{
        EventReason::kSlotReturned, "SlotReturned", kOnEvacuation,
        "It made no progress, and its slot was given to others. It queues again, or goes on without a slot.",
        "The message says what did not happen."},
    Term<EventReason>{EventReason::kHandoffRequested, "HandoffRequested", kOnEvacuation,
                      "The pod's owner is asked to prepare or to hand over.", ""},
    Term<EventReason>{EventReason::kHandoffAcknowledged, "HandoffAcknowledged", kOnEvacuation,
                      "The pod's owner is at work.", ""},
    Term<EventReason>{EventReason::kHandoffFailed, "HandoffFailed", kOnEvacuation,
                      "The pod's owner reported that it cannot hand over, or its request vanished.",
                      "Read the message and the log of the workload's operator."},
    Term<EventReason>{EventReason::kReadyToEvict, "ReadyToEvict", kOnEvacuation,
                      "The pod's owner says that it is safe to evict.", ""},
    Term<EventReason>{EventReason::kReadyRevoked, "ReadyRevoked", kOnEvacuation,
                      "The pod's owner took back its word that it is safe to evict. Evacuator waits again.",
                      "If it happens again and again: read the log of the workload's operator."},
    Term<EventReason>{EventReason::kEvictionRequested, "EvictionRequested", kOnEvacuation,
                      "The eviction is asked for. The token in the message is also in the API server's audit log.", ""},
    Term<EventReason>{
        EventReason::kEvictionBlocked, "EvictionBlocked", kOnEvacuation,
        "The eviction cannot be had now. The message begins with the reason (see the condition Progressing).",
        "Look up that reason in the table of condition reasons."},
    Term<EventReason>{EventReason::kEvictionAccepted, "EvictionAccepted", kOnEvacuation,
                      "The pod's owner took the eviction over and moves the pod in the background.", ""},
    Term<EventReason>{EventReason::kEvictionGranted, "EvictionGranted", kOnEvacuation,
                      "The eviction is granted. There is no way back from here.", ""},
    Term<EventReason>{
        EventReason::kMigrationFailed, "MigrationFailed", kOnEvacuation,
        "A try of the remote side failed. The remote side tries again by itself.",
        "If it stays so: look at the remote side's own objects, such as `kubectl get vmim -n NAMESPACE`."},
    Term<EventReason>{EventReason::kHeartbeatLost, "HeartbeatLost", kOnEvacuation,
                      "The pod's owner shows no life any more.",
                      "Check that the workload's operator runs, and read its log."},
    Term<EventReason>{EventReason::kTimedOut, "TimedOut", kOnEvacuation,
                      "A timeout of `spec.timeouts` is over. The message says which, and what it waited for.",
                      "Remove what held it up, or raise the timeout. `spec.onTimeout` decides what follows."},
    Term<EventReason>{EventReason::kCancelRequested, "CancelRequested", kOnEvacuation,
                      "A cancel takes effect: what was started is taken back.", ""},
    Term<EventReason>{EventReason::kCancelRefused, "CancelRefused", kOnEvacuation,
                      "The cancel came too late: the pod is already leaving.", "Nothing to do: wait for its end."},
    Term<EventReason>{EventReason::kRollbackCompleted, "RollbackCompleted", kOnEvacuation,
                      "Nothing of the attempt is left on the pod.", ""},
    Term<EventReason>{EventReason::kRollbackIncomplete, "RollbackIncomplete", kOnEvacuation,
                      "The attempt could not be taken back completely. It is not tried again.",
                      "Read the message. Check the pod's annotations and the log of the workload's operator."},
    Term<EventReason>{EventReason::kReplacementReady, "ReplacementReady", kOnEvacuation,
                      "A replacement is Ready. The message names it and its node.", ""},
    Term<EventReason>{
        EventReason::kWriteRefused, "WriteRefused", kOnBoth,
        "The API server refuses to store the Evacuation's status: what is stored breaks the schema, such as "
        "an Evacuation made under an older CRD. Nothing is done with its pod.",
        "The message names the field. Correct the Evacuation, or delete it: `kubectl delete evac NAME -n "
        "NAMESPACE`."},
    Term<EventReason>{EventReason::kPreparing, "Preparing", kOnEvacuation, "The phase Preparing begins.", ""},
    Term<EventReason>{EventReason::kInProgress, "InProgress", kOnEvacuation, "The remote side is at work.", ""},
    Term<EventReason>{EventReason::kEvicting, "Evicting", kOnEvacuation, "The pod is about to terminate.", ""},
    Term<EventReason>{EventReason::kVerifying, "Verifying", kOnEvacuation,
                      "The pod has left its node. Its replacement is awaited.", ""},
    Term<EventReason>{EventReason::kAborting, "Aborting", kOnEvacuation,
                      "The attempt has ended, and what it started is taken back. The message says why.",
                      kSeeConditions},
    Term<EventReason>{EventReason::kBackoff, "Backoff", kOnEvacuation,
                      "The attempt has ended, and the next one follows after a delay. The message says why.",
                      kSeeConditions},
    Term<EventReason>{EventReason::kEvicted, "Evicted", kOnBoth, "The end: the pod left by our eviction.", ""},
    Term<EventReason>{EventReason::kMigrated, "Migrated", kOnBoth,
                      "The end: the work moved to another node without a stop.", ""},
    Term<EventReason>{EventReason::kMovedByOwner, "MovedByOwner", kOnBoth,
                      "The pod's owner moves the pod, or has moved it.", ""},
    Term<EventReason>{EventReason::kGoneExternally, "GoneExternally", kOnBoth,
                      "The pod leaves, or has left, but not by our eviction.",
                      "If that is a surprise: ask the API server's audit log who deleted the pod."},
    Term<EventReason>{EventReason::kDryRun, "DryRun", kOnBoth,
                      "The end of a dry run: the eviction would be granted now.", ""},
    Term<EventReason>{EventReason::kUserCancelled, "UserCancelled", kOnBoth, "The end: somebody set `spec.cancel`.",
                      ""},
    Term<EventReason>{EventReason::kPolicyDeleted, "PolicyDeleted", kOnBoth,
                      "The end: the policy that made it was deleted.", ""},
    Term<EventReason>{
        EventReason::kDecisionExpired, "DecisionExpired", kOnBoth,
        "The end: it got no slot within `timeouts.decisionTTL`, or the nodes that its plan counted on are full by now.",
        "`kubectl get evac -A -o wide` shows what holds the slots. A policy decides again in its next cycle."},
    Term<EventReason>{EventReason::kTargetGone, "TargetGone", kOnBoth,
                      "The end: the pod left before anything was asked of anybody.", ""},
    Term<EventReason>{EventReason::kObjectDeleted, "ObjectDeleted", kOnBoth, "The end: the Evacuation was deleted.",
                      ""},
    Term<EventReason>{EventReason::kFailed, "Failed", kOnBoth,
                      "The end: the Evacuation failed. The message begins with the reason of the condition Complete.",
                      "Look up that reason in the table of condition reasons."},
    Term<EventReason>{EventReason::kEvacuationsCreated, "EvacuationsCreated", kOnPolicy,
                      "A cycle of the policy made Evacuations.", ""},
    Term<EventReason>{
        EventReason::kInvalidSpec, "InvalidSpec", kOnPolicy, "The policy is invalid and not in force.",
        "The message names every wrong field. Check a file before you apply it: `evacuator validate FILE`."},
    Term<EventReason>{
        EventReason::kCircuitOpened, "CircuitOpened", kOnPolicy,
        "The circuit breaker opened: the policy moves nothing more.",
        "Find out why the newest Evacuation left no Ready replacement. Then run the command in the message."},
    Term<EventReason>{EventReason::kAuditLogFailing, "AuditLogFailing", "Lease of the operator",
                      "The operator cannot write its audit log. The message has the error.",
                      "Repair the sink: disk full, volume lost, or wrong permissions. See `docs/audit.md`."},
    Term<EventReason>{EventReason::kAuditLogRecovered, "AuditLogRecovered", "Lease of the operator",
                      "The audit log is written again.", ""},
    Term<EventReason>{EventReason::kAnotherOperator, "AnotherOperator", "Lease of the operator",
                      "Another installation of Evacuator serves the cluster. This one does nothing.",
                      "Uninstall one of the two. The message names the other one. See `docs/upgrade.md`."},
    Term<EventReason>{EventReason::kClusterClaimed, "ClusterClaimed", "Lease of the operator",
                      "The other installation is gone. This one serves the cluster now.", ""},
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
