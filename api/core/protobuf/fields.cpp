#include "api/core/protobuf/fields.hpp"

#include <utility>

namespace api::protobuf {
namespace {

using enum FieldType;

constexpr Field text(std::uint32_t number, std::string_view name) { return {number, name, kText}; }
constexpr Field texts(std::uint32_t number, std::string_view name) { return {number, name, kText, nullptr, true}; }
constexpr Field integer(std::uint32_t number, std::string_view name) { return {number, name, kInteger}; }
constexpr Field flag(std::uint32_t number, std::string_view name) { return {number, name, kBool}; }
constexpr Field time(std::uint32_t number, std::string_view name) { return {number, name, kTime}; }
constexpr Field one(std::uint32_t number, std::string_view name, const Message& message) {
  return {number, name, kMessage, &message};
}
constexpr Field many(std::uint32_t number, std::string_view name, const Message& message) {
  return {number, name, kMessage, &message, true};
}
constexpr Field text_map(std::uint32_t number, std::string_view name) {
  return {number, name, kTextMap, nullptr, true};
}
constexpr Field amounts(std::uint32_t number, std::string_view name) {
  return {number, name, kQuantityMap, nullptr, true};
}

// Messages of which only the presence or non-emptiness is read.
constexpr Message kOpaque{};

constexpr Field kOwnerFields[] = {text(1, "kind"), text(3, "name"), text(4, "uid"), text(5, "apiVersion"),
                                  flag(6, "controller")};
constexpr Message kOwner{kOwnerFields};

constexpr Field kMetaFields[] = {text(1, "name"),
                                 text(3, "namespace"),
                                 text(5, "uid"),
                                 text(6, "resourceVersion"),
                                 integer(7, "generation"),
                                 time(8, "creationTimestamp"),
                                 time(9, "deletionTimestamp"),
                                 integer(10, "deletionGracePeriodSeconds"),
                                 text_map(11, "labels"),
                                 text_map(12, "annotations"),
                                 many(13, "ownerReferences", kOwner),
                                 texts(14, "finalizers")};
constexpr Message kMeta{kMetaFields};

// ---------------------------------------------------------------- selectors and placement

constexpr Field kRequirementFields[] = {text(1, "key"), text(2, "operator"), texts(3, "values")};
constexpr Message kRequirement{kRequirementFields};

constexpr Field kLabelSelectorFields[] = {text_map(1, "matchLabels"), many(2, "matchExpressions", kRequirement)};
constexpr Message kLabelSelector{kLabelSelectorFields};

constexpr Field kNodeTermFields[] = {many(1, "matchExpressions", kRequirement), many(2, "matchFields", kRequirement)};
constexpr Message kNodeTerm{kNodeTermFields};

constexpr Field kNodeSelectorFields[] = {many(1, "nodeSelectorTerms", kNodeTerm)};
constexpr Message kNodeSelector{kNodeSelectorFields};

constexpr Field kPreferredNodeFields[] = {integer(1, "weight"), one(2, "preference", kNodeTerm)};
constexpr Message kPreferredNode{kPreferredNodeFields};

constexpr Field kNodeAffinityFields[] = {one(1, "requiredDuringSchedulingIgnoredDuringExecution", kNodeSelector),
                                         many(2, "preferredDuringSchedulingIgnoredDuringExecution", kPreferredNode)};
constexpr Message kNodeAffinity{kNodeAffinityFields};

constexpr Field kPodTermFields[] = {
    one(1, "labelSelector", kLabelSelector),     texts(2, "namespaces"),     text(3, "topologyKey"),
    one(4, "namespaceSelector", kLabelSelector), texts(5, "matchLabelKeys"), texts(6, "mismatchLabelKeys")};
constexpr Message kPodTerm{kPodTermFields};

constexpr Field kWeightedPodTermFields[] = {integer(1, "weight"), one(2, "podAffinityTerm", kPodTerm)};
constexpr Message kWeightedPodTerm{kWeightedPodTermFields};

constexpr Field kPodAffinityFields[] = {many(1, "requiredDuringSchedulingIgnoredDuringExecution", kPodTerm),
                                        many(2, "preferredDuringSchedulingIgnoredDuringExecution", kWeightedPodTerm)};
constexpr Message kPodAffinity{kPodAffinityFields};

constexpr Field kAffinityFields[] = {one(1, "nodeAffinity", kNodeAffinity), one(2, "podAffinity", kPodAffinity),
                                     one(3, "podAntiAffinity", kPodAffinity)};
constexpr Message kAffinity{kAffinityFields};

constexpr Field kTolerationFields[] = {text(1, "key"), text(2, "operator"), text(3, "value"), text(4, "effect"),
                                       integer(5, "tolerationSeconds")};
constexpr Message kToleration{kTolerationFields};

constexpr Field kTaintFields[] = {text(1, "key"), text(2, "value"), text(3, "effect")};
constexpr Message kTaint{kTaintFields};

constexpr Field kSpreadFields[] = {integer(1, "maxSkew"),        text(2, "topologyKey"),
                                   text(3, "whenUnsatisfiable"), one(4, "labelSelector", kLabelSelector),
                                   integer(5, "minDomains"),     text(6, "nodeAffinityPolicy"),
                                   text(7, "nodeTaintsPolicy"),  texts(8, "matchLabelKeys")};
constexpr Message kSpread{kSpreadFields};

// ---------------------------------------------------------------- claims and volumes

constexpr Field kResourcesFields[] = {amounts(1, "limits"), amounts(2, "requests")};
constexpr Message kResources{kResourcesFields};

constexpr Field kClaimSpecFields[] = {texts(1, "accessModes"),
                                      one(2, "resources", kResources),
                                      text(3, "volumeName"),
                                      one(4, "selector", kLabelSelector),
                                      text(5, "storageClassName"),
                                      text(6, "volumeMode"),
                                      text(9, "volumeAttributesClassName")};
constexpr Message kClaimSpec{kClaimSpecFields};

constexpr Field kPhaseFields[] = {text(1, "phase")};
constexpr Message kPhase{kPhaseFields};

constexpr Field kClaimFields[] = {one(1, "metadata", kMeta), one(2, "spec", kClaimSpec), one(3, "status", kPhase)};
constexpr Message kClaim{kClaimFields};

constexpr Field kClaimRefFields[] = {text(2, "namespace"), text(3, "name"), text(4, "uid")};
constexpr Message kClaimRef{kClaimRefFields};

constexpr Field kCsiFields[] = {text(1, "driver")};
constexpr Message kCsi{kCsiFields};

constexpr Field kVolumePluginFields[] = {one(1, "gcePersistentDisk", kOpaque),
                                         one(2, "awsElasticBlockStore", kOpaque),
                                         one(3, "hostPath", kOpaque),
                                         one(8, "cinder", kOpaque),
                                         one(13, "azureFile", kOpaque),
                                         one(14, "vsphereVolume", kOpaque),
                                         one(16, "azureDisk", kOpaque),
                                         one(18, "portworxVolume", kOpaque),
                                         one(20, "local", kOpaque),
                                         one(22, "csi", kCsi)};
constexpr Message kVolumePlugin{kVolumePluginFields};

constexpr Field kVolumeAffinityFields[] = {one(1, "required", kNodeSelector)};
constexpr Message kVolumeAffinity{kVolumeAffinityFields};

constexpr Field kVolumeSpecFields[] = {amounts(1, "capacity"),
                                       {2, "persistentVolumeSource", kInline, &kVolumePlugin},
                                       texts(3, "accessModes"),
                                       one(4, "claimRef", kClaimRef),
                                       text(6, "storageClassName"),
                                       text(8, "volumeMode"),
                                       one(9, "nodeAffinity", kVolumeAffinity),
                                       text(10, "volumeAttributesClassName")};
constexpr Message kVolumeSpec{kVolumeSpecFields};

constexpr Field kVolumeFields[] = {one(1, "metadata", kMeta), one(2, "spec", kVolumeSpec), one(3, "status", kPhase)};
constexpr Message kPersistentVolume{kVolumeFields};

constexpr Field kTopologyFields[] = {text(1, "key"), texts(2, "values")};
constexpr Message kTopology{kTopologyFields};

constexpr Field kTopologyTermFields[] = {many(1, "matchLabelExpressions", kTopology)};
constexpr Message kTopologyTerm{kTopologyTermFields};

constexpr Field kStorageClassFields[] = {one(1, "metadata", kMeta), text(2, "provisioner"),
                                         text(7, "volumeBindingMode"), many(8, "allowedTopologies", kTopologyTerm)};
constexpr Message kStorageClass{kStorageClassFields};

constexpr Field kCountFields[] = {integer(1, "count")};
constexpr Message kCount{kCountFields};

constexpr Field kCsiDriverFields[] = {text(1, "name"), one(4, "allocatable", kCount)};
constexpr Message kCsiDriver{kCsiDriverFields};

constexpr Field kCsiNodeSpecFields[] = {many(1, "drivers", kCsiDriver)};
constexpr Message kCsiNodeSpec{kCsiNodeSpecFields};

constexpr Field kCsiNodeFields[] = {one(1, "metadata", kMeta), one(2, "spec", kCsiNodeSpec)};
constexpr Message kCsiNode{kCsiNodeFields};

// ---------------------------------------------------------------- pods

constexpr Field kPortFields[] = {integer(2, "hostPort"), text(4, "protocol"), text(5, "hostIP")};
constexpr Message kPort{kPortFields};

constexpr Field kContainerFields[] = {text(1, "name"), text(2, "image"), many(6, "ports", kPort),
                                      one(8, "resources", kResources), text(24, "restartPolicy")};
constexpr Message kContainer{kContainerFields};

constexpr Field kClaimTemplateFields[] = {one(2, "spec", kClaimSpec)};
constexpr Message kClaimTemplate{kClaimTemplateFields};

constexpr Field kEphemeralFields[] = {one(1, "volumeClaimTemplate", kClaimTemplate)};
constexpr Message kEphemeral{kEphemeralFields};

constexpr Field kClaimNameFields[] = {text(1, "claimName")};
constexpr Message kClaimName{kClaimNameFields};

constexpr Field kVolumeSourceFields[] = {one(1, "hostPath", kOpaque),   one(2, "emptyDir", kOpaque),
                                         one(6, "secret", kOpaque),     one(10, "persistentVolumeClaim", kClaimName),
                                         one(19, "configMap", kOpaque), one(29, "ephemeral", kEphemeral)};
constexpr Message kVolumeSource{kVolumeSourceFields};

constexpr Field kPodVolumeFields[] = {text(1, "name"), {2, "volumeSource", kInline, &kVolumeSource}};
constexpr Message kPodVolume{kPodVolumeFields};

constexpr Field kPodClaimFields[] = {text(3, "resourceClaimName"), text(4, "resourceClaimTemplateName")};
constexpr Message kPodClaim{kPodClaimFields};

constexpr Field kResponderFields[] = {text(1, "name"), integer(2, "priority")};
constexpr Message kResponder{kResponderFields};

constexpr Field kSchedulingGroupFields[] = {text(1, "podGroupName")};
constexpr Message kSchedulingGroup{kSchedulingGroupFields};

constexpr Field kPodSpecFields[] = {many(1, "volumes", kPodVolume),
                                    many(2, "containers", kContainer),
                                    text(3, "restartPolicy"),
                                    integer(4, "terminationGracePeriodSeconds"),
                                    text_map(7, "nodeSelector"),
                                    text(10, "nodeName"),
                                    flag(11, "hostNetwork"),
                                    one(18, "affinity", kAffinity),
                                    text(19, "schedulerName"),
                                    many(20, "initContainers", kContainer),
                                    many(22, "tolerations", kToleration),
                                    text(24, "priorityClassName"),
                                    integer(25, "priority"),
                                    amounts(32, "overhead"),
                                    many(33, "topologySpreadConstraints", kSpread),
                                    many(38, "schedulingGates", kOpaque),
                                    many(39, "resourceClaims", kPodClaim),
                                    one(40, "resources", kResources),
                                    one(43, "schedulingGroup", kSchedulingGroup),
                                    many(44, "evictionResponders", kResponder)};
constexpr Message kPodSpec{kPodSpecFields};

constexpr Field kWaitingFields[] = {text(1, "reason")};
constexpr Message kWaiting{kWaitingFields};

constexpr Field kTerminatedFields[] = {integer(1, "exitCode"), text(3, "reason"), time(6, "finishedAt")};
constexpr Message kTerminated{kTerminatedFields};

constexpr Field kStateFields[] = {one(1, "waiting", kWaiting), one(3, "terminated", kTerminated)};
constexpr Message kState{kStateFields};

constexpr Field kContainerStatusFields[] = {text(1, "name"),
                                            one(2, "state", kState),
                                            one(3, "lastState", kState),
                                            flag(4, "ready"),
                                            integer(5, "restartCount"),
                                            amounts(10, "allocatedResources"),
                                            one(11, "resources", kResources)};
constexpr Message kContainerStatus{kContainerStatusFields};

constexpr Field kPodConditionFields[] = {text(1, "type"),   text(2, "status"),  time(4, "lastTransitionTime"),
                                         text(5, "reason"), text(6, "message"), integer(7, "observedGeneration")};
constexpr Message kPodCondition{kPodConditionFields};

constexpr Field kPodStatusFields[] = {text(1, "phase"),
                                      many(2, "conditions", kPodCondition),
                                      text(4, "reason"),
                                      time(7, "startTime"),
                                      many(8, "containerStatuses", kContainerStatus),
                                      text(9, "qosClass"),
                                      many(10, "initContainerStatuses", kContainerStatus),
                                      text(11, "nominatedNodeName"),
                                      many(13, "ephemeralContainerStatuses", kContainerStatus),
                                      amounts(19, "allocatedResources"),
                                      one(20, "resources", kResources)};
constexpr Message kPodStatus{kPodStatusFields};

constexpr Field kPodFields[] = {one(1, "metadata", kMeta), one(2, "spec", kPodSpec), one(3, "status", kPodStatus)};
constexpr Message kPod{kPodFields};

// ---------------------------------------------------------------- nodes, budgets and the small kinds

constexpr Field kNodeSpecFields[] = {flag(4, "unschedulable"), many(5, "taints", kTaint)};
constexpr Message kNodeSpec{kNodeSpecFields};

constexpr Field kAddressFields[] = {text(2, "address")};
constexpr Message kAddress{kAddressFields};

constexpr Field kNodeConditionFields[] = {text(1, "type"), text(2, "status"), time(4, "lastTransitionTime"),
                                          text(5, "reason"), text(6, "message")};
constexpr Message kNodeCondition{kNodeConditionFields};

constexpr Field kNodeStatusFields[] = {amounts(1, "capacity"), amounts(2, "allocatable"),
                                       many(4, "conditions", kNodeCondition), many(5, "addresses", kAddress)};
constexpr Message kNodeStatus{kNodeStatusFields};

constexpr Field kNodeFields[] = {one(1, "metadata", kMeta), one(2, "spec", kNodeSpec), one(3, "status", kNodeStatus)};
constexpr Message kNode{kNodeFields};

constexpr Field kBudgetSpecFields[] = {{1, "minAvailable", kIntOrString},
                                       one(2, "selector", kLabelSelector),
                                       {3, "maxUnavailable", kIntOrString},
                                       text(4, "unhealthyPodEvictionPolicy")};
constexpr Message kBudgetSpec{kBudgetSpecFields};

constexpr Field kConditionFields[] = {
    text(1, "type"),   text(2, "status"), integer(3, "observedGeneration"), time(4, "lastTransitionTime"),
    text(5, "reason"), text(6, "message")};
constexpr Message kCondition{kConditionFields};

constexpr Field kBudgetStatusFields[] = {integer(1, "observedGeneration"), integer(3, "disruptionsAllowed"),
                                         integer(4, "currentHealthy"),     integer(5, "desiredHealthy"),
                                         integer(6, "expectedPods"),       many(7, "conditions", kCondition)};
constexpr Message kBudgetStatus{kBudgetStatusFields};

constexpr Field kBudgetFields[] = {one(1, "metadata", kMeta), one(2, "spec", kBudgetSpec),
                                   one(3, "status", kBudgetStatus)};
constexpr Message kBudget{kBudgetFields};

constexpr Field kOnlyMetaFields[] = {one(1, "metadata", kMeta)};
constexpr Message kOnlyMeta{kOnlyMetaFields};

constexpr Field kPriorityClassFields[] = {one(1, "metadata", kMeta), integer(2, "value"), flag(3, "globalDefault")};
constexpr Message kPriorityClass{kPriorityClassFields};

// ---------------------------------------------------------------- workloads

constexpr Field kReplicasFields[] = {integer(1, "replicas")};
constexpr Message kReplicas{kReplicasFields};

constexpr Field kReplicaSetStatusFields[] = {integer(4, "readyReplicas")};
constexpr Message kReplicaSetStatus{kReplicaSetStatusFields};
constexpr Field kReplicaSetFields[] = {one(1, "metadata", kMeta), one(2, "spec", kReplicas),
                                       one(3, "status", kReplicaSetStatus)};
constexpr Message kReplicaSet{kReplicaSetFields};

constexpr Field kStatefulSetStatusFields[] = {integer(3, "readyReplicas")};
constexpr Message kStatefulSetStatus{kStatefulSetStatusFields};
constexpr Field kStatefulSetFields[] = {one(1, "metadata", kMeta), one(2, "spec", kReplicas),
                                        one(3, "status", kStatefulSetStatus)};
constexpr Message kStatefulSet{kStatefulSetFields};

constexpr Field kJobSpecFields[] = {integer(1, "parallelism"), integer(8, "ttlSecondsAfterFinished")};
constexpr Message kJobSpec{kJobSpecFields};
constexpr Field kJobStatusFields[] = {integer(4, "active")};
constexpr Message kJobStatus{kJobStatusFields};
constexpr Field kJobFields[] = {one(1, "metadata", kMeta), one(2, "spec", kJobSpec), one(3, "status", kJobStatus)};
constexpr Message kJob{kJobFields};

constexpr std::pair<std::string_view, const Message*> kKinds[] = {{"Pod", &kPod},
                                                                  {"Node", &kNode},
                                                                  {"PodDisruptionBudget", &kBudget},
                                                                  {"Namespace", &kOnlyMeta},
                                                                  {"PriorityClass", &kPriorityClass},
                                                                  {"PersistentVolumeClaim", &kClaim},
                                                                  {"PersistentVolume", &kPersistentVolume},
                                                                  {"StorageClass", &kStorageClass},
                                                                  {"CSINode", &kCsiNode},
                                                                  {"ReplicaSet", &kReplicaSet},
                                                                  {"StatefulSet", &kStatefulSet},
                                                                  {"Job", &kJob}};

constexpr Field kListMetaFields[] = {text(2, "resourceVersion"), text(3, "continue"), integer(4, "remainingItemCount")};

}  // namespace

const Message kListMeta{kListMetaFields};

const Message* message_of(std::string_view kind) {
  for (const auto& [name, message] : kKinds) {
    if (name == kind) return message;
  }
  return nullptr;
}

const Message& metadata_of_any() { return kOnlyMeta; }

}  // namespace api::protobuf
