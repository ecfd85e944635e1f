#pragma once

/// Compact values for the parts of Kubernetes' kinds that the operator reads. Decoding is lenient: unknown fields are
/// skipped, fields of a wrong type count as absent (api/core/codec.hpp).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/meta/condition.hpp"
#include "api/meta/object_meta.hpp"
#include "api/meta/quantity.hpp"
#include "api/meta/selector.hpp"
#include "api/meta/shared.hpp"

namespace api {

/// Resource names ("cpu", "memory", "nvidia.com/gpu") and amounts, sorted by name.
using ResourceList = std::vector<std::pair<std::string, Quantity>>;
using SharedResources = SharedList<std::pair<std::string, Quantity>>;

/// Returns the amount of `name`, or zero.
Quantity amount_of(const ResourceList& resources, std::string_view name);
/// Adds to the amount of `name`; inserts it in order if absent.
void add_amount(ResourceList& resources, std::string_view name, Quantity amount);

/// A field that could not be read and counts as absent.
struct UnreadField {
  std::string path;  ///< "spec.containers[0].resources.requests.memory"
  std::string text;
  friend bool operator==(const UnreadField&, const UnreadField&) = default;
};
/// nullptr if all fields could be read, which is true for nearly all objects.
using UnreadFields = std::shared_ptr<const std::vector<UnreadField>>;

enum class TaintEffect { kNoSchedule, kPreferNoSchedule, kNoExecute, kOther };  ///< kOther: unknown effect
struct Taint {
  std::string key;
  std::string value;
  TaintEffect effect = TaintEffect::kNoSchedule;
  friend bool operator==(const Taint&, const Taint&) = default;
};

/// How a toleration with a value compares with the value of a taint. Lt and Gt need integers on both sides. kNever is
/// for an unknown operator or effect: the toleration tolerates nothing.
enum class TolerationComparison { kEqual, kLessThan, kGreaterThan, kNever };
struct Toleration {
  std::string key;      ///< empty with Exists = every key
  bool exists = false;  ///< operator Exists; otherwise `comparison` applies
  std::string value;
  std::optional<TaintEffect> effect;  ///< nullopt = every effect
  std::optional<base::seconds> toleration_seconds;
  TolerationComparison comparison = TolerationComparison::kEqual;

