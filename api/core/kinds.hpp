#pragma once

/// The parts of Kubernetes' own kinds that we read, as compact values. Decoding is lenient: unknown fields are
/// skipped, wrong types count as absent (api/core/codec.hpp).

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

/// Resource name ("cpu", "memory", "nvidia.com/gpu") with its amount, sorted by name.
using ResourceList = std::vector<std::pair<std::string, Quantity>>;
using SharedResources = SharedList<std::pair<std::string, Quantity>>;

/// The amount of `name`, or zero.
Quantity amount_of(const ResourceList& resources, std::string_view name);
/// Adds to the amount of `name`, inserting it in order when absent.
void add_amount(ResourceList& resources, std::string_view name, Quantity amount);

/// A field that could not be read, so that it counts as absent, with what stood there.
struct UnreadField {
  std::string path;  ///< "spec.containers[0].resources.requests.memory"
  std::string text;
  friend bool operator==(const UnreadField&, const UnreadField&) = default;
};
/// nullptr: everything could be read, as with nearly all objects.
using UnreadFields = std::shared_ptr<const std::vector<UnreadField>>;

enum class TaintEffect { kNoSchedule, kPreferNoSchedule, kNoExecute, kOther };  ///< kOther: none that we know
struct Taint {
  std::string key;
  std::string value;
  TaintEffect effect = TaintEffect::kNoSchedule;
  friend bool operator==(const Taint&, const Taint&) = default;
};

/// How a toleration with a value compares the taint's with it. Lt and Gt want whole numbers on both sides. kNever: of
/// an operator or effect that we do not know, so it tolerates nothing.
enum class TolerationComparison { kEqual, kLessThan, kGreaterThan, kNever };
struct Toleration {
  std::string key;      ///< empty with Exists: every key
  bool exists = false;  ///< operator Exists; otherwise `comparison`
  std::string value;
  std::optional<TaintEffect> effect;  ///< absent: every effect
  std::optional<base::seconds> toleration_seconds;
  TolerationComparison comparison = TolerationComparison::kEqual;

  bool tolerates(const Taint& taint) const;
  friend bool operator==(const Toleration&, const Toleration&) = default;
};

/// One nodeSelectorTerm: all of its requirements must hold. A term with none matches nothing.
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
  std::optional<LabelSelector> label_selector;  ///< absent matches no pod
  std::vector<std::string> namespaces;
  std::optional<LabelSelector> namespace_selector;  ///< absent and no namespaces: the pod's own
  std::string topology_key;
  std::vector<std::string> match_label_keys;
  std::vector<std::string> mismatch_label_keys;
  friend bool operator==(const PodAffinityTerm&, const PodAffinityTerm&) = default;
};

/// Required and preferred affinities. Most pods have none, so a Pod holds a pointer to it.
struct Affinity {
  std::optional<std::vector<NodeSelectorTerm>> required_node_terms;  ///< ORed
  std::vector<PreferredNodeTerm> preferred_node_terms;
  std::vector<PodAffinityTerm> required_pod_affinity;
  std::vector<PodAffinityTerm> required_pod_anti_affinity;
  std::vector<std::pair<int, PodAffinityTerm>> preferred_pod_affinity;
  std::vector<std::pair<int, PodAffinityTerm>> preferred_pod_anti_affinity;
  bool has_node_affinity = false;  ///< the pod writes nodeAffinity, if only an empty one
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
  bool restart_always = false;  ///< an init container with restartPolicy Always: a sidecar
  /// What it holds of its node while it is being resized (in-place resize); nullptr: as much as it requests.
  std::shared_ptr<const ResourceList> held{};
  friend bool operator==(const Container&, const Container&) = default;
};

struct PersistentVolumeClaim;

enum class VolumeKind { kOther, kPersistentVolumeClaim, kHostPath, kEmptyDir, kSecret, kConfigMap, kEphemeral };
struct Volume {
  VolumeKind kind = VolumeKind::kOther;
  std::string source{};         ///< claim name for PVC; "<pod>-<volume>" for ephemeral
  std::string storage_class{};  ///< ephemeral: what its claims ask for; "" the default class
  /// Ephemeral: the claim that each pod gets; nullptr: its template says no more than the class.
  std::shared_ptr<const PersistentVolumeClaim> claim_template{};
  std::string name{};  ///< in spec.volumes; only of host paths, emptyDirs, ephemeral volumes and claims
  friend bool operator==(const Volume& a, const Volume& b) {
    return a.kind == b.kind && a.source == b.source && a.storage_class == b.storage_class && a.name == b.name;
  }
};

