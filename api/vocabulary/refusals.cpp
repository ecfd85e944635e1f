#include "api/vocabulary/refusals.hpp"

#include <array>

namespace api {
namespace {

constexpr std::string_view kMessage = "The message names the nodes' reasons.";
constexpr std::string_view kLater = "Wait: a later cycle tries again.";

constexpr std::array kPodRefusals = {
    RefusalTerm{"AlreadyNominated", "Another strategy of the policy moves the pod in this cycle.", ""},
    RefusalTerm{"AsksToStay", "The pod's annotation `descheduler.alpha.kubernetes.io/evict` is false.",
                "Remove the annotation if the pod may go."},
    RefusalTerm{"BarePod", "The pod has no owner: nothing would recreate it.",
                "Give it an owner, or move it yourself."},
    RefusalTerm{"ClaimBeingDeleted", "A PersistentVolumeClaim of the pod is being deleted, and would go with it.",
                "Save its data before you delete the pod."},
    RefusalTerm{"ClaimLost", "A PersistentVolumeClaim of the pod is Lost: the pod could not start again.",
                "Repair the claim."},
    RefusalTerm{"CleanedUpByOwner", "The pod has ended, and its owner removes such pods itself.", ""},
    RefusalTerm{"CycleTimeout",
                "The cycle used up its three minutes before it came to the pod, or half of them, and the pod's "
                "namespace more than its share.",
                "The next cycle judges it. If it happens often, narrow `nodeSelector` or split the policy."},
    RefusalTerm{"DaemonSetPod", "The pod belongs to a DaemonSet and would come back to its node.", ""},
    RefusalTerm{"DoNotDisrupt", "The annotation `karpenter.sh/do-not-disrupt` of the pod says so.",
                "Remove it, or set `spec.evictability.autoscalerAnnotations: Ignore`."},
    RefusalTerm{"FollowsMachine", "The pod attaches disks to a KubeVirt virtual machine and goes with it.",
                "Move the machine."},
    RefusalTerm{"Forbidden", "The server does not let the operator move pods of the namespace.",
                "See the role in `config/rbac`."},
    RefusalTerm{"GoesWithNode", "The pod goes with its node: a DaemonSet's or a static pod.", ""},
    RefusalTerm{"GroupDoesNotFit", "Its PodGroup does not fit elsewhere together.", "Free capacity or add a node."},
    RefusalTerm{"GroupMemberStays", "A member of its PodGroup may not leave, so none does.",
                "The message names the member and its reason."},
    RefusalTerm{"GroupNotRunning", "A member of its PodGroup is on no node yet.", kLater},
    RefusalTerm{"GroupOverLimit", "Its PodGroup is larger than a limit.", "Raise the limit."},
    RefusalTerm{"LabelsNotSelected", "`spec.evictability.labelSelector` does not select the pod.", ""},
    RefusalTerm{
        "LocalStorage",
        "A volume of the pod is local storage, which is lost or left behind when it goes. The message names it.",
        "Name volumes that may be lost in `spec.evictability.podProtections.config.PodsWithLocalStorage."
        "ignoredVolumes`, or in the pod's annotation "
        "`cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes`."},
    RefusalTerm{"MigrationFinished", "What is left of a migration is KubeVirt's to remove.", ""},
    RefusalTerm{"MigrationInProgress", "The pod's owner moves it already.", ""},
    RefusalTerm{"MirrorPod", "The pod is the shadow of a static pod: its kubelet owns it.", ""},
    RefusalTerm{"MultiplePDBs", "Several PodDisruptionBudgets cover the pod: the server refuses every eviction.",
                "Leave one of them."},
    RefusalTerm{"NamespaceExcluded", "The policy's namespaces, or the strategy's, leave the pod's out.", ""},
    RefusalTerm{"NamespaceLimit", "`limits.perCycle.perNamespace` is reached.", kLater},
    RefusalTerm{"NamespaceNotSelected", "`namespaceLabelSelector` does not select the pod's namespace.", ""},
    RefusalTerm{"NoDestinationHasCapacity", "No node that is to take pods takes this one and stays below its target.",
                kMessage},
    RefusalTerm{"NoDestinationTolerated",
                "With compatibility Upstream: the pod tolerates the taints of no node that has free capacity.", ""},
    RefusalTerm{
        "NoDomainHasCapacity",
        "No node where the pod would even out its topology spread constraints takes it: it does not fit, or its "
        "replacement would leave no node where the constraints allow a further pod.",
        "The message tells these cases apart and names the nodes."},
    RefusalTerm{"NoMatchingNodeFits",
                "The pod violates its node affinity or nodeSelector, and fits on no node that meets it.",
                "The message names the nodes' reasons. Label or add a node, or correct the pod's affinity."},
    RefusalTerm{"NoOtherNodeFits", "`nodeFit` is set, and the pod fits on no other candidate node.", kMessage},
    RefusalTerm{"NoPDB", "PodsWithoutPDB are protected, and no PodDisruptionBudget covers the pod.", ""},
    RefusalTerm{"NoReplacement", "Nothing would start the pod again on another node.", ""},
    RefusalTerm{"NodeCannotBeEmptied", "A pod of the node has to stay, so that the node is not emptied.", kMessage},
    RefusalTerm{"NodeLimit", "`limits.perCycle.perNode` is reached.", kLater},
    RefusalTerm{"NodeStays", "An annotation keeps autoscalers from removing the node, so emptying it gains nothing.",
                "Remove it, or set `spec.evictability.autoscalerAnnotations: Ignore`."},
    RefusalTerm{"NotSafeToEvict",
                "The annotation `cluster-autoscaler.kubernetes.io/safe-to-evict` of the pod is \"false\", or "
                "\"on-completion\" and the pod has not ended.",
                "Remove it, or set `spec.evictability.autoscalerAnnotations: Ignore`."},
    RefusalTerm{"NowhereBetter",
                "No node where the move would help takes the replacement, or the pod would have to move again.",
                kMessage},
    RefusalTerm{"NowhereToGo", "The replacement fits on no node.", kMessage},
    RefusalTerm{"OptedOut", "An annotation that `spec.evictability.optOuts` lists asks to stay.",
                "The message says for how long."},
    RefusalTerm{"PDBWouldBlock", "A PodDisruptionBudget allows no disruption now.",
                "`kubectl describe pdb -n NAMESPACE`."},
    RefusalTerm{
        "PodGroupLeavesWhole",
        "The pod's PodGroup of scheduling.k8s.io has `disruptionMode: All`: its pods do not leave one by one. An "
        "Evacuation of one ends as `NotEvictable`.",
        "Delete the group's pods together, by their owner."},
    RefusalTerm{
        "PodGroupUnknown",
        "The pod names a PodGroup of scheduling.k8s.io that is not known, and may be one that leaves as a whole.",
        "Let the operator read `podgroups` (`config/rbac`), or put them into the dump."},
    RefusalTerm{"PodHasPVC", "PodsWithPVC are protected.", ""},
    RefusalTerm{"PrefersNoEviction", "The pod asks not to be evicted, and `noEvictionPolicy` is Mandatory.", ""},
    RefusalTerm{"PriorityTooHigh", "The pod's priority is not below `priorityThreshold`.", ""},
    RefusalTerm{"RecentlyEvacuated", "An evacuation of the pod ended a moment ago, or waits and may never begin.",
                kLater},
    RefusalTerm{"ResourceClaims", "PodsWithResourceClaims are protected.", ""},
    RefusalTerm{"SchedulerDisagrees", "The scheduler would put the replacement on a node where that does not help.",
                "Placement hints or soft taints steer it: [placement](concepts/placement.md)."},
    RefusalTerm{"ScoreTooLow", "The move would gain less than `spec.convergence.minScore`.", ""},
    RefusalTerm{"StaticPod", "The pod comes from its kubelet's files.", ""},
    RefusalTerm{"SystemCritical", "The pod's priority is system-critical.", ""},
    RefusalTerm{"TerminalPod", "The pod has ended, and `terminalPods.evict` is not set.", ""},
    RefusalTerm{"TerminalPodKept", "The pod has ended and is kept for a while (`terminalPods`).", ""},
    RefusalTerm{"Terminating", "The pod is terminating already.", ""},
    RefusalTerm{"TooFewReplicas", "The pod's owner has fewer pods than `minReplicas`.", ""},
    RefusalTerm{"TooManySpreadRules",
                "The pod's namespace has more different topology spread constraints than planning takes into account: "
                "64 over one selector, or 4,096.",
                "Use the same `maxSkew` and `minDomains` in all pods of a workload."},
    RefusalTerm{"TooManyTerms",
                "A list of the pod's spec has more entries than planning takes into account, or its namespace has too "
                "many affinity terms.",
                "The message names the list. Shorten it "
                "([very long lists](concepts/policy.md#pods-with-very-long-lists))."},
    RefusalTerm{"TooYoung", "The pod is younger than `minPodAge`.", ""},
    RefusalTerm{"TotalLimit", "`limits.perCycle.total` is reached.", kLater},
};

constexpr std::array kNodeRefusals = {
    RefusalTerm{"AboveTarget", "The node would go above its target.", ""},
    RefusalTerm{"AffinityUnsatisfied", "No pod that the pod's affinity asks for runs there.", ""},
    RefusalTerm{"AntiAffinity", "The pod's anti-affinity speaks about a pod there.", ""},
    RefusalTerm{"ClaimNotFound", "A claim of the pod does not exist.", ""},
    RefusalTerm{"DeviceNodeMismatch", "The pod's devices are not reachable from the node.", ""},
    RefusalTerm{"DevicesUnknown", "It is not known where devices for the pod are free.", ""},
    RefusalTerm{"ExistingAntiAffinity", "A pod there has an anti-affinity against the pod.", ""},
    RefusalTerm{"HostPortInUse", "A host port of the pod is in use on the node.", ""},
    RefusalTerm{"InsufficientResource", "The node has too little of a resource.", ""},
    RefusalTerm{"MalformedAntiAffinity", "A selector of the pod's anti-affinity does not parse.", "Correct it."},
    RefusalTerm{"NoOtherNode", "No other node takes pods.", ""},
    RefusalTerm{"NoRoomTogether", "The node's pods fit elsewhere one by one, but not together.", ""},
    RefusalTerm{"NoStorageLeft", "The storage driver has too little left for the pod's claim there.", ""},
    RefusalTerm{"NoVolumeForClaim", "No free volume for the pod's claim is reachable from the node.", ""},
    RefusalTerm{"NodeCordoned", "The node is cordoned.", ""},
    RefusalTerm{"NodeNotReady", "The node is not ready.", ""},
    RefusalTerm{"NodeSelectorMismatch", "The pod's nodeSelector or required node affinity does not match the node.",
                ""},
    RefusalTerm{"NodeTakesNoPods", "The node is to be emptied itself.", ""},
    RefusalTerm{"NotSelected", "`spec.nodeSelector` leaves the node as it is.", ""},
    RefusalTerm{"TargetNodeLimit", "As many pods are expected on the node as `limits.inFlight.perTargetNode` allows.",
                ""},
    RefusalTerm{"TooManyPods", "The node has no place for another pod.", ""},
    RefusalTerm{"TooManyVolumes", "The node attaches no more volumes of the driver.", ""},
    RefusalTerm{"TopologySpread", "A topology spread constraint of the pod would be violated there.", ""},
    RefusalTerm{"UnboundClaim", "A claim of the pod is not bound.", ""},
    RefusalTerm{"UntoleratedTaint", "The pod does not tolerate a taint of the node.", ""},
    RefusalTerm{"VolumeNodeMismatch", "The pod's volume is not reachable from the node.", ""},
    RefusalTerm{"VolumeNotFound", "The volume of the pod's claim does not exist.", ""},
    RefusalTerm{"VolumeTopology", "The storage class makes no volume for the pod's claim there.", ""},
};

}  // namespace

std::span<const RefusalTerm> pod_refusals() { return kPodRefusals; }
std::span<const RefusalTerm> node_refusals() { return kNodeRefusals; }

}  // namespace api
