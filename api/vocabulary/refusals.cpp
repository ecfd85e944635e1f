#include "api/vocabulary/refusals.hpp"

#include <array>

namespace api {
namespace {

constexpr std::string_view kMessage = "The message contains the reason of each node.";
constexpr std::string_view kLater = "Wait: a later cycle retries.";

constexpr std::array kPodRefusals = {
    RefusalTerm{"AlreadyNominated", "Another strategy of the policy moves the pod in this cycle.", ""},
    RefusalTerm{"AsksToStay", "The pod's annotation `descheduler.alpha.kubernetes.io/evict` is false.",
                "Remove the annotation to allow moving the pod."},
    RefusalTerm{"BarePod", "The pod has no owner: nothing would recreate it.",
                "Give it an owner, or move it manually."},
    RefusalTerm{"ClaimBeingDeleted",
                "A PersistentVolumeClaim of the pod is being deleted, and would be lost with the pod.",
                "Save its data before you delete the pod."},
    RefusalTerm{"ClaimLost", "A PersistentVolumeClaim of the pod is Lost: the pod could not start again.",
                "Repair the claim."},
    RefusalTerm{"CleanedUpByOwner", "The pod has terminated, and its owner removes such pods.", ""},
    RefusalTerm{"CycleTimeout",
                "The cycle spent its three minutes before it evaluated the pod, or the pod's namespace spent its share "
                "of the first half.",
                "The next cycle evaluates the pod. If this happens often, narrow `nodeSelector` or split the policy."},
    RefusalTerm{"DaemonSetPod", "The pod belongs to a DaemonSet and would come back to its node.", ""},
    RefusalTerm{"DoNotDisrupt", "The annotation `karpenter.sh/do-not-disrupt` of the pod is set.",
                "Remove it, or set `spec.evictability.autoscalerAnnotations: Ignore`."},
    RefusalTerm{"FollowsMachine", "The pod attaches disks to a KubeVirt virtual machine and moves with it.",
                "Move the virtual machine."},
    RefusalTerm{"Forbidden", "The API server does not allow the operator to move pods of the namespace.",
                "See the role in `config/rbac`."},
    RefusalTerm{"GoesWithNode", "The pod is bound to its node: it belongs to a DaemonSet or is static.", ""},
    RefusalTerm{"GroupDoesNotFit", "Its PodGroup does not fit on other nodes as a whole.",
                "Free capacity or add a node."},
    RefusalTerm{"GroupMemberStays", "A member of its PodGroup may not leave, so no member leaves.",
                "The message names the member and its reason."},
    RefusalTerm{"GroupNotRunning", "A member of its PodGroup is not scheduled yet.", kLater},
    RefusalTerm{"GroupOverLimit", "Its PodGroup is larger than a limit.", "Raise the limit."},
    RefusalTerm{"LabelsNotSelected", "`spec.evictability.labelSelector` does not select the pod.", ""},
    RefusalTerm{
        "LocalStorage",
        "A volume of the pod is local storage, which is lost or left behind when it goes. The message names it.",
        "Name volumes that may be lost in `spec.evictability.podProtections.config.PodsWithLocalStorage."
        "ignoredVolumes`, or in the pod's annotation "
        "`cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes`."},
    RefusalTerm{"MigrationFinished", "The pod is left over from a migration. KubeVirt removes it.", ""},
    RefusalTerm{"MigrationInProgress", "The pod's owner is already moving it.", ""},
    RefusalTerm{"MirrorPod", "The pod is the mirror pod of a static pod: its kubelet owns it.", ""},
    RefusalTerm{"MultiplePDBs", "Several PodDisruptionBudgets cover the pod: the API server refuses every eviction.",
                "Keep exactly one of them."},
    RefusalTerm{"NamespaceExcluded", "The policy, or the strategy, excludes the pod's namespace.", ""},
    RefusalTerm{"NamespaceLimit", "`limits.perCycle.perNamespace` is reached.", kLater},
    RefusalTerm{"NamespaceNotSelected", "`namespaceLabelSelector` does not select the pod's namespace.", ""},
    RefusalTerm{"NoDestinationHasCapacity", "No destination node accepts the pod and stays below its target.",
                kMessage},
    RefusalTerm{"NoDestinationTolerated",
                "With compatibility Upstream: the pod does not tolerate the taints of any node that has free capacity.",
                ""},
    RefusalTerm{"NoDomainHasCapacity",
                "No node where the pod would improve its topology spread constraints accepts it: it does not fit, or "
                "its replacement would leave no node where the constraints allow a further pod.",
                "The message distinguishes these cases and names the nodes."},
    RefusalTerm{"NoMatchingNodeFits",
                "The pod violates its node affinity or nodeSelector, and does not fit on any matching node.",
                "The message contains the reason of each node. Label or add a node, or correct the pod's affinity."},
    RefusalTerm{"NoOtherNodeFits", "`nodeFit` is set, and the pod does not fit on any other candidate node.", kMessage},
    RefusalTerm{"NoPDB", "PodsWithoutPDB are protected, and no PodDisruptionBudget covers the pod.", ""},
    RefusalTerm{"NoReplacement", "Nothing would recreate the pod on another node.", ""},
    RefusalTerm{"NodeCannotBeEmptied", "A pod of the node must stay, so the node is not emptied.", kMessage},
    RefusalTerm{"NodeLimit", "`limits.perCycle.perNode` is reached.", kLater},
    RefusalTerm{"NodeStays", "An annotation keeps autoscalers from removing the node, so emptying it has no benefit.",
                "Remove it, or set `spec.evictability.autoscalerAnnotations: Ignore`."},
    RefusalTerm{"NotSafeToEvict",
                "The annotation `cluster-autoscaler.kubernetes.io/safe-to-evict` of the pod is \"false\", or "
                "\"on-completion\" and the pod has not ended.",
                "Remove it, or set `spec.evictability.autoscalerAnnotations: Ignore`."},
    RefusalTerm{"NowhereBetter",
                "No node where the move would help accepts the replacement, or the pod would have to move again.",
                kMessage},
    RefusalTerm{"NowhereToGo", "The replacement does not fit on any node.", kMessage},
    RefusalTerm{"OptedOut", "An annotation that is listed in `spec.evictability.optOuts` opts the pod out.",
                "The message contains the duration."},
    RefusalTerm{"PDBWouldBlock", "A PodDisruptionBudget allows no disruption now.",
                "`kubectl describe pdb -n NAMESPACE`."},
    RefusalTerm{"PodGroupLeavesWhole",
                "The pod's PodGroup of scheduling.k8s.io has `disruptionMode: All`: its pods do not leave "
                "individually. An Evacuation of one pod ends as `NotEvictable`.",
                "Delete the pods of the group together, through their owner."},
    RefusalTerm{"PodGroupUnknown",
                "The pod names an unknown PodGroup of scheduling.k8s.io, which may have to leave as a whole.",
                "Allow the operator to read `podgroups` (`config/rbac`), or add them to the dump."},
    RefusalTerm{"PodHasPVC", "PodsWithPVC are protected.", ""},
    RefusalTerm{"PrefersNoEviction", "The pod prefers not to be evicted, and `noEvictionPolicy` is Mandatory.", ""},
    RefusalTerm{"PriorityTooHigh", "The pod's priority is not below `priorityThreshold`.", ""},
    RefusalTerm{"RecentlyEvacuated", "An Evacuation of the pod ended recently, or is waiting.", kLater},
    RefusalTerm{"ResourceClaims", "PodsWithResourceClaims are protected.", ""},
    RefusalTerm{"SchedulerDisagrees",
                "The scheduler would place the replacement on a node where the move does not help.",
                "Use placement hints or soft taints: [placement](concepts/placement.md)."},
    RefusalTerm{"ScoreTooLow", "The move would gain less than `spec.convergence.minScore`.", ""},
    RefusalTerm{"StaticPod", "The pod is static: it comes from a manifest of its kubelet.", ""},
    RefusalTerm{"SystemCritical", "The pod's priority is system-critical.", ""},
    RefusalTerm{"TerminalPod", "The pod has terminated, and `terminalPods.evict` is not set.", ""},
    RefusalTerm{"TerminalPodKept", "The pod has terminated and is kept for a configured time (`terminalPods`).", ""},
    RefusalTerm{"Terminating", "The pod is already terminating.", ""},
    RefusalTerm{"TooFewReplicas", "The pod's owner has fewer pods than `minReplicas`.", ""},
    RefusalTerm{"TooManySpreadRules",
                "The pods of the namespace have more distinct topology spread constraints than planning supports: 64 "
                "over one selector, or 4,096 in total.",
                "Use the same `maxSkew` and `minDomains` in all pods of a workload."},
    RefusalTerm{"TooManyTerms",
                "A list of the pod's spec has more entries than planning supports, or its namespace has too many "
                "affinity terms.",
                "The message names the list. Shorten it "
                "([very long lists](concepts/policy.md#pods-with-very-long-lists))."},
    RefusalTerm{"TooYoung", "The pod is younger than `minPodAge`.", ""},
    RefusalTerm{"TotalLimit", "`limits.perCycle.total` is reached.", kLater},
};

constexpr std::array kNodeRefusals = {
    RefusalTerm{"AboveTarget", "The node would exceed its target.", ""},
    RefusalTerm{"AffinityUnsatisfied", "No pod that matches the pod's affinity runs there.", ""},
    RefusalTerm{"AntiAffinity", "The pod's anti-affinity matches a pod there.", ""},
    RefusalTerm{"ClaimNotFound", "A PersistentVolumeClaim of the pod does not exist.", ""},
    RefusalTerm{"DeviceNodeMismatch", "The pod's devices are not reachable from the node.", ""},
    RefusalTerm{"DevicesUnknown", "The location of free devices for the pod is unknown.", ""},
    RefusalTerm{"ExistingAntiAffinity", "The anti-affinity of a pod there matches the pod.", ""},
    RefusalTerm{"HostPortInUse", "A host port of the pod is in use on the node.", ""},
    RefusalTerm{"InsufficientResource", "The node has insufficient free capacity of a resource.", ""},
    RefusalTerm{"MalformedAntiAffinity", "A selector of the pod's anti-affinity is invalid.", "Correct it."},
    RefusalTerm{"NoOtherNode", "No other node accepts pods.", ""},
    RefusalTerm{"NoRoomTogether", "The node's pods fit on other nodes individually, but not together.", ""},
    RefusalTerm{"NoStorageLeft",
                "The storage driver has insufficient capacity for the pod's PersistentVolumeClaim there.", ""},
    RefusalTerm{"NoVolumeForClaim", "No free volume for the pod's PersistentVolumeClaim is reachable from the node.",
                ""},
    RefusalTerm{"NodeCordoned", "The node is cordoned.", ""},
    RefusalTerm{"NodeNotReady", "The node is not ready.", ""},
    RefusalTerm{"NodeSelectorMismatch", "The pod's nodeSelector or required node affinity does not match the node.",
                ""},
    RefusalTerm{"NodeTakesNoPods", "The node itself is to be emptied.", ""},
    RefusalTerm{"NotSelected", "`spec.nodeSelector` does not select the node.", ""},
    RefusalTerm{"TargetNodeLimit", "The limit `limits.inFlight.perTargetNode` of the node is reached.", ""},
    RefusalTerm{"TooManyPods", "The maximum number of pods of the node is reached.", ""},
    RefusalTerm{"TooManyVolumes", "The maximum number of volumes of the driver is attached to the node.", ""},
    RefusalTerm{"TopologySpread", "A topology spread constraint of the pod would be violated there.", ""},
    RefusalTerm{"UnboundClaim", "A PersistentVolumeClaim of the pod is not bound.", ""},
    RefusalTerm{"UntoleratedTaint", "The pod does not tolerate a taint of the node.", ""},
    RefusalTerm{"VolumeNodeMismatch", "The pod's volume is not reachable from the node.", ""},
    RefusalTerm{"VolumeNotFound", "The volume of the pod's PersistentVolumeClaim does not exist.", ""},
    RefusalTerm{"VolumeTopology",
                "The storage class cannot provision a volume for the pod's PersistentVolumeClaim there.", ""},
};

}  // namespace

std::span<const RefusalTerm> pod_refusals() { return kPodRefusals; }
std::span<const RefusalTerm> node_refusals() { return kNodeRefusals; }

}  // namespace api