/// kNone: not written yet, or a phase that we do not know. Such a pod is active; its text is "".
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

/// As Condition, but its texts are of few kinds.
struct PodCondition {
  SharedText type;
  ConditionStatus status = ConditionStatus::kUnknown;
  SharedText reason;
  SharedText message;
  std::int64_t observed_generation = 0;
  base::TimePoint last_transition_time{};
  friend bool operator==(const PodCondition&, const PodCondition&) = default;
};

/// An entry of spec.evictionResponders: who wants a say when the EvictionRequest API moves the pod.
struct PodResponder {
  std::string name;
  std::int64_t priority = 0;  ///< higher goes first
  friend bool operator==(const PodResponder&, const PodResponder&) = default;
};

/// Maximum length of each list of a pod that limit_lists() checks. Real pods have a few entries.
inline constexpr std::size_t kMaxPodTerms = 256;
/// Expressions, values, namespaces and label keys of a pod's affinity and spread constraints, all together.
inline constexpr std::size_t kMaxPodTermParts = 4096;

/// What the pods of a workload have alike is Shared: one in memory for all of them, once share_parts() was called.
struct Pod {
  ObjectMeta meta;

  NodeName node_name;       ///< empty: not scheduled
  NodeName nominated_node;  ///< where the scheduler has made room for it; empty once it is scheduled
  SharedText scheduler_name;
  std::optional<std::int32_t> priority;
  SharedText priority_class_name;
  StringMap node_selector;
  std::shared_ptr<const Affinity> affinity;  ///< nullptr: none
  SharedList<Toleration> tolerations;
  SharedList<TopologySpreadConstraint> topology_spread;
  SharedList<Container> containers;
  SharedList<Container> init_containers;
  SharedList<Volume> volumes;
  SharedResources overhead;
  SharedResources pod_requests;  ///< spec.resources.requests (pod level)
  SharedResources pod_limits;
  std::shared_ptr<const ResourceList> held_pod_requests;  ///< as Container::held
  bool host_network = false;
  bool uses_resource_claims = false;
  bool makes_resource_claims = false;       ///< one of them by a template: each pod gets a claim of its own
  SharedList<std::string> resource_claims;  ///< the ResourceClaims that it names, shared with others
  bool has_scheduling_gates = false;
  bool has_scheduling_group = false;
  SharedText scheduling_group;  ///< spec.schedulingGroup.podGroupName: a SchedulingPodGroup of its namespace
  SharedList<PodResponder> eviction_responders;
  SharedText restart_policy;
  std::optional<std::int64_t> termination_grace_period_seconds;

  PodPhase phase = PodPhase::kNone;
  SharedText status_reason;  ///< status.reason, such as "Evicted"
  SharedText qos_class;
  std::optional<base::TimePoint> start_time;
  std::vector<PodCondition> conditions;
  SharedList<ContainerStatus> container_statuses;

  UnreadFields unread;  ///< quantities
  /// Path of the list that is longer than kMaxPodTerms, such as "spec.tolerations"; empty: none is. Such a pod is never
  /// moved, and has no affinity, tolerations and spread constraints here. Static text.
  std::string_view oversized{};

  PodUid uid() const { return {meta.uid}; }
  bool is_terminal() const { return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed; }
  /// Condition Ready is True.
  bool is_ready() const;
  bool is_mirror() const;      ///< static pod's shadow: annotation kubernetes.io/config.mirror
  bool is_daemon_set() const;  ///< an ownerReference of kind DaemonSet

  /// Makes its parts one in memory with equal ones of other pods that did the same. For pods that are kept.
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
  std::vector<std::string> addresses{};  ///< IPs and host names by which others may know it, at most kMaxNodeAddresses
  UnreadFields unread;                   ///< quantities

