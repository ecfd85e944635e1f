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

constexpr Field inlined(std::uint32_t number, std::string_view name, const Message& message) {
  return {number, name, kInline, &message};
}
constexpr Field int_or_text(std::uint32_t number, std::string_view name) { return {number, name, kIntOrString}; }

/// A message with its fields. Refers to itself: must not be copied.
template <std::size_t N>
struct Table : Message {
  template <typename... F>
  constexpr explicit Table(F... all) : Message{std::span(own)}, own{all...} {}
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  Field own[N];
};
template <typename... F>
Table(F...) -> Table<sizeof...(F)>;

// Messages of which only the presence or non-emptiness is read.
constexpr Message kOpaque{};

constexpr Table kOwner(text(1, "kind"), text(3, "name"), text(4, "uid"), text(5, "apiVersion"), flag(6, "controller"));

constexpr Table kMeta(text(1, "name"), text(3, "namespace"), text(5, "uid"), text(6, "resourceVersion"),
                      integer(7, "generation"), time(8, "creationTimestamp"), time(9, "deletionTimestamp"),
                      integer(10, "deletionGracePeriodSeconds"), text_map(11, "labels"), text_map(12, "annotations"),
                      many(13, "ownerReferences", kOwner), texts(14, "finalizers"));

// ---------------------------------------------------------------- selectors and placement

constexpr Table kRequirement(text(1, "key"), text(2, "operator"), texts(3, "values"));

constexpr Table kLabelSelector(text_map(1, "matchLabels"), many(2, "matchExpressions", kRequirement));

constexpr Table kNodeTerm(many(1, "matchExpressions", kRequirement), many(2, "matchFields", kRequirement));

constexpr Table kNodeSelector(many(1, "nodeSelectorTerms", kNodeTerm));

constexpr Table kPreferredNode(integer(1, "weight"), one(2, "preference", kNodeTerm));

constexpr Table kNodeAffinity(one(1, "requiredDuringSchedulingIgnoredDuringExecution", kNodeSelector),
                              many(2, "preferredDuringSchedulingIgnoredDuringExecution", kPreferredNode));

constexpr Table kPodTerm(one(1, "labelSelector", kLabelSelector), texts(2, "namespaces"), text(3, "topologyKey"),
                         one(4, "namespaceSelector", kLabelSelector), texts(5, "matchLabelKeys"),
                         texts(6, "mismatchLabelKeys"));

constexpr Table kWeightedPodTerm(integer(1, "weight"), one(2, "podAffinityTerm", kPodTerm));

constexpr Table kPodAffinity(many(1, "requiredDuringSchedulingIgnoredDuringExecution", kPodTerm),
                             many(2, "preferredDuringSchedulingIgnoredDuringExecution", kWeightedPodTerm));

constexpr Table kAffinity(one(1, "nodeAffinity", kNodeAffinity), one(2, "podAffinity", kPodAffinity),
                          one(3, "podAntiAffinity", kPodAffinity));

constexpr Table kToleration(text(1, "key"), text(2, "operator"), text(3, "value"), text(4, "effect"),
                            integer(5, "tolerationSeconds"));

constexpr Table kTaint(text(1, "key"), text(2, "value"), text(3, "effect"));

constexpr Table kSpread(integer(1, "maxSkew"), text(2, "topologyKey"), text(3, "whenUnsatisfiable"),
                        one(4, "labelSelector", kLabelSelector), integer(5, "minDomains"),
                        text(6, "nodeAffinityPolicy"), text(7, "nodeTaintsPolicy"), texts(8, "matchLabelKeys"));

// ---------------------------------------------------------------- claims and volumes

constexpr Table kResources(amounts(1, "limits"), amounts(2, "requests"));

constexpr Table kClaimSpec(texts(1, "accessModes"), one(2, "resources", kResources), text(3, "volumeName"),
                           one(4, "selector", kLabelSelector), text(5, "storageClassName"), text(6, "volumeMode"),
                           text(9, "volumeAttributesClassName"));

constexpr Table kPhase(text(1, "phase"));

