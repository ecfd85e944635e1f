#pragma once

/// May this pod be moved at all? Upstream's DefaultEvictor, exact to the boundary with Compatibility::kUpstream
/// (upstream-semantics.md#filter); without, its faults are fixed (docs/compatibility.md). Plus our namespace scope.

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

/// spec.evictability made ready for one snapshot: names resolved, candidate nodes chosen. Keeps references to both. Not
/// thread-safe, reading included: it remembers where pods fitted.
class EvictabilityRules {
 public:
  /// Complains in `errors`, with paths under `path`, about a PriorityClass that does not exist or a threshold above
  /// system-critical. The threshold is then the default, which is not what was asked for: do not act on it.
  EvictabilityRules(const api::Evictability& spec, const ClusterSnapshot& cluster, base::TimePoint now,
                    api::FieldErrors& errors, api::Compatibility compatibility = api::Compatibility::kNone,
                    const api::FieldPath& path = api::FieldPath("spec.evictability"));

  /// Upstream's Filter: properties of the pod itself. The first rule that objects.
  std::optional<Refusal> refusal(PodIndex pod) const;
  /// Upstream's PreEvictionFilter: somewhere else to go (nodeFit) and the namespace's labels. `cluster` is the cluster
  /// as it would be by now; it must be over the same snapshot.
  std::optional<Refusal> refusal_before_eviction(PodIndex pod, const WhatIf& cluster) const;

  /// message(), and of NoOtherNodeFits why, node by node.
  std::string explain(const Refusal& refusal, PodIndex pod, const WhatIf& cluster) const;

  /// Of these, what does not depend on where other pods are: the namespace's labels.
  std::optional<Refusal> refusal_by_namespace(PodIndex pod) const;

  const api::Evictability& spec() const { return *spec_; }
  const ClusterSnapshot& cluster() const { return *cluster_; }
  base::TimePoint now() const { return now_; }
  bool protects(api::PodProtection protection) const;
  std::int32_t priority_threshold() const { return priority_threshold_; }
  bool is_upstream() const { return compatibility_ == api::Compatibility::kUpstream; }
  /// Why an emptied `node` would be of no use: its annotation keeps autoscalers from removing it. nullopt: none does,
  /// or it does not count.
  std::optional<Refusal> refusal_to_empty(NodeIndex node) const;
  /// spec.evictability.autoscalerAnnotations.
  bool respects_autoscalers() const;
  /// What node fit asks for, here and in strategies that ask it themselves.
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
  mutable std::size_t last_fit_ = 0;  ///< where in candidate_nodes_ the last pod fitted: likely, the next one does, too
};

/// Priorities from here on belong to the system.
inline constexpr std::int32_t kSystemCriticalPriority = 2'000'000'000;

/// The pod that a rule judges. Rules are pure; nullopt = no objection.
struct EvictionCandidate {
  const EvictabilityRules& rules;
  PodIndex index;
  const api::Pod& pod;
};
using EvictabilityRule = std::optional<Refusal> (*)(const EvictionCandidate& candidate);

std::optional<Refusal> refuse_namespace(const EvictionCandidate& candidate);
/// Holds for Compatibility::kUpstream and for pods with the evict annotation, too: what the pod asks of a node is
/// ignored, so nothing can be said about where it would run.
std::optional<Refusal> refuse_oversized(const EvictionCandidate& candidate);
std::optional<Refusal> refuse_prefer_no_eviction(const EvictionCandidate& candidate);
std::optional<Refusal> refuse_mirror_pod(const EvictionCandidate& candidate);
std::optional<Refusal> refuse_static_pod(const EvictionCandidate& candidate);
std::optional<Refusal> refuse_terminating(const EvictionCandidate& candidate);
/// Not with Compatibility::kUpstream, which does not look at it. No pod with such a claim is evicted there, either: its
/// Evacuation fails (state-machine.md#data-safety).
std::optional<Refusal> refuse_risky_claims(const EvictionCandidate& candidate);
/// A member of a scheduling.k8s.io PodGroup that is disrupted as a whole, or that is not known. Not with
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

/// Rules that hold even for pods with the evict annotation: nothing, or a loss of data, would come of their eviction.
inline constexpr std::array<EvictabilityRule, 5> kUnwaivableRules = {
    refuse_mirror_pod, refuse_static_pod, refuse_terminating, refuse_risky_claims, refuse_whole_pod_group,
};

/// Rules that the evict annotation switches off: with any value but "false", or as upstream does with any at all.
inline constexpr std::array<EvictabilityRule, 19> kEvictabilityRules = {
    refuse_prefer_no_eviction,      // noEvictionPolicy Mandatory
    refuse_mirror_pod,              // the kubelet would start it again
    refuse_static_pod,              // the same, by its config source
    refuse_terminating,             // already leaving
    refuse_risky_claims,            // a claim that is being deleted or Lost: its volume would go with the pod
    refuse_whole_pod_group,         // its scheduling.k8s.io PodGroup has disruptionMode All
    refuse_system_critical,         // protection SystemCriticalPods
    refuse_priority,                // priorityThreshold; off together with SystemCriticalPods
    refuse_bare_pod,                // nothing would recreate it; protection FailedBarePods covers failed ones too
    refuse_local_storage,           // protection PodsWithLocalStorage: hostPath, emptyDir
    refuse_daemon_set,              // protection DaemonSetPods
    refuse_claims,                  // protection PodsWithPVC, by storage class when configured
    refuse_without_pdb,             // protection PodsWithoutPDB
    refuse_resource_claims,         // protection PodsWithResourceClaims
    refuse_labels,                  // labelSelector
    refuse_few_replicas,            // minReplicas, when above 1
    refuse_young,                   // minPodAge, against status.startTime
    refuse_autoscaler_annotations,  // safe-to-evict "false" or "on-completion", do-not-disrupt
    refuse_opted_out,               // optOuts, until they expire
};

}  // namespace scheduling