  NodeName name() const { return {meta.name}; }
  bool is_ready() const;            ///< condition Ready is True
  const std::string& zone() const;  ///< topology.kubernetes.io/zone, else the label's old name; "": none
};

/// Number or percentage, as in maxUnavailable and limits.
struct IntOrPercent {
  std::int64_t value = 0;
  bool percent = false;
  friend bool operator==(const IntOrPercent&, const IntOrPercent&) = default;
};

struct PodDisruptionBudget {
  ObjectMeta meta;
  std::optional<LabelSelector> selector;  ///< policy/v1: absent none, empty all; v1beta1: both none
  std::optional<IntOrPercent> min_available;
  std::optional<IntOrPercent> max_unavailable;
  bool always_allow_unhealthy = false;  ///< unhealthyPodEvictionPolicy: AlwaysAllow
  bool from_v1beta1 = false;
  std::int64_t observed_generation = 0;
  std::int32_t disruptions_allowed = 0;
  std::int32_t current_healthy = 0;
  std::int32_t desired_healthy = 0;
  std::int32_t expected_pods = 0;
  std::string sync_failure;  ///< why its controller cannot work it out; empty: it can, or does not say

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
  std::string volume_name;    ///< "": not bound yet
  std::string storage_class;  ///< "": none, or not given one yet
  Quantity request;           ///< of storage
  std::vector<std::string> access_modes;
  bool wants_block = false;                 ///< volumeMode: Block
  std::string attributes_class{};           ///< volumeAttributesClassName
  std::optional<LabelSelector> selector{};  ///< of volumes
};

struct PersistentVolume {
  ObjectMeta meta;
  std::vector<NodeSelectorTerm> required_node_terms;
  bool is_local = false;    ///< spec.local or spec.hostPath: a disk of one node
  bool is_claimed = false;  ///< spec.claimRef
  std::string storage_class;
  std::string csi_driver;  ///< also of a volume that was moved to CSI with its plugin; "": not by CSI
  Quantity capacity;       ///< of storage
  std::vector<std::string> access_modes;
  bool is_block = false;           ///< volumeMode: Block
  std::string attributes_class{};  ///< volumeAttributesClassName
  std::string phase{};             ///< "Available", "Bound"…; "": none is written
  ObjectKey claim{};               ///< of spec.claimRef, with the UID of the claim that it is bound to, if any
  std::string claim_uid{};
};

struct StorageClass {
  ObjectMeta meta;
  std::string provisioner;                           ///< also the name of the CSI driver
  bool waits_for_pod = false;                        ///< volumeBindingMode: WaitForFirstConsumer
  bool makes_volumes = false;                        ///< its provisioner is not kubernetes.io/no-provisioner
  bool is_default = false;                           ///< annotation storageclass.kubernetes.io/is-default-class
  std::vector<NodeSelectorTerm> allowed_topologies;  ///< ORed; none: anywhere
};

/// How many volumes of a CSI driver a node can have attached.
struct CsiNode {
  struct Driver {
    std::string name;
    std::optional<std::int32_t> most_volumes;  ///< absent: no limit is known
    friend bool operator==(const Driver&, const Driver&) = default;
  };
  ObjectMeta meta;  ///< the node's name
  std::vector<Driver> drivers;
};

/// Devices for pods (dynamic resource allocation).
struct ResourceClaim {
  ObjectMeta meta;
  bool is_allocated = false;
  std::vector<NodeSelectorTerm> node_terms;  ///< where the allocated devices are, ORed; none: anywhere
};

/// A PodGroup of scheduling.k8s.io: pods that the scheduler treats as one. Not api::PodGroup, which Evacuator makes of
/// labels and annotations.
struct SchedulingPodGroup {
  ObjectMeta meta;
  bool is_disrupted_whole = false;  ///< spec.disruptionMode is All (v1alpha2: PodGroup)
};

/// ReplicaSet, Deployment, StatefulSet, ReplicationController, Job: what the limits and protections need.
struct Workload {
  std::string kind;
  ObjectMeta meta;
  std::int32_t replicas = 0;                               ///< spec.replicas (Job: parallelism)
  std::int32_t ready_replicas = 0;                         ///< status.readyReplicas
  std::optional<std::int64_t> ttl_seconds_after_finished;  ///< Jobs only
};

}  // namespace api