constexpr Table kClaim(one(1, "metadata", kMeta), one(2, "spec", kClaimSpec), one(3, "status", kPhase));

constexpr Table kClaimRef(text(2, "namespace"), text(3, "name"), text(4, "uid"));

constexpr Table kCsi(text(1, "driver"));

constexpr Table kVolumePlugin(one(1, "gcePersistentDisk", kOpaque), one(2, "awsElasticBlockStore", kOpaque),
                              one(3, "hostPath", kOpaque), one(8, "cinder", kOpaque), one(13, "azureFile", kOpaque),
                              one(14, "vsphereVolume", kOpaque), one(16, "azureDisk", kOpaque),
                              one(18, "portworxVolume", kOpaque), one(20, "local", kOpaque), one(22, "csi", kCsi));

constexpr Table kVolumeAffinity(one(1, "required", kNodeSelector));

constexpr Table kVolumeSpec(amounts(1, "capacity"), inlined(2, "persistentVolumeSource", kVolumePlugin),
                            texts(3, "accessModes"), one(4, "claimRef", kClaimRef), text(6, "storageClassName"),
                            text(8, "volumeMode"), one(9, "nodeAffinity", kVolumeAffinity),
                            text(10, "volumeAttributesClassName"));

constexpr Table kPersistentVolume(one(1, "metadata", kMeta), one(2, "spec", kVolumeSpec), one(3, "status", kPhase));

constexpr Table kTopology(text(1, "key"), texts(2, "values"));

constexpr Table kTopologyTerm(many(1, "matchLabelExpressions", kTopology));

constexpr Table kStorageClass(one(1, "metadata", kMeta), text(2, "provisioner"), text(7, "volumeBindingMode"),
                              many(8, "allowedTopologies", kTopologyTerm));

constexpr Table kCount(integer(1, "count"));

constexpr Table kCsiDriver(text(1, "name"), one(4, "allocatable", kCount));

constexpr Table kCsiNodeSpec(many(1, "drivers", kCsiDriver));

constexpr Table kCsiNode(one(1, "metadata", kMeta), one(2, "spec", kCsiNodeSpec));

// ---------------------------------------------------------------- pods

constexpr Table kPort(integer(2, "hostPort"), text(4, "protocol"), text(5, "hostIP"));

constexpr Table kContainer(text(1, "name"), text(2, "image"), many(6, "ports", kPort), one(8, "resources", kResources),
                           text(24, "restartPolicy"));

constexpr Table kClaimTemplate(one(2, "spec", kClaimSpec));

constexpr Table kEphemeral(one(1, "volumeClaimTemplate", kClaimTemplate));

constexpr Table kClaimName(text(1, "claimName"));

constexpr Table kVolumeSource(one(1, "hostPath", kOpaque), one(2, "emptyDir", kOpaque), one(6, "secret", kOpaque),
                              one(10, "persistentVolumeClaim", kClaimName), one(19, "configMap", kOpaque),
                              one(29, "ephemeral", kEphemeral));

constexpr Table kPodVolume(text(1, "name"), inlined(2, "volumeSource", kVolumeSource));

constexpr Table kPodClaim(text(3, "resourceClaimName"), text(4, "resourceClaimTemplateName"));

constexpr Table kResponder(text(1, "name"), integer(2, "priority"));

constexpr Table kSchedulingGroup(text(1, "podGroupName"));

constexpr Table kPodSpec(many(1, "volumes", kPodVolume), many(2, "containers", kContainer), text(3, "restartPolicy"),
                         integer(4, "terminationGracePeriodSeconds"), text_map(7, "nodeSelector"), text(10, "nodeName"),
                         flag(11, "hostNetwork"), one(18, "affinity", kAffinity), text(19, "schedulerName"),
                         many(20, "initContainers", kContainer), many(22, "tolerations", kToleration),
                         text(24, "priorityClassName"), integer(25, "priority"), amounts(32, "overhead"),
                         many(33, "topologySpreadConstraints", kSpread), many(38, "schedulingGates", kOpaque),
                         many(39, "resourceClaims", kPodClaim), one(40, "resources", kResources),
                         one(43, "schedulingGroup", kSchedulingGroup), many(44, "evictionResponders", kResponder));