  bool tolerates(const Taint& taint) const;
  friend bool operator==(const Toleration&, const Toleration&) = default;
};

/// One nodeSelectorTerm: all requirements must hold. A term without requirements matches nothing.
struct NodeSelectorTerm {
  std::vector<SelectorRequirement> match_expressions;
  std::vector<SelectorRequirement> match_fields;  ///< metadata.name only
  friend bool operator==(const NodeSelectorTerm&, const NodeSelectorTerm&) = default;
};

struct PreferredNodeTerm {
  int weight = 1;
  NodeSelectorTerm term;
  friend bool operator==(const PreferredNodeTerm&, const PreferredNodeTerm&) = default;
};

struct PodAffinityTerm {
  std::optional<LabelSelector> label_selector;  ///< nullopt matches no pod
  std::vector<std::string> namespaces;
  std::optional<LabelSelector> namespace_selector;  ///< nullopt and no namespaces = the pod's own namespace
  std::string topology_key;
  std::vector<std::string> match_label_keys;
  std::vector<std::string> mismatch_label_keys;
  friend bool operator==(const PodAffinityTerm&, const PodAffinityTerm&) = default;
};

/// Required and preferred affinities. Most pods have none, so Pod stores a pointer.
struct Affinity {
  std::optional<std::vector<NodeSelectorTerm>> required_node_terms;  ///< ORed
  std::vector<PreferredNodeTerm> preferred_node_terms;
  std::vector<PodAffinityTerm> required_pod_affinity;
  std::vector<PodAffinityTerm> required_pod_anti_affinity;
  std::vector<std::pair<int, PodAffinityTerm>> preferred_pod_affinity;
  std::vector<std::pair<int, PodAffinityTerm>> preferred_pod_anti_affinity;
  bool has_node_affinity = false;  ///< the pod has nodeAffinity, even if empty
  friend bool operator==(const Affinity&, const Affinity&) = default;
};

struct TopologySpreadConstraint {
  std::int32_t max_skew = 1;
  std::string topology_key;
  bool schedule_anyway = false;  ///< whenUnsatisfiable: ScheduleAnyway
  std::optional<LabelSelector> label_selector;
  std::optional<std::int32_t> min_domains;
  bool honor_node_affinity = true;  ///< nodeAffinityPolicy, default Honor
  bool honor_node_taints = false;   ///< nodeTaintsPolicy, default Ignore
  std::vector<std::string> match_label_keys;
  friend bool operator==(const TopologySpreadConstraint&, const TopologySpreadConstraint&) = default;
};

struct HostPort {
  std::string ip;        ///< "" and "0.0.0.0" mean all addresses
  std::string protocol;  ///< "TCP", "UDP", "SCTP"
  std::int32_t port = 0;
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

struct Container {
  std::string name;
  std::string image;
  ResourceList requests;
  ResourceList limits;
  std::vector<HostPort> host_ports;
  bool restart_always = false;  ///< sidecar: an init container with restartPolicy Always
  /// Resources held on the node during an in-place resize, nullptr if equal to the requests.
  std::shared_ptr<const ResourceList> held{};
  friend bool operator==(const Container&, const Container&) = default;
};

struct PersistentVolumeClaim;

enum class VolumeKind { kOther, kPersistentVolumeClaim, kHostPath, kEmptyDir, kSecret, kConfigMap, kEphemeral };
struct Volume {
  VolumeKind kind = VolumeKind::kOther;
  std::string source{};         ///< claim name for PVC; "<pod>-<volume>" for ephemeral volumes
  std::string storage_class{};  ///< ephemeral: class of its claims, "" for the default class
  /// Ephemeral: claim that each pod gets, nullptr if its template contains only the class.
  std::shared_ptr<const PersistentVolumeClaim> claim_template{};
  std::string name{};  ///< name in spec.volumes; only for host paths, emptyDirs, ephemeral volumes and claims
  friend bool operator==(const Volume& a, const Volume& b) {
    return a.kind == b.kind && a.source == b.source && a.storage_class == b.storage_class && a.name == b.name;
  }
};

/// kNone means not written yet or unknown; its text is "". Such a pod is active.
enum class PodPhase { kNone, kPending, kRunning, kSucceeded, kFailed, kUnknown };
std::string_view to_string(PodPhase phase);

struct ContainerStatus {
  std::string name;
  std::int32_t restart_count = 0;
  bool ready = false;
  bool is_init = false;
  bool is_ephemeral = false;              ///< from status.ephemeralContainerStatuses
  std::string waiting_reason;             ///< state.waiting.reason
  std::string terminated_reason;          ///< state.terminated.reason
  std::optional<std::int32_t> exit_code;  ///< state.terminated.exitCode
  std::optional<base::TimePoint> finished_at;
  std::string last_terminated_reason;  ///< lastState.terminated.reason
  std::optional<std::int32_t> last_exit_code;
  std::optional<base::TimePoint> last_finished_at;
  friend bool operator==(const ContainerStatus&, const ContainerStatus&) = default;
};

/// Like Condition, with shared texts, because few different texts exist.
struct PodCondition {
  SharedText type;
  ConditionStatus status = ConditionStatus::kUnknown;
  SharedText reason;
  SharedText message;
  std::int64_t observed_generation = 0;
  base::TimePoint last_transition_time{};
  friend bool operator==(const PodCondition&, const PodCondition&) = default;
};

/// Entry of spec.evictionResponders: a component that responds when the EvictionRequest API moves the pod.
struct PodResponder {
  std::string name;
  std::int64_t priority = 0;  ///< higher goes first
  friend bool operator==(const PodResponder&, const PodResponder&) = default;
};

/// Maximum length of each list of a pod that limit_lists() checks. Real pods have a few entries.
inline constexpr std::size_t kMaxPodTerms = 256;
/// Maximum number of expressions, values, namespaces and label keys in a pod's affinity and spread constraints
/// together.
inline constexpr std::size_t kMaxPodTermParts = 4096;

/// A pod. Parts that all pods of a workload have in common are Shared, and stored once after share_parts().
struct Pod {
  ObjectMeta meta;

