/// Rules about the pod itself (EvictabilityRules::refusal()).

#include <algorithm>
#include <span>

#include "api/core/pvc_risk.hpp"
#include "api/meta/well_known.hpp"
#include "api/virtual_machine.hpp"
#include "planner/scheduling/evictability_rules.hpp"
#include "planner/snapshot/autoscaler_marks.hpp"

namespace scheduling {
namespace {

using api::PodProtection;

constexpr std::string_view kConfigSourceAnnotation = "kubernetes.io/config.source";

/// The pod that a rule examines. Rules are pure functions and return nullopt if they do not object.
struct EvictionCandidate {
  const EvictabilityRules& rules;
  PodIndex index;
  const api::Pod& pod;
};
using EvictabilityRule = std::optional<Refusal> (*)(const EvictionCandidate& candidate);

/// Refuses claims in protected storage classes, or every claim if no classes are configured.
std::optional<Refusal> protected_claim(const EvictionCandidate& candidate, const std::string& name) {
  const auto& classes = candidate.rules.spec().pod_protections.protected_storage_classes;
  if (classes.empty()) return Refusal{"PodHasPVC", "it uses the PersistentVolumeClaim {subject}", name};
  const auto* claim = candidate.rules.cluster().find_claim(candidate.pod.meta.ns, name);
  if (claim == nullptr) {
    return Refusal{"PodHasPVC", "its PersistentVolumeClaim {subject} does not exist, so its class is unknown", name};
  }
  if (claim->storage_class.empty()) {
    return Refusal{"PodHasPVC", "its PersistentVolumeClaim {subject} has no storage class", name};
  }
  if (std::ranges::find(classes, claim->storage_class) == classes.end()) return std::nullopt;
  return Refusal{"PodHasPVC", "it uses a volume of the protected storage class {subject}", claim->storage_class};
}

bool is_on_local_disk(const EvictionCandidate& candidate, const api::Volume& volume) {
  const ClusterSnapshot& cluster = candidate.rules.cluster();
  const auto* claim = cluster.find_claim(candidate.pod.meta.ns, volume.source);
  const auto* bound = claim == nullptr ? nullptr : cluster.find_volume(claim->volume_name);
  return bound != nullptr && bound->is_local;
}

bool contains_name(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::string_view local_storage_text(api::VolumeKind kind) {
  using enum api::VolumeKind;
  switch (kind) {
    case kHostPath: return "its volume {subject} is local storage (hostPath)";
    case kEmptyDir: return "its volume {subject} is local storage (emptyDir)";
    case kEphemeral: return "its volume {subject} is local storage (an ephemeral volume is deleted with its pod)";
    case kPersistentVolumeClaim: return "its volume {subject} is local storage (a persistent volume of its node)";
    case kOther:
    case kSecret:
    case kConfigMap: break;
  }
  return "its volume {subject} is local storage";
}

std::optional<Refusal> refuse_namespace(const EvictionCandidate& candidate) {
  const auto& [include, exclude] = candidate.rules.spec().namespaces;
  const std::string& ns = candidate.pod.meta.ns;
  if (!include.empty() && !contains_name(include, ns)) {
    return Refusal{"NamespaceExcluded", "the namespace {subject} is not among namespaces.include", ns};
  }
  if (!contains_name(exclude, ns)) return std::nullopt;
  return Refusal{"NamespaceExcluded", "the namespace {subject} is among namespaces.exclude", ns};
}

/// Applies also with Compatibility::kUpstream and to pods with the evict annotation. The node requirements of an
/// oversized pod are ignored, so it is unknown where it would run.
std::optional<Refusal> refuse_oversized(const EvictionCandidate& candidate) {
  const std::string_view list = candidate.pod.oversized;
  if (list.empty()) return std::nullopt;
  return Refusal{"TooManyTerms", "its {subject} has more entries than planning supports", list};
}

std::optional<Refusal> refuse_prefer_no_eviction(const EvictionCandidate& candidate) {
  if (candidate.rules.spec().no_eviction_policy != api::NoEvictionPolicy::kMandatory) return std::nullopt;
  if (!candidate.pod.meta.annotations.contains(api::well_known::kPreferNoEviction)) return std::nullopt;
  return Refusal{"PrefersNoEviction",
                 "its annotation requests that it is not evicted, and noEvictionPolicy is Mandatory"};
}

std::optional<Refusal> refuse_mirror_pod(const EvictionCandidate& candidate) {
  if (!candidate.rules.cluster().is_mirror(candidate.index)) return std::nullopt;
  return Refusal{"MirrorPod", "it is a mirror pod: the kubelet owns it"};
}

std::optional<Refusal> refuse_static_pod(const EvictionCandidate& candidate) {
  const std::string* source = candidate.pod.meta.annotations.find(kConfigSourceAnnotation);
  if (source == nullptr || *source == "api") return std::nullopt;
  return Refusal{"StaticPod", "it is a static pod from the source {subject}", *source};
}

std::optional<Refusal> refuse_terminating(const EvictionCandidate& candidate) {
  if (!candidate.pod.meta.is_terminating()) return std::nullopt;
  return Refusal{"Terminating", "it is already terminating"};
}

/// Does not apply with Compatibility::kUpstream, which does not check claims. A pod with such a claim is not evicted in
/// that mode either, because its Evacuation fails (state-machine.md#data-safety).
std::optional<Refusal> refuse_risky_claims(const EvictionCandidate& candidate) {
  if (candidate.rules.is_upstream()) return std::nullopt;
  const ClusterSnapshot& cluster = candidate.rules.cluster();
  for (const api::Volume& volume : candidate.pod.volumes) {
    const auto* claim = api::uses_claim(volume) ? cluster.find_claim(candidate.pod.meta.ns, volume.source) : nullptr;
    switch (claim == nullptr ? api::PvcRisk::kNone : api::pvc_risk(*claim, candidate.pod)) {
      case api::PvcRisk::kNone: break;
      case api::PvcRisk::kBeingDeleted:
        return Refusal{"ClaimBeingDeleted",
                       "its PersistentVolumeClaim {subject} is being deleted, and would be lost with it",
                       volume.source};
      case api::PvcRisk::kLost:
        return Refusal{"ClaimLost", "its PersistentVolumeClaim {subject} is Lost, so it could not start again",
                       volume.source};
    }
  }
  return std::nullopt;
}

/// Refuses members of a scheduling.k8s.io PodGroup that is disrupted as a whole or does not exist. Does not apply with
/// Compatibility::kUpstream.
std::optional<Refusal> refuse_whole_pod_group(const EvictionCandidate& candidate) {
  const auto& name = candidate.pod.scheduling_group.get();
  if (candidate.rules.is_upstream() || name.empty()) return std::nullopt;
  const api::SchedulingPodGroup* group = candidate.rules.cluster().find_pod_group(candidate.pod.meta.ns, name);
  if (group == nullptr)
    return Refusal{"PodGroupUnknown",
                   "its PodGroup {subject} (scheduling.k8s.io) is unknown, and may have to leave as a whole", name};
  if (!group->is_disrupted_whole) return std::nullopt;
  return Refusal{
      "PodGroupLeavesWhole",
      "its PodGroup {subject} (scheduling.k8s.io) has disruptionMode All: its pods do not leave individually", name};
}

std::optional<Refusal> refuse_system_critical(const EvictionCandidate& candidate) {
  if (!candidate.rules.protects(PodProtection::kSystemCriticalPods)) return std::nullopt;
  if (!candidate.pod.priority || *candidate.pod.priority < kSystemCriticalPriority) return std::nullopt;
  return Refusal{"SystemCritical", "its priority {wanted} is system-critical", "", *candidate.pod.priority};
}

std::optional<Refusal> refuse_priority(const EvictionCandidate& candidate) {
  // Upstream installs the threshold together with the protection, so disabling the protection disables the threshold.
  const bool is_asked_for = candidate.rules.spec().priority_threshold && !candidate.rules.is_upstream();
  if (!is_asked_for && !candidate.rules.protects(PodProtection::kSystemCriticalPods)) return std::nullopt;
  const std::int32_t threshold = candidate.rules.priority_threshold();
  if (!candidate.pod.priority || *candidate.pod.priority < threshold) return std::nullopt;
  return Refusal{"PriorityTooHigh", "its priority {wanted} is not below the threshold {available}", "",
                 *candidate.pod.priority, threshold};
}

std::optional<Refusal> refuse_bare_pod(const EvictionCandidate& candidate) {
  if (!candidate.pod.meta.owner_references.empty()) return std::nullopt;
  const bool spares_failed = candidate.rules.protects(PodProtection::kFailedBarePods);
  if (!spares_failed && candidate.pod.phase == api::PodPhase::kFailed) return std::nullopt;
  return Refusal{"BarePod", "it has no owner that would recreate it"};
}

std::optional<Refusal> refuse_local_storage(const EvictionCandidate& candidate) {
  if (!candidate.rules.protects(PodProtection::kPodsWithLocalStorage)) return std::nullopt;
  const bool as_upstream = candidate.rules.is_upstream();
  const auto is_local = [&](const api::Volume& volume) {
    using enum api::VolumeKind;
    if (volume.kind == kHostPath) return true;
    if (volume.kind == kEmptyDir) return as_upstream || api::loses_empty_dirs(candidate.pod);
    if (as_upstream) return false;
    // A generic ephemeral volume is deleted with the pod, like an emptyDir. A claim on a local disk ties the pod to its
    // node.
    return volume.kind == kEphemeral || (volume.kind == kPersistentVolumeClaim && is_on_local_disk(candidate, volume));
  };
  const auto is_waived = [&](const api::Volume& volume) {
    return contains_name(candidate.rules.spec().pod_protections.ignored_volumes, volume.name) ||
           (candidate.rules.respects_autoscalers() && is_marked_safe_volume(candidate.pod, volume.name));
  };
  for (const api::Volume& volume : candidate.pod.volumes) {
    if (is_local(volume) && !is_waived(volume))
      return Refusal{"LocalStorage", local_storage_text(volume.kind), volume.name};
  }
  return std::nullopt;
}

std::optional<Refusal> refuse_daemon_set(const EvictionCandidate& candidate) {
  if (!candidate.rules.protects(PodProtection::kDaemonSetPods)) return std::nullopt;
  if (!candidate.rules.cluster().is_daemon_set(candidate.index)) return std::nullopt;
  return Refusal{"DaemonSetPod", "it belongs to a DaemonSet"};
}

std::optional<Refusal> refuse_claims(const EvictionCandidate& candidate) {
  if (!candidate.rules.protects(PodProtection::kPodsWithPVC)) return std::nullopt;
  for (const api::Volume& volume : candidate.pod.volumes) {
    const bool is_claim = volume.kind == api::VolumeKind::kPersistentVolumeClaim ||
                          (volume.kind == api::VolumeKind::kEphemeral && !candidate.rules.is_upstream());
    if (!is_claim) continue;
    if (auto refusal = protected_claim(candidate, volume.source)) return refusal;
  }
  return std::nullopt;
}

std::optional<Refusal> refuse_without_pdb(const EvictionCandidate& candidate) {
  if (!candidate.rules.protects(PodProtection::kPodsWithoutPDB)) return std::nullopt;
  const ClusterSnapshot& cluster = candidate.rules.cluster();
  const auto budgets = cluster.pdbs_in(cluster.namespace_of(candidate.index));
  const auto covers_pod = [&](std::uint32_t pdb) { return cluster.pdbs()[pdb]->covers(candidate.pod); };
  if (std::ranges::any_of(budgets, covers_pod)) return std::nullopt;
  return Refusal{"NoPDB", "no PodDisruptionBudget covers it"};
}

std::optional<Refusal> refuse_resource_claims(const EvictionCandidate& candidate) {
  if (!candidate.rules.protects(PodProtection::kPodsWithResourceClaims)) return std::nullopt;
  if (!candidate.pod.uses_resource_claims) return std::nullopt;
  return Refusal{"ResourceClaims", "it uses resource claims"};
}

std::optional<Refusal> refuse_labels(const EvictionCandidate& candidate) {
  const auto& selector = candidate.rules.spec().label_selector;
  if (!selector || selector->matches(candidate.pod.meta.labels)) return std::nullopt;
  return Refusal{"LabelsNotSelected", "labelSelector does not match its labels"};
}

std::optional<Refusal> refuse_few_replicas(const EvictionCandidate& candidate) {
  const std::uint32_t least = candidate.rules.spec().min_replicas;
  const std::size_t owners = candidate.pod.meta.owner_references.size();
  if (least <= 1 || owners == 0) return std::nullopt;
  const bool as_upstream = candidate.rules.is_upstream();
  if (as_upstream && owners != 1) return std::nullopt;
  const ClusterSnapshot& cluster = candidate.rules.cluster();
  // Upstream also counts terminal and terminating pods.
  const std::uint32_t replicas =
      as_upstream ? cluster.siblings(candidate.index) : cluster.living_siblings(candidate.index);
  if (replicas >= least) return std::nullopt;
  return Refusal{"TooFewReplicas", "its owner has {available} pods, minReplicas is {wanted}", "", least, replicas};
}

std::optional<Refusal> refuse_young(const EvictionCandidate& candidate) {
  const auto& least = candidate.rules.spec().min_pod_age;
  if (!least) return std::nullopt;
  if (!candidate.pod.start_time) return Refusal{"TooYoung", "it has not started, so it has no age for minPodAge"};
  const base::Duration age = candidate.rules.now() - *candidate.pod.start_time;
  if (age >= *least) return std::nullopt;
  const auto seconds = [](base::Duration d) { return std::chrono::duration_cast<base::seconds>(d).count(); };
  return Refusal{"TooYoung", "it started {available} s ago, minPodAge is {wanted} s", "", seconds(*least),
                 seconds(age)};
}

/// Returns how long after `created` the annotation's value opts the pod out: without limit, unless it is a duration, a
/// time or "false". An unparsable value counts as unlimited, so that a typo does not get the pod evicted.
base::Duration wished(const std::string& value, base::TimePoint created) {
  if (value == "false") return base::Duration::zero();
  if (const auto duration = base::parse_duration(value)) return *duration;
  if (const auto until = base::parse_time(value)) return *until - created;
  return base::Duration::max();
}

std::optional<Refusal> refuse_opted_out(const EvictionCandidate& candidate) {
  for (const api::OptOut& each : candidate.rules.spec().opt_outs) {
    const std::string* value = candidate.pod.meta.annotations.find(each.annotation);
    if (value == nullptr) continue;
    const base::TimePoint created = candidate.pod.meta.creation_timestamp;
    if (created == base::TimePoint{})
      return Refusal{"OptedOut",
                     "its annotation {subject} opts it out for a time after its start, and its age is unknown",
                     each.annotation};
    const base::Duration left =
        std::min(wished(*value, created), each.max_duration) - (candidate.rules.now() - created);
    if (left <= base::Duration::zero()) continue;
    return Refusal{"OptedOut", "its annotation {subject} opts it out for another {wanted} s", each.annotation,
                   std::chrono::ceil<base::seconds>(left).count()};
  }
  return std::nullopt;
}

std::optional<Refusal> refuse_autoscaler_annotations(const EvictionCandidate& candidate) {
  if (!candidate.rules.respects_autoscalers()) return std::nullopt;
  if (is_marked_unsafe(candidate.pod))
    return Refusal{"NotSafeToEvict", "its annotation {subject} is false", kSafeToEvictAnnotation};
  if (is_marked_to_complete(candidate.pod))
    return Refusal{"NotSafeToEvict", "its annotation {subject} is on-completion, and it has not terminated",
                   kSafeToEvictAnnotation};
  if (is_marked_undisruptable(candidate.pod, candidate.rules.now()))
    return Refusal{"DoNotDisrupt", "its annotation {subject} is set", kDoNotDisruptAnnotation};
  return std::nullopt;
}

/// Rules that apply even to pods with the evict annotation, because their eviction would have no effect or lose data.
constexpr EvictabilityRule kUnwaivableRules[] = {
    refuse_mirror_pod, refuse_static_pod, refuse_terminating, refuse_risky_claims, refuse_whole_pod_group,
};

/// Rules that the evict annotation disables: with any value except "false", or with any value in upstream mode.
constexpr EvictabilityRule kEvictabilityRules[] = {
    refuse_prefer_no_eviction,      // noEvictionPolicy Mandatory
    refuse_mirror_pod,              // the kubelet would restart it
    refuse_static_pod,              // the kubelet would restart it; recognized by its config source
    refuse_terminating,             // already being deleted
    refuse_risky_claims,            // a claim is Lost or being deleted, so its volume would be lost with the pod
    refuse_whole_pod_group,         // its scheduling.k8s.io PodGroup has disruptionMode All
    refuse_system_critical,         // protection SystemCriticalPods
    refuse_priority,                // priorityThreshold; disabled together with SystemCriticalPods
    refuse_bare_pod,                // no owner would recreate it; protection FailedBarePods includes failed ones
    refuse_local_storage,           // protection PodsWithLocalStorage: hostPath, emptyDir
    refuse_daemon_set,              // protection DaemonSetPods
    refuse_claims,                  // protection PodsWithPVC, by storage class if configured
    refuse_without_pdb,             // protection PodsWithoutPDB
    refuse_resource_claims,         // protection PodsWithResourceClaims
    refuse_labels,                  // labelSelector
    refuse_few_replicas,            // minReplicas, if above 1
    refuse_young,                   // minPodAge, compared with status.startTime
    refuse_autoscaler_annotations,  // safe-to-evict "false" or "on-completion", do-not-disrupt
    refuse_opted_out,               // optOuts, until they expire
};

std::optional<Refusal> first_objection(std::span<const EvictabilityRule> rules, const EvictionCandidate& candidate) {
  for (const EvictabilityRule rule : rules) {
    if (auto refusal = rule(candidate)) return refusal;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> EvictabilityRules::refusal(PodIndex pod) const {
  const EvictionCandidate candidate{*this, pod, cluster_->pod(pod)};
  if (auto refusal = refuse_namespace(candidate)) return refusal;
  if (auto refusal = refuse_oversized(candidate)) return refusal;
  const std::string* annotation = candidate.pod.meta.annotations.find(api::well_known::kEvictAnnotation);
  if (annotation != nullptr && is_upstream()) return std::nullopt;
  if (annotation != nullptr && *annotation == "false") {
    return Refusal{"AsksToStay", "its annotation {subject} is false", api::well_known::kEvictAnnotation};
  }
  if (annotation != nullptr) return first_objection(kUnwaivableRules, candidate);
  return first_objection(kEvictabilityRules, candidate);
}

}  // namespace scheduling
