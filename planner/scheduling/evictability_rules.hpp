#pragma once

/// Decides whether a pod may be evicted at all. Reproduces upstream's DefaultEvictor exactly with
/// Compatibility::kUpstream (upstream-semantics.md#filter); otherwise its faults are fixed (docs/compatibility.md).
/// Adds the namespace scope.

#include <optional>
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

}  // namespace scheduling