  NodeName node_name;       ///< empty if not scheduled
  NodeName nominated_node;  ///< node on which the scheduler preempts pods for this one; empty once scheduled
  SharedText scheduler_name;
  std::optional<std::int32_t> priority;
  SharedText priority_class_name;
  StringMap node_selector;
  std::shared_ptr<const Affinity> affinity;  ///< nullptr if none
  SharedList<Toleration> tolerations;
  SharedList<TopologySpreadConstraint> topology_spread;
  SharedList<Container> containers;
  SharedList<Container> init_containers;
  SharedList<Volume> volumes;
  SharedResources overhead;
  SharedResources pod_requests;  ///< spec.resources.requests (pod level)
  SharedResources pod_limits;
  /// Pod-level resources held on the node, like Container::held.
  std::shared_ptr<const ResourceList> held_pod_requests;
  bool host_network = false;
  bool uses_resource_claims = false;
  bool makes_resource_claims = false;       ///< at least one claim comes from a template, so each pod gets its own
  SharedList<std::string> resource_claims;  ///< names of existing ResourceClaims, possibly shared with other pods
  bool has_scheduling_gates = false;
  bool has_scheduling_group = false;
  SharedText scheduling_group;  ///< spec.schedulingGroup.podGroupName: a SchedulingPodGroup in the pod's namespace
  SharedList<PodResponder> eviction_responders;
  SharedText restart_policy;
  std::optional<std::int64_t> termination_grace_period_seconds;

  PodPhase phase = PodPhase::kNone;
  SharedText status_reason;  ///< status.reason, such as "Evicted"
  SharedText qos_class;
  std::optional<base::TimePoint> start_time;
  std::vector<PodCondition> conditions;
  SharedList<ContainerStatus> container_statuses;

  UnreadFields unread;  ///< quantities that could not be read
  /// Path of a list longer than kMaxPodTerms, such as "spec.tolerations"; empty if none. Such a pod is never moved, and
  /// its affinity, tolerations and spread constraints are empty here. Static text.
  std::string_view oversized{};

  PodUid uid() const { return {meta.uid}; }
  bool is_terminal() const { return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed; }
  bool is_ready() const;
  bool is_mirror() const;      ///< mirror of a static pod: annotation kubernetes.io/config.mirror
  bool is_daemon_set() const;  ///< has an ownerReference of kind DaemonSet

  /// Shares the storage of equal parts with other pods. Call it for pods that are kept.
  void share_parts();
};

inline constexpr std::size_t kMaxNodeAddresses = 16;
struct Node {
  ObjectMeta meta;
  bool unschedulable = false;
  std::vector<Taint> taints;
  ResourceList capacity;
  ResourceList allocatable;
  std::vector<Condition> conditions;
  std::vector<std::string> addresses{};  ///< IPs and host names of the node, at most kMaxNodeAddresses
  UnreadFields unread;                   ///< quantities that could not be read

  NodeName name() const { return {meta.name}; }
  bool is_ready() const;            ///< condition Ready is True
  const std::string& zone() const;  ///< label topology.kubernetes.io/zone, or its legacy name; "" if none
};

/// Number or percentage, as in maxUnavailable and limits.
struct IntOrPercent {
  std::int64_t value = 0;
  bool percent = false;
  friend bool operator==(const IntOrPercent&, const IntOrPercent&) = default;
};

struct PodDisruptionBudget {
  ObjectMeta meta;
  /// In policy/v1, nullopt matches no pod, and empty matches all; in v1beta1, both match none.
  std::optional<LabelSelector> selector;
  std::optional<IntOrPercent> min_available;
  std::optional<IntOrPercent> max_unavailable;
  bool always_allow_unhealthy = false;  ///< unhealthyPodEvictionPolicy: AlwaysAllow
  bool from_v1beta1 = false;
  std::int64_t observed_generation = 0;
  std::int32_t disruptions_allowed = 0;
  std::int32_t current_healthy = 0;
  std::int32_t desired_healthy = 0;
  std::int32_t expected_pods = 0;
  std::string sync_failure;  ///< why its controller cannot compute it, empty if no failure is reported