constexpr Table kWaiting(text(1, "reason"));

constexpr Table kTerminated(integer(1, "exitCode"), text(3, "reason"), time(6, "finishedAt"));

constexpr Table kState(one(1, "waiting", kWaiting), one(3, "terminated", kTerminated));

constexpr Table kContainerStatus(text(1, "name"), one(2, "state", kState), one(3, "lastState", kState),
                                 flag(4, "ready"), integer(5, "restartCount"), amounts(10, "allocatedResources"),
                                 one(11, "resources", kResources));

constexpr Table kPodCondition(text(1, "type"), text(2, "status"), time(4, "lastTransitionTime"), text(5, "reason"),
                              text(6, "message"), integer(7, "observedGeneration"));

constexpr Table kPodStatus(text(1, "phase"), many(2, "conditions", kPodCondition), text(4, "reason"),
                           time(7, "startTime"), many(8, "containerStatuses", kContainerStatus), text(9, "qosClass"),
                           many(10, "initContainerStatuses", kContainerStatus), text(11, "nominatedNodeName"),
                           many(13, "ephemeralContainerStatuses", kContainerStatus), amounts(19, "allocatedResources"),
                           one(20, "resources", kResources));

constexpr Table kPod(one(1, "metadata", kMeta), one(2, "spec", kPodSpec), one(3, "status", kPodStatus));

// ---------------------------------------------------------------- nodes, budgets and the small kinds

constexpr Table kNodeSpec(flag(4, "unschedulable"), many(5, "taints", kTaint));

constexpr Table kAddress(text(2, "address"));

constexpr Table kNodeCondition(text(1, "type"), text(2, "status"), time(4, "lastTransitionTime"), text(5, "reason"),
                               text(6, "message"));

constexpr Table kNodeStatus(amounts(1, "capacity"), amounts(2, "allocatable"), many(4, "conditions", kNodeCondition),
                            many(5, "addresses", kAddress));

constexpr Table kNode(one(1, "metadata", kMeta), one(2, "spec", kNodeSpec), one(3, "status", kNodeStatus));

constexpr Table kBudgetSpec(int_or_text(1, "minAvailable"), one(2, "selector", kLabelSelector),
                            int_or_text(3, "maxUnavailable"), text(4, "unhealthyPodEvictionPolicy"));

constexpr Table kCondition(text(1, "type"), text(2, "status"), integer(3, "observedGeneration"),
                           time(4, "lastTransitionTime"), text(5, "reason"), text(6, "message"));

constexpr Table kBudgetStatus(integer(1, "observedGeneration"), integer(3, "disruptionsAllowed"),
                              integer(4, "currentHealthy"), integer(5, "desiredHealthy"), integer(6, "expectedPods"),
                              many(7, "conditions", kCondition));

constexpr Table kBudget(one(1, "metadata", kMeta), one(2, "spec", kBudgetSpec), one(3, "status", kBudgetStatus));

constexpr Table kOnlyMeta(one(1, "metadata", kMeta));

constexpr Table kPriorityClass(one(1, "metadata", kMeta), integer(2, "value"), flag(3, "globalDefault"));

// ---------------------------------------------------------------- workloads

constexpr Table kReplicas(integer(1, "replicas"));

constexpr Table kReplicaSetStatus(integer(4, "readyReplicas"));
constexpr Table kReplicaSet(one(1, "metadata", kMeta), one(2, "spec", kReplicas), one(3, "status", kReplicaSetStatus));

constexpr Table kStatefulSetStatus(integer(3, "readyReplicas"));
constexpr Table kStatefulSet(one(1, "metadata", kMeta), one(2, "spec", kReplicas),
                             one(3, "status", kStatefulSetStatus));

constexpr Table kJobSpec(integer(1, "parallelism"), integer(8, "ttlSecondsAfterFinished"));
constexpr Table kJobStatus(integer(4, "active"));
constexpr Table kJob(one(1, "metadata", kMeta), one(2, "spec", kJobSpec), one(3, "status", kJobStatus));

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
