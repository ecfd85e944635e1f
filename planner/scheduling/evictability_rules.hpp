#pragma once

/// Decides whether a pod may be evicted at all. Reproduces upstream's DefaultEvictor exactly with
/// Compatibility::kUpstream (upstream-semantics.md#filter); otherwise its faults are fixed (docs/compatibility.md).
/// Adds the namespace scope.

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/json/field_path.hpp"
#include "planner/scheduling/predicates.hpp"
#include "planner/scheduling/refusal.hpp"
#include "planner/scheduling/what_if.hpp"

namespace scheduling {

/// spec.evictability prepared for one snapshot: names are resolved and candidate nodes selected. Keeps references to
/// the spec and the snapshot. Even const methods are not thread-safe, because the node where the last pod fitted is
/// cached.
class EvictabilityRules {
 public:
  /// Adds an error to `errors`, with a path under `path`, if the PriorityClass does not exist or the threshold is above
  /// system-critical. The default threshold is then in force instead of the requested one; callers must not act on the
  /// result.
  EvictabilityRules(const api::Evictability& spec, const ClusterSnapshot& cluster, base::TimePoint now,
                    api::FieldErrors& errors, api::Compatibility compatibility = api::Compatibility::kNone,
                    const api::FieldPath& path = api::FieldPath("spec.evictability"));

  /// Applies upstream's Filter, which depends only on the pod itself. Returns the first refusal, or nullopt if the pod
  /// may be evicted.
  std::optional<Refusal> refusal(PodIndex pod) const;
  /// Applies upstream's PreEvictionFilter: another node that the pod fits (nodeFit), and the namespace's labels.
  /// `cluster` is the hypothetical cluster at this point of the plan; it must be based on the same snapshot.
  std::optional<Refusal> refusal_before_eviction(PodIndex pod, const WhatIf& cluster) const;

  /// Returns refusal.message(). For NoOtherNodeFits, appends the reasons, grouped by rule.
  std::string explain(const Refusal& refusal, PodIndex pod, const WhatIf& cluster) const;

  /// Part of refusal_before_eviction() that is independent of pod placement: the namespace's labels.
  std::optional<Refusal> refusal_by_namespace(PodIndex pod) const;

  const api::Evictability& spec() const { return *spec_; }
  const ClusterSnapshot& cluster() const { return *cluster_; }
  base::TimePoint now() const { return now_; }
  bool protects(api::PodProtection protection) const;
  std::int32_t priority_threshold() const { return priority_threshold_; }
  bool is_upstream() const { return compatibility_ == api::Compatibility::kUpstream; }
  /// Returns the reason if an annotation keeps autoscalers from removing `node` once it is empty. Returns nullopt if
  /// there is none or autoscaler annotations are ignored.
  std::optional<Refusal> refusal_to_empty(NodeIndex node) const;
  /// spec.evictability.autoscalerAnnotations.
  bool respects_autoscalers() const;
  /// Level of node fit checks, here and in strategies that check node fit themselves.
  FitLevel fit_level() const;

 private:
  bool fits_another_node(PodIndex pod, const WhatIf& cluster) const;

  const api::Evictability* spec_;
  const ClusterSnapshot* cluster_;
  base::TimePoint now_;
  api::Compatibility compatibility_;
  std::uint32_t protections_ = 0;  ///< bit per api::PodProtection
  std::int32_t priority_threshold_;
  std::vector<NodeIndex> candidate_nodes_;
  /// Position in candidate_nodes_ where the last pod fitted; the next pod is likely to fit there too.
  mutable std::size_t last_fit_ = 0;
};

/// Pods with this priority or a higher one are system-critical.
inline constexpr std::int32_t kSystemCriticalPriority = 2'000'000'000;

/// The pod that a rule examines. Rules are pure functions and return nullopt if they do not object.
struct EvictionCandidate {
  const EvictabilityRules& rules;
  PodIndex index;
  const api::Pod& pod;
};
using EvictabilityRule = std::optional<Refusal> (*)(const EvictionCandidate& candidate);

std::optional<Refusal> refuse_namespace(const EvictionCandidate& candidate);
/// Applies also with Compatibility::kUpstream and to pods with the evict annotation. The node requirements of an
/// oversized pod are ignored, so it is unknown where it would run.
std::optional<Refusal> refuse_oversized(const EvictionCandidate& candidate);
std::optional<Refusal> refuse_prefer_no_eviction(const EvictionCandidate& candidate);
std::optional<Refusal> refuse_mirror_pod(const EvictionCandidate& candidate);
std::optional<Refusal> refuse_static_pod(const EvictionCandidate& candidate);
std::optional<Refusal> refuse_terminating(const EvictionCandidate& candidate);
/// Does not apply with Compatibility::kUpstream, which does not check claims. A pod with such a claim is not evicted in
/// that mode either, because its Evacuation fails (state-machine.md#data-safety).
std::optional<Refusal> refuse_risky_claims(const EvictionCandidate& candidate);
/// Refuses members of a scheduling.k8s.io PodGroup that is disrupted as a whole or does not exist. Does not apply with
/// Compatibility::kUpstream.
std::optional<Refusal> refuse_whole_pod_group(const EvictionCandidate& candidate);
std::optional<Refusal> refuse_system_critical(const EvictionCandidate& candidate);
std::optional<Refusal> refuse_priority(const EvictionCandidate& candidate);
std::optional<Refusal> refuse_bare_pod(const EvictionCandidate& candidate);
std::optional<Refusal> refuse_local_storage(const EvictionCandidate& candidate);
std::optional<Refusal> refuse_daemon_set(const EvictionCandidate& candidate);
std::optional<Refusal> refuse_claims(const EvictionCandidate& candidate);
std::optional<Refusal> refuse_without_pdb(const EvictionCandidate& candidate);
std::optional<Refusal> refuse_resource_claims(const EvictionCandidate& candidate);
std::optional<Refusal> refuse_labels(const EvictionCandidate& candidate);
std::optional<Refusal> refuse_few_replicas(const EvictionCandidate& candidate);
std::optional<Refusal> refuse_young(const EvictionCandidate& candidate);
std::optional<Refusal> refuse_opted_out(const EvictionCandidate& candidate);
std::optional<Refusal> refuse_autoscaler_annotations(const EvictionCandidate& candidate);

/// Rules that apply even to pods with the evict annotation, because their eviction would have no effect or lose data.
inline constexpr std::array<EvictabilityRule, 5> kUnwaivableRules = {
    refuse_mirror_pod, refuse_static_pod, refuse_terminating, refuse_risky_claims, refuse_whole_pod_group,
};

/// Rules that the evict annotation disables: with any value except "false", or with any value in upstream mode.
inline constexpr std::array<EvictabilityRule, 19> kEvictabilityRules = {
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

}  // namespace scheduling