  bool covers(const Pod& pod) const;
};

struct Namespace {
  ObjectMeta meta;
};

struct PriorityClass {
  ObjectMeta meta;
  std::int32_t value = 0;
  bool global_default = false;
};

struct PersistentVolumeClaim {
  ObjectMeta meta;
  std::string volume_name;    ///< "" if not bound yet
  std::string storage_class;  ///< "" if none, or not assigned yet
  Quantity request;           ///< requested storage
  std::vector<std::string> access_modes;
  bool wants_block = false;                 ///< volumeMode: Block
  std::string attributes_class{};           ///< volumeAttributesClassName
  std::optional<LabelSelector> selector{};  ///< selects volumes
};

struct PersistentVolume {
  ObjectMeta meta;
  std::vector<NodeSelectorTerm> required_node_terms;
  bool is_local = false;    ///< spec.local or spec.hostPath: bound to one node
  bool is_claimed = false;  ///< spec.claimRef
  std::string storage_class;
  std::string csi_driver;  ///< also set for volumes of in-tree plugins that were migrated to CSI; "" if not CSI
  Quantity capacity;       ///< storage capacity
  std::vector<std::string> access_modes;
  bool is_block = false;           ///< volumeMode: Block
  std::string attributes_class{};  ///< volumeAttributesClassName
  std::string phase{};             ///< "Available", "Bound"…; "" if not set
  ObjectKey claim{};               ///< claim in spec.claimRef; claim_uid is its UID, if set
  std::string claim_uid{};
};

struct StorageClass {
  ObjectMeta meta;
  std::string provisioner;                           ///< also the name of the CSI driver
  bool waits_for_pod = false;                        ///< volumeBindingMode: WaitForFirstConsumer
  bool makes_volumes = false;                        ///< its provisioner is not kubernetes.io/no-provisioner
  bool is_default = false;                           ///< annotation storageclass.kubernetes.io/is-default-class
  std::vector<NodeSelectorTerm> allowed_topologies;  ///< ORed; empty = anywhere
};

/// Maximum number of volumes that each CSI driver can attach to a node.
struct CsiNode {
  struct Driver {
    std::string name;
    std::optional<std::int32_t> max_volumes;  ///< nullopt if no limit is known
    friend bool operator==(const Driver&, const Driver&) = default;
  };
  ObjectMeta meta;  ///< its name is the node's name
  std::vector<Driver> drivers;
};

/// Devices for pods (dynamic resource allocation).
struct ResourceClaim {
  ObjectMeta meta;
  bool is_allocated = false;
  std::vector<NodeSelectorTerm> node_terms;  ///< where the allocated devices are, ORed; empty = anywhere
};

/// PodGroup of scheduling.k8s.io: pods that the scheduler treats as a unit. Not api::PodGroup, which Evacuator derives
/// from labels and annotations.
struct SchedulingPodGroup {
  ObjectMeta meta;
  bool is_disrupted_whole = false;  ///< spec.disruptionMode is All (v1alpha2: PodGroup)
};

/// ReplicaSet, Deployment, StatefulSet, ReplicationController or Job, with the fields needed for limits and
/// protections.
struct Workload {
  std::string kind;
  ObjectMeta meta;
  std::int32_t replicas = 0;                               ///< spec.replicas (Job: parallelism)
  std::int32_t ready_replicas = 0;                         ///< status.readyReplicas
  std::optional<std::int64_t> ttl_seconds_after_finished;  ///< Jobs only
};

}  // namespace api
