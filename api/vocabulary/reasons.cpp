#include "api/vocabulary/reasons.hpp"

namespace api {
namespace {

constexpr std::string_view kSeeLimits =
    "Wait, or list what holds the slots: `kubectl get evac -A -o wide`. Raise the limit in the operator's "
    "configuration or in `spec.limits` of the policy.";
constexpr std::string_view kSeeBudget =
    "`kubectl describe pdb -n NAMESPACE`. Make the workload's pods Ready, or run more replicas than the budget "
    "requires.";
constexpr std::string_view kSeeOwner =
    "Read the message and the log of the workload's operator. If the work only takes longer, raise the timeout in "
    "`spec.timeouts`.";

constexpr std::array kReasons = {
    // --- before an attempt
    Term<Reason>{Reason::kSigned, "Signed", "`OriginVerified`=True", "The operator created and signed this Evacuation.",
                 ""},
    Term<Reason>{
        Reason::kNotSigned, "NotSigned", "`OriginVerified`=False",
        "The Evacuation has no signature of the operator, or the signature of another object. It is treated as manual: "
        "its `spec.source` is displayed, but the limits, hooks and circuit breaker of policies do not apply.",
        ""},
    Term<Reason>{Reason::kValid, "Valid", "`Accepted`=True, policy `Ready`=True", "The spec is valid.", ""},
    Term<Reason>{Reason::kExcludedByPolicy, "ExcludedByPolicy", "`Accepted`=False",
                 "The pod can never be moved: it is a static pod or a DaemonSet's pod.",
                 "No action is needed. Delete the Evacuation."},
    Term<Reason>{Reason::kPodNotFound, "PodNotFound", "`Accepted`=False",
                 "The pod does not exist, or has already left.",
                 "`kubectl get pod NAME -n NAMESPACE`. Check `spec.podRef.name` and the namespace."},
    Term<Reason>{Reason::kUIDMismatch, "UIDMismatch", "`Accepted`=False",
                 "The requested pod is gone. Another pod has its name now, and that pod is not moved.",
                 "To move the new pod as well, create another Evacuation."},
    Term<Reason>{Reason::kAcquired, "Acquired", "`SlotAcquired`=True",
                 "All limits allow the Evacuation: the attempt has started.", ""},
    Term<Reason>{Reason::kSlotAcquired, "SlotAcquired", "status of `Preparing`",
                 "The attempt has started: an evictor is selected, and `pre` hooks run.", ""},
    Term<Reason>{
        Reason::kCapacityReserved, "CapacityReserved", "`SlotAcquired`=True",
        "The attempt has started, and capacity for a second pod is reserved on the node in `status.targetNode`.", ""},
    Term<Reason>{Reason::kReleased, "Released", "`SlotAcquired`=False",
                 "The attempt has ended and has returned its slot.", ""},
    Term<Reason>{Reason::kPaused, "Paused", "`SlotAcquired`=False",
                 "The Evacuation waits for approval: `spec.suspend` is true.",
                 "`kubectl evacuator approve pod/NAME -n NAMESPACE`, or `kubectl evacuator cancel pod/NAME -n "
                 "NAMESPACE`."},
    Term<Reason>{Reason::kWaitingCapacity, "WaitingCapacity", "`SlotAcquired`=False",
                 "The pod temporarily needs a second pod, and no node has free capacity for it.",
                 "Read the message in `status.blockedBy`: it contains the numbers. Free capacity or add a node."},
    Term<Reason>{
        Reason::kWaitingForGroup, "WaitingForGroup", "`SlotAcquired`=False",
        "The pods of its PodGroup leave together, and the PodGroup cannot start as a whole yet.",
        "Read the message: it names the missing members, or the budget that is too small for the whole PodGroup."},
    Term<Reason>{Reason::kWaitingTotal, "WaitingTotal", "`SlotAcquired`=False",
                 "The limit `inFlight.total` is reached.", kSeeLimits},
    Term<Reason>{Reason::kWaitingNode, "WaitingNode", "`SlotAcquired`=False",
                 "The limit `inFlight.perNode` is reached for its node.", kSeeLimits},
    Term<Reason>{Reason::kWaitingTargetNode, "WaitingTargetNode", "`SlotAcquired`=False",
                 "The limit `inFlight.perTargetNode` is reached for the predicted node.", kSeeLimits},
    Term<Reason>{Reason::kWaitingNamespace, "WaitingNamespace", "`SlotAcquired`=False",
                 "The limit `inFlight.perNamespace` is reached for its namespace.", kSeeLimits},
    Term<Reason>{Reason::kWaitingWorkload, "WaitingWorkload", "`SlotAcquired`=False",
                 "The limit `inFlight.perWorkload` is reached for its workload.",
                 "Wait. If the limit stays reached, find out why the replacement of another pod does not become Ready: "
                 "`kubectl get evac -n NAMESPACE -o wide`."},
    Term<Reason>{Reason::kWaitingZone, "WaitingZone", "`SlotAcquired`=False",
                 "The limit `inFlight.perZone` is reached for its zone.", kSeeLimits},
    Term<Reason>{Reason::kWaitingRate, "WaitingRate", "`SlotAcquired`=False", "The rate `limits.rate` is reached.",
                 "Wait: the Evacuation starts automatically."},
    Term<Reason>{Reason::kCoolingDown, "CoolingDown", "`SlotAcquired`=False",
                 "The pod, its workload or its virtual machine was evacuated recently (`limits.cooldown`).",
                 "Wait: the message in `status.blockedBy` contains the end of the cooldown."},
    Term<Reason>{Reason::kWaitingAuditLog, "WaitingAuditLog", "`SlotAcquired`=False",
                 "The audit log cannot be written, and no Evacuations are admitted until it can (`audit.onFailure: "
                 "StopAdmissions`).",
                 "Read the message in `status.blockedBy` and repair the sink."},
    // --- PodGroup
    Term<Reason>{
        Reason::kNoProgress, "NoProgress",
        "`SlotAcquired`=False; `Complete`=True, phase `Failed`; policy `Converged`=False; `status.rounds.reason`",
        "An Evacuation: it held its slot too long without progress while others waited. The slot was returned, and the "
        "Evacuation queues again; if this was the last attempt, it failed. A policy: `spec.convergence.patience` "
        "cycles moved pods without improvement, or a round of AlternatingUtilization gained too little, and the "
        "strategy stops.",
        "The message names the progress that is missing. An Evacuation: remove what blocks it, or cancel it. A policy: "
        "the usual causes are pods that may not move, or one pod that fills a node; change the spec to start the "
        "strategy again."},
    Term<Reason>{Reason::kPrepared, "Prepared", "`GroupReady`=True, status of `Requesting`",
                 "The preparation is complete. In a PodGroup: the pod is ready and waits for the other members.",
                 "If the status persists, the message names the members that are not ready."},
    Term<Reason>{Reason::kLeaving, "Leaving", "`GroupReady`=True",
                 "All members of the PodGroup were ready. From now on the PodGroup cannot be rolled back.", ""},
    Term<Reason>{Reason::kMemberStays, "MemberStays", "`GroupReady`=False",
                 "Another pod of the PodGroup cannot leave, so this pod stays as well.",
                 "Check the Evacuation of the pod that the message names."},
    // --- work of the pod's owner
    Term<Reason>{Reason::kNotApplicable, "NotApplicable", "`HandoffAcknowledged`=False",
                 "This evictor needs no acknowledgement.", ""},
    Term<Reason>{Reason::kAwaitingAcknowledgement, "AwaitingAcknowledgement", "`HandoffAcknowledged`=False",
                 "The operator has requested the handoff, or will request it. The pod's owner must acknowledge it "
                 "within `timeouts.acknowledge`.",
                 "If the status persists, check that the workload's operator runs and supports the handoff."},
    Term<Reason>{Reason::kAcknowledged, "Acknowledged", "`HandoffAcknowledged`=True",
                 "The pod's owner is working on the request.", ""},
    Term<Reason>{Reason::kHandoffRequested, "HandoffRequested", "status of `InProgress`",
                 "The operator asked the pod's owner to hand over.", ""},
    Term<Reason>{
        Reason::kWaiting, "Waiting", "`Progressing`, `ReplacementReady`=False, `PostCompleted`=Unknown",
        "The Evacuation waits for what the message names: the pod's owner, a replacement, or the owner's work after "
        "the move.",
        "Check the object that the message names. `status.deadline` is the time at which the phase times out."},
    Term<Reason>{Reason::kHeartbeat, "Heartbeat", "`Progressing`=True",
                 "The pod's owner sends heartbeats. The message is from the owner.", ""},
    Term<Reason>{Reason::kReady, "Ready", "`ReadyToEvict`=True, `ReplacementReady`=True",
                 "The owner reports that the pod may be evicted, or the replacement is Ready on another node.", ""},
    Term<Reason>{Reason::kReadyToEvict, "ReadyToEvict", "status of `Requesting`",
                 "The owner has finished its part: the operator evicts the pod now.", ""},
    Term<Reason>{Reason::kRevoked, "Revoked", "`ReadyToEvict`=False, status of `InProgress`",
                 "The owner withdrew its confirmation that the pod may be evicted. Evacuator waits for it again.",
                 "If the status persists, read the log of the workload's operator."},
    // --- eviction call
    Term<Reason>{Reason::kGranted, "Granted", "`EvictionGranted`=True", "The API server granted the eviction.", ""},
    Term<Reason>{Reason::kEvictionGranted, "EvictionGranted", "status of `Evicting`",
                 "The API server granted the eviction, and the pod is about to terminate.", ""},
    Term<Reason>{Reason::kEvictionAccepted, "EvictionAccepted", "status of `InProgress`",
                 "The pod's owner (such as KubeVirt) accepted the eviction and moves the workload in the background.",
                 ""},
    Term<Reason>{Reason::kOwnerDeleted, "OwnerDeleted", "`EvictionGranted`=True", "The pod's owner deleted the pod.",
                 ""},
    Term<Reason>{Reason::kRequestFound, "RequestFound", "status of `InProgress`",
                 "The response to a request was lost, and the request turned out to be in effect.", ""},
    Term<Reason>{Reason::kAlreadyInProgress, "AlreadyInProgress", "status of `InProgress`",
                 "The pod's owner started before the operator requested it.", ""},
    Term<Reason>{
        Reason::kGrantedWithoutDelete, "GrantedWithoutDelete", "status of `Requesting`",
        "The eviction was granted, but the pod did not start to terminate. The operator requests the eviction again.",
        "Find the webhook or proxy that responds to evictions instead of the API server."},
    // --- blocked
    Term<Reason>{Reason::kPDBBlocked, "PDBBlocked",
                 "`Progressing`=False, `EvictionGranted`=False, status of `Requesting`",
                 "A PodDisruptionBudget allows no disruption now. The message contains its numbers.", kSeeBudget},
    Term<Reason>{Reason::kPDBNeverAllows, "PDBNeverAllows", "`Progressing`=False, status of `Requesting`",
                 "The PodDisruptionBudget never allows a disruption with its current settings.",
                 "The message contains the fix: lower `minAvailable`, raise `maxUnavailable`, or add replicas."},
    Term<Reason>{Reason::kMultiPDB, "MultiPDB", "`Progressing`=False, status of `Requesting`",
                 "More than one PodDisruptionBudget covers the pod. In this case Kubernetes refuses every eviction.",
                 "`kubectl get pdb -n NAMESPACE`. Change the selectors so that exactly one budget covers the pod."},
    Term<Reason>{
        Reason::kPDBBroken, "PDBBroken", "`Progressing`=False, status of `Requesting`",
        "The status of the PodDisruptionBudget is invalid (a negative number of allowed disruptions, or too many "
        "disrupted pods).",
        "`kubectl get pdb NAME -n NAMESPACE -o yaml`. If the status stays invalid, delete and recreate the budget."},
    Term<Reason>{Reason::kThrottled, "Throttled", "`Progressing`=False, status of `Requesting`",
                 "The API server is overloaded and asked the operator to retry later.",
                 "Wait. If the condition persists, check the API server's load."},
    Term<Reason>{Reason::kWebhookDown, "WebhookDown", "`Progressing`=False, status of `Requesting`",
                 "A required admission webhook, hook or service did not respond.",
                 "The message names it. Check its pods and its service."},
    Term<Reason>{Reason::kRefusedByWebhook, "RefusedByWebhook", "`Progressing`=False, status of `Requesting`",
                 "An admission webhook refused the eviction with a message that Evacuator does not recognize.",
                 "Read the message: it is from the webhook. Contact the team that runs the webhook."},
    Term<Reason>{Reason::kRetryLater, "RetryLater",
                 "`Progressing`=False, status of `Requesting`; policy `SoftTaints`=False",
                 "The eviction, or the write of a node's taints, was refused for a temporary reason.", "Wait."},
    Term<Reason>{Reason::kNamespaceTerminating, "NamespaceTerminating", "`Progressing`=False, status of `Requesting`",
                 "The namespace is being deleted, and the API server accepts no evictions in it.",
                 "No action is needed: the pod is deleted with its namespace."},
    Term<Reason>{Reason::kUnauthorized, "Unauthorized", "`Progressing`=False, status of `Requesting`",
                 "The API server does not accept the operator's credentials (401). The operator reloads them.",
                 "If the condition persists, check the operator's ServiceAccount token or kubeconfig."},
    Term<Reason>{Reason::kConflict, "Conflict", "`Progressing`=False, status of `Requesting`",
                 "The pod changed after the operator read it and before it requested the eviction. The operator reads "
                 "the pod again.",
                 ""},
    Term<Reason>{Reason::kGoneMaybe, "GoneMaybe", "`Progressing`=False, status of `Requesting`",
                 "The API server responded that the pod does not exist (404). Evacuator reads the pod to verify this.",
                 "If the condition persists while the pod exists, find the webhook or proxy that responds with 404."},
    Term<Reason>{Reason::kOutcomeUnknown, "OutcomeUnknown",
                 "`Progressing`=False, `EvictionGranted`=Unknown, status of `Requesting`",
                 "The response was lost or is not valid. Evacuator reads the pod and repeats the request.",
                 "If the condition persists, check the network between the operator and the API server. The message "
                 "contains the last error."},
    // --- the pod leaves
    Term<Reason>{Reason::kStillPresent, "StillPresent", "`TargetGone`=False", "The pod is terminating.", ""},
    Term<Reason>{Reason::kTerminating, "Terminating", "`Progressing`=True", "The pod is terminating.", ""},
    Term<Reason>{
        Reason::kTerminationStuck, "TerminationStuck", "`TargetGone`=False",
        "The pod does not terminate: finalizers block it, or its kubelet does not respond. Evacuator never "
        "force-deletes a pod.",
        "`kubectl get pod NAME -n NAMESPACE -o yaml` for its finalizers; `kubectl get node NODE` for its node."},
    Term<Reason>{Reason::kPodDeleted, "PodDeleted", "`TargetGone`=True", "The pod is gone.", ""},
    Term<Reason>{Reason::kUIDChanged, "UIDChanged", "`TargetGone`=True",
                 "The pod is gone, and a new pod has its name. The new pod is not moved.", ""},
    Term<Reason>{Reason::kPodTerminal, "PodTerminal", "`TargetGone`=True", "The pod has ended (Succeeded or Failed).",
                 ""},
    Term<Reason>{Reason::kPodTerminating, "PodTerminating", "`TargetGone`=True",
                 "The pod was terminating before the operator requested anything.", ""},
    Term<Reason>{Reason::kAwaitingReplacement, "AwaitingReplacement", "`Progressing`=True",
                 "The pod has left. The Evacuation waits for its replacement.", ""},
    Term<Reason>{Reason::kHintTaken, "HintTaken", "`PlacementHinted`=True",
                 "The placement webhook assigned the new pod that the message names to the node of `spec.placement`.",
                 ""},
    Term<Reason>{
        Reason::kHintUnused, "HintUnused", "`PlacementHinted`=False",
        "The Evacuation has ended, and no new pod was assigned to the node of `spec.placement`: no new pod was created "
        "in time, the node was cordoned or not Ready, or the placement webhook was not called. The scheduler selected "
        "a node as usual.",
        "Check `kubectl get mutatingwebhookconfiguration evacuator-placement -o yaml` and the log of the operator."},
    Term<Reason>{Reason::kNotExpected, "NotExpected", "`ReplacementReady`=True",
                 "No replacement is expected. The message contains the reason.", ""},
    Term<Reason>{Reason::kSameNode, "SameNode", "`ReplacementReady`=False",
                 "The replacement runs on the node that the pod left, or on another node that the same plan empties.",
                 "Cordon the node, or check the workload's affinity: the scheduler sees no better node."},
    // --- cancel and rollback
    Term<Reason>{Reason::kPointOfNoReturn, "PointOfNoReturn", "`CancelAccepted`=False",
                 "The cancellation came too late: the pod is already leaving.",
                 "No action is needed: the Evacuation ends as Succeeded or Failed."},
    Term<Reason>{Reason::kCancelAccepted, "Accepted", "`CancelAccepted`=True", "The cancellation is in effect.", ""},
    Term<Reason>{Reason::kRollbackRunning, "InProgress", "`RollbackComplete`=False",
                 "The attempt is being rolled back.", "Wait: `timeouts.abort` is the maximum duration."},
    Term<Reason>{Reason::kComplete, "Complete", "`RollbackComplete`=True", "Everything is rolled back.", ""},
    Term<Reason>{Reason::kNothingToDo, "NothingToDo", "`RollbackComplete`=True", "There was nothing to roll back.", ""},
    Term<Reason>{Reason::kOtherRequestersRemain, "OtherRequestersRemain", "`RollbackComplete`=True",
                 "The operator's part is rolled back. Another requester still wants the pod to leave, and that request "
                 "continues.",
                 "List the requesters: `kubectl get evictionrequests -n NAMESPACE -o yaml`."},
    Term<Reason>{Reason::kRemoteMarkRemains, "RemoteMarkRemains", "`RollbackComplete`=False",
                 "The rollback is incomplete: the owner does not support stopping, or the undo hook failed.",
                 "`kubectl describe pod NAME -n NAMESPACE`. Check the annotations and the workload manually."},
    Term<Reason>{Reason::kAbortTimeout, "AbortTimeout", "`RollbackComplete`=False",
                 "The rollback of the attempt was not confirmed within `timeouts.abort`.",
                 "Read the message. Check the pod's annotations and the log of the workload's operator."},
    Term<Reason>{Reason::kTimedOut, "TimedOut", "`GroupReady`=False",
                 "Not all members of the PodGroup were ready within `timeouts.prepare`.",
                 "The message names the member. Check its Evacuation, or raise `spec.timeouts.prepareSeconds`."},
    // --- Succeeded
    Term<Reason>{Reason::kEvicted, "Evicted", "`Complete`=True, phase `Succeeded`",
                 "The pod left because the operator evicted it.", ""},
    Term<Reason>{Reason::kMigrated, "Migrated", "`Complete`=True, phase `Succeeded`; `ReplacementReady`=True",
                 "The workload moved to another node without interruption (live migration).", ""},
    Term<Reason>{Reason::kMovedByOwner, "MovedByOwner", "`Complete`=True, phase `Succeeded`",
                 "The pod's owner moved it.", ""},
    Term<Reason>{Reason::kGoneExternally, "GoneExternally", "`Complete`=True, phase `Succeeded`",
                 "The pod left during the attempt, but the operator did not evict it.",
                 "If this is unexpected, find out in the API server's audit log who deleted the pod."},
    Term<Reason>{Reason::kDryRun, "DryRun", "`Complete`=True, phase `Succeeded`",
                 "The dry run found that the eviction would be granted now. Nothing was moved.", ""},
    // --- Cancelled
    Term<Reason>{Reason::kUserCancelled, "UserCancelled", "`Complete`=True, phase `Cancelled`",
                 "`spec.cancel` was set. The attempt is rolled back.", ""},
    Term<Reason>{Reason::kPolicyDeleted, "PolicyDeleted", "`Complete`=True, phase `Cancelled`",
                 "The policy that created the Evacuation was deleted.", ""},
    Term<Reason>{Reason::kDecisionExpired, "DecisionExpired", "`Complete`=True, phase `Cancelled`; `Accepted`=False",
                 "The Evacuation got no slot within `timeouts.decisionTTL`, or the nodes that its plan relied on no "
                 "longer have free capacity. The decision is too old to be executed.",
                 "The policy plans again in its next cycle. If this happens often, the limits are too small: `kubectl "
                 "get evac -A -o wide` lists what other Evacuations wait for."},
    Term<Reason>{Reason::kTargetGone, "TargetGone", "`Complete`=True, phase `Cancelled`",
                 "The pod left before the operator requested anything, or a VM was deleted with its VirtualMachine "
                 "during the move.",
                 ""},
    Term<Reason>{Reason::kObjectDeleted, "ObjectDeleted", "`Complete`=True, phase `Cancelled`",
                 "The Evacuation was deleted, which cancels it.", ""},
    // --- Failed
    Term<Reason>{Reason::kInvalidSpec, "InvalidSpec",
                 "`Complete`=True, phase `Failed`; `Accepted`=False, policy `Ready`=False",
                 "The spec is invalid, or can no longer be read.",
                 "The message names every wrong field. Check a file before you apply it: `evacuator validate FILE`."},
    Term<Reason>{Reason::kSpecChanged, "SpecChanged", "`Complete`=True, phase `Failed`; `OriginVerified`=False",
                 "An immutable field of `spec` was changed after the Evacuation was accepted.",
                 "Create another Evacuation with the required fields."},
    Term<Reason>{Reason::kNotAllowed, "NotAllowed",
                 "`Complete`=True, phase `Failed`; `EvictionGranted`=False; `Accepted`=False",
                 "The Evacuation requests something that is not allowed in its namespace, or for its creator.",
                 "The message names the rule. Contact the administrator of the operator's configuration."},
    Term<Reason>{Reason::kDuplicateRequest, "DuplicateRequest", "`Complete`=True, phase `Failed`",
                 "An older Evacuation already moves this pod. The message names it.",
                 "Check the older Evacuation: `kubectl get evac NAME -n NAMESPACE -o wide`."},
    Term<Reason>{Reason::kNotEvictable, "NotEvictable",
                 "`Complete`=True, phase `Failed`; `EvictionGranted`=False; `Accepted`=False",
                 "No evictor can move this pod, the owner forbids it, its PodGroup of scheduling.k8s.io leaves as a "
                 "whole, or its eviction would lose data: one of its PersistentVolumeClaims is being deleted, is Lost "
                 "or is missing. The message contains the cause.",
                 "Change what the message names, such as `spec.evictors` or the pod's own annotations. Save the data "
                 "of a PersistentVolumeClaim that is being deleted before you delete the pod manually."},
    Term<Reason>{Reason::kForbidden, "Forbidden", "`Complete`=True, phase `Failed`; policy `SoftTaints`=False",
                 "The API server does not allow the operator to make this call (403).",
                 "Grant the operator's ServiceAccount the rules of `config/rbac/operator_role.yaml`. Evictors that "
                 "need more have a role in `config/optional` or `config/surge`; the message names it."},
    Term<Reason>{Reason::kMaxAttempts, "MaxAttempts", "`Complete`=True, phase `Failed`",
                 "All attempts of `spec.retry.maxAttempts` failed.",
                 "`kubectl get evac NAME -n NAMESPACE -o yaml`: `status.history` contains the end of each attempt."},
    Term<Reason>{Reason::kGroupStays, "GroupStays", "`Complete`=True, phase `Failed`",
                 "Another pod of the PodGroup cannot leave, or was not ready in time, so no pod leaves.",
                 "The message names the pod. Check its Evacuation."},
    Term<Reason>{Reason::kAcknowledgeTimeout, "AcknowledgeTimeout",
                 "`Complete`=True, phase `Failed`; `HandoffAcknowledged`=False",
                 "The handoff was not acknowledged within `timeouts.acknowledge`.",
                 "Check that the workload's operator runs, watches this namespace and supports the handoff."},
    Term<Reason>{Reason::kHeartbeatLost, "HeartbeatLost", "`Complete`=True, phase `Failed`; `Progressing`=False",
                 "The pod's owner acknowledged the handoff and then sent no heartbeat for `timeouts.heartbeat`.",
                 "Check that the workload's operator still runs, and read its log."},
    Term<Reason>{Reason::kProgressTimeout, "ProgressTimeout", "`Complete`=True, phase `Failed`",
                 "The attempt took longer than `timeouts.prepare`, `timeouts.queue` or `timeouts.total`.", kSeeOwner},
    Term<Reason>{
        Reason::kBlockedTimeout, "BlockedTimeout", "`Complete`=True, phase `Failed`",
        "The attempt was blocked for longer than `timeouts.blocked`. The message names the cause.",
        "Remove what blocked it: usually a PodDisruptionBudget (`kubectl get pdb -n NAMESPACE`) or a webhook."},
    Term<Reason>{
        Reason::kTerminationTimeout, "TerminationTimeout", "`Complete`=True, phase `Failed`",
        "The pod did not terminate within `timeouts.termination`. It is still terminating, but its slot is returned.",
        "Check the pod's finalizers and its node: `kubectl get pod NAME -n NAMESPACE -o yaml`."},
    Term<Reason>{Reason::kReplacementTimeout, "ReplacementTimeout",
                 "`Complete`=True, phase `Failed`; `ReplacementReady`=False",
                 "The pod left, but no replacement became Ready within `timeouts.verify`.",
                 "`kubectl get pods -n NAMESPACE` and `kubectl describe pod` of the replacement. If it is Pending or "
                 "crashes, fix the cause."},
    Term<Reason>{Reason::kHandoffFailed, "HandoffFailed", "`Complete`=True, phase `Failed`",
                 "The pod's owner reported that it cannot hand over, or its request disappeared.", kSeeOwner},
    Term<Reason>{
        Reason::kMigrationFailed, "MigrationFailed", "`Complete`=True, phase `Failed`",
        "The live migration of the virtual machine failed. The VM still runs on its node. It is not evicted instead.",
        "`kubectl describe vmim -n NAMESPACE`: KubeVirt reports why the migration failed."},
    Term<Reason>{Reason::kNativeFailed, "NativeFailed", "`Complete`=True, phase `Failed`",
                 "The EvictionRequest of the evictor `eviction-request` failed.",
                 "`kubectl get evictionrequests -n NAMESPACE -o yaml`: the conditions contain the cause."},
    // --- DeschedulerPolicy
    Term<Reason>{Reason::kMovesNominated, "MovesNominated", "policy `Converged`=False",
                 "The last cycle found pods that should move.", ""},
    Term<Reason>{Reason::kEvacuationsRunning, "EvacuationsRunning", "policy `Converged`=False",
                 "The last cycle nominated no further pods. Earlier Evacuations are unfinished.", ""},
    Term<Reason>{Reason::kNothingToMove, "NothingToMove", "policy `Converged`=True", "No strategy nominated a pod.",
                 "If you expect moves, `kubectl evacuator explain pod/NAME -n NAMESPACE` reports why a pod stays."},
    Term<Reason>{Reason::kAsExpected, "AsExpected", "policy `Degraded`=False", "The last cycle had no problems.", ""},
    Term<Reason>{Reason::kCycleProblems, "CycleProblems", "policy `Degraded`=True",
                 "The last cycle had problems, such as Evacuations that could not be created or a missing permission.",
                 "The message lists them. Each line contains the fix."},
    Term<Reason>{Reason::kStaleCaches, "StaleCaches", "policy `Degraded`=True",
                 "The cache of a resource kind has received nothing from the API server for too long. The operator "
                 "moves no pods based on stale data.",
                 "The message names the kind. Check the operator's log and its permissions."},
    Term<Reason>{Reason::kSuspendedByUser, "SuspendedByUser", "policy `Suspended`=True",
                 "`spec.suspend` is true: no cycles start. Running Evacuations continue.",
                 "Set `spec.suspend` to false to resume."},
    Term<Reason>{Reason::kActive, "Active", "policy `Suspended`=False", "Cycles run on schedule.", ""},
    Term<Reason>{Reason::kVerificationsSucceed, "VerificationsSucceed", "policy `CircuitOpen`=False",
                 "Replacements become Ready. The message contains the number of consecutive failures.", ""},
    Term<Reason>{
        Reason::kVerificationFailing, "VerificationFailing", "policy `CircuitOpen`=True",
        "Too many consecutive Evacuations left no Ready replacement on another node, or left one on a node that the "
        "same plan empties. No more pods are moved.",
        "Find out why the newest Evacuation failed (the message names it). Then run the command in the message."},
    Term<Reason>{Reason::kNone, "None", "policy `Warnings`=False", "The last cycle found no unusable input.", ""},
    Term<Reason>{Reason::kStrangeInput, "StrangeInput", "policy `Warnings`=True",
                 "The last cycle ignored objects or settings that it could not use.", "The message names them."},
    Term<Reason>{Reason::kWritten, "Written", "policy `AuditLogFailing`=False",
                 "The operator can write the audit log again.", ""},
    Term<Reason>{Reason::kSinkFailing, "SinkFailing", "policy `AuditLogFailing`=True",
                 "The operator cannot write its audit log. The message contains the error.",
                 "Repair the sink: disk full, volume lost, or wrong permissions. See `docs/audit.md`."},
    Term<Reason>{Reason::kConverged, "Converged",
                 "policy `Converged`=True; `status.balance[].state`; `status.rounds.reason`",
                 "The nodes are as balanced as the strategy can make them, or within its thresholds.", ""},
    Term<Reason>{Reason::kOscillating, "Oscillating", "policy `Converged`=False; `status.balance[].state`",
                 "Moves undo earlier moves: the strategy stops until the imbalance changes.",
                 "Use wider thresholds, a longer smoothing window, or more hysteresis."},
    Term<Reason>{Reason::kOutsideWindow, "OutsideWindow", "policy `Suspended`=True",
                 "The current time is outside of `spec.schedule.windows`.",
                 "The message contains the start of the next window."},
    Term<Reason>{Reason::kBlackout, "Blackout", "policy `Suspended`=True",
                 "The current time is inside a blackout window.", "The message contains its end."},
    Term<Reason>{Reason::kGateHolds, "GateHolds", "policy `Suspended`=True",
                 "A gate of the policy holds. No new pods are evacuated.", "The message names the gate and its value."},
    Term<Reason>{Reason::kGateUnanswered, "GateUnanswered", "policy `Suspended`=True",
                 "A gate of the policy did not respond, and its `onError` is Hold.",
                 "The message contains the error. Repair the server, or set `onError: Ignore`."},
    Term<Reason>{
        Reason::kFreshSamples, "FreshSamples", "policy `UsageAvailable`=True",
        "Every usage source has recent samples of enough nodes. The message contains faults of the last responses.",
        ""},
    Term<Reason>{Reason::kSamplesMissing, "SamplesMissing", "policy `UsageAvailable`=False",
                 "More nodes than `maxUnknownPercent` have no usable sample, or lack a resource that the source is "
                 "configured to measure. The source is not used for balancing.",
                 "The message names the source, some nodes and the faults of its last response. `evacuator usage` "
                 "lists all of them."},
    Term<Reason>{
        Reason::kSourceFailing, "SourceFailing", "policy `UsageAvailable`=False",
        "A usage source never returned a usable response, or its samples are too old. The source is not used for "
        "balancing.",
        "The message contains the source and its last response: [usage](concepts/usage.md#when-a-source-is-bad)."},
    Term<Reason>{Reason::kBetterThanNaive, "BetterThanNaive", "policy `ForecastTrusted`=True",
                 "In the back-test the forecast was more accurate than the naive forecasts. The message contains the "
                 "error relative to both naive forecasts.",
                 ""},
    Term<Reason>{Reason::kWorseThanNaive, "WorseThanNaive", "policy `ForecastTrusted`=False",
                 "In the back-test the forecast was not more accurate than the naive forecasts: it is not used.", ""},
    Term<Reason>{Reason::kTooLittleHistory, "TooLittleHistory", "policy `ForecastTrusted`=False",
                 "There is not enough history for a back-test yet: no forecast is used.", ""},
    Term<Reason>{Reason::kAdvised, "Advised", "resourceadvice `Ready`=True",
                 "Every container of the workload has a recommendation.", ""},
    Term<Reason>{Reason::kInsufficientHistory, "InsufficientHistory", "resourceadvice `Ready`=False",
                 "The message contains the first container without a recommendation, the cause, and its samples. Fewer "
                 "than three days of history: no recommendation.",
                 "Wait: [ResourceAdvice](advise/resource-advice.md#what-the-status-says)."},
    Term<Reason>{Reason::kTaintsWritten, "TaintsWritten", "policy `SoftTaints`=True",
                 "The operator writes the soft taints of the policy. The message contains the number of tainted nodes.",
                 ""},
    Term<Reason>{Reason::kRoundRunning, "RoundRunning", "policy `Converged`=False",
                 "AlternatingUtilization is in the middle of a round. The message contains the half of the round and "
                 "what it waits for.",
                 ""},
    Term<Reason>{Reason::kMaxRounds, "MaxRounds", "policy `Converged`=False; `status.rounds.reason`",
                 "AlternatingUtilization has run `maxRounds` rounds. It stops until the nodes or their use change.",
                 "Raise `maxRounds` if the last round still freed nodes."},
    Term<Reason>{Reason::kNotSettled, "NotSettled", "policy `Converged`=False; `status.rounds.reason`",
                 "`settleTimeout` expired while AlternatingUtilization waited for unfinished Evacuations, or for pods "
                 "of moved workloads to get a node. The strategy stops.",
                 "Find out what the Evacuations or the pending pods wait for."},
};
static_assert(is_complete(kReasons, kLastReason));

}  // namespace

std::string_view to_string(Reason reason) { return term_name(kReasons, reason); }
std::optional<Reason> parse_reason(std::string_view name) { return term_value(kReasons, name); }
std::span<const Term<Reason>> reasons() { return kReasons; }

}  // namespace api
