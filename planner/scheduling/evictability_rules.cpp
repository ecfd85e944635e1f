#include "planner/scheduling/evictability_rules.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "planner/snapshot/autoscaler_marks.hpp"

namespace scheduling {
namespace {

using api::PodProtection;

constexpr std::string_view kNoOtherNodeFits = "NoOtherNodeFits";

std::uint32_t bit(PodProtection protection) { return 1U << static_cast<unsigned>(protection); }

std::uint32_t effective_protections(const api::PodProtections& spec) {
  std::uint32_t bits = bit(PodProtection::kPodsWithLocalStorage) | bit(PodProtection::kSystemCriticalPods) |
                       bit(PodProtection::kFailedBarePods) | bit(PodProtection::kDaemonSetPods);
  for (const PodProtection disabled : spec.default_disabled) bits &= ~bit(disabled);
  for (const PodProtection enabled : spec.extra_enabled) bits |= bit(enabled);
  return bits;
}

std::int32_t resolve_threshold(const api::PriorityThreshold& threshold, const ClusterSnapshot& cluster,
                               api::FieldErrors& errors, const api::FieldPath& path) {
  const api::PriorityClass* named = threshold.name.empty() ? nullptr : cluster.find_priority_class(threshold.name);
  if (!threshold.name.empty() && named == nullptr) {
    errors.push_back({path.field("name").text(), fmt::format("PriorityClass \"{}\" does not exist", threshold.name)});
    return kSystemCriticalPriority;
  }
  const std::int32_t value = named != nullptr ? named->value : threshold.value.value_or(kSystemCriticalPriority);
  if (value <= kSystemCriticalPriority) return value;
  errors.push_back(
      {path.field(named != nullptr ? "name" : "value").text(),
       fmt::format("{} is above {}, the priority of system-critical pods", value, kSystemCriticalPriority)});
  return kSystemCriticalPriority;
}

std::vector<NodeIndex> candidate_nodes_of(const api::Evictability& spec, const ClusterSnapshot& cluster) {
  std::vector<NodeIndex> nodes;
  if (!spec.node_fit) return nodes;
  for (const NodeIndex node : cluster.nodes()) {
    if (is_in_scope(spec.node_selector, cluster.node(node))) nodes.push_back(node);
  }
  return nodes;
}

/// Explains why no node other than the pod's own is a candidate. REQUIRES: none of them is one.
Misfits no_candidates(const WhatIf& cluster, PodIndex pod) {
  Misfits misfits(cluster.base());
  for (const NodeIndex node : cluster.base().nodes()) {
    if (node == cluster.base().node_of(pod)) continue;
    if (misfits.nodes() == kMaxCheckedNodes) break;
    const bool is_ready = accepts_pods(cluster.base().node(node));
    misfits.add(node, is_ready ? Refusal{"NotSelected", "evictability.nodeSelector does not select the node"}
                               : Refusal{"NodeNotReady", "the node is not ready"});
  }
  return misfits;
}

}  // namespace

EvictabilityRules::EvictabilityRules(const api::Evictability& spec, const ClusterSnapshot& cluster, base::TimePoint now,
                                     api::FieldErrors& errors, api::Compatibility compatibility,
                                     const api::FieldPath& path)
    : spec_(&spec),
      cluster_(&cluster),
      now_(now),
      compatibility_(compatibility),
      protections_(effective_protections(spec.pod_protections)),
      priority_threshold_(kSystemCriticalPriority),
      candidate_nodes_(candidate_nodes_of(spec, cluster)) {
  if (!spec.priority_threshold) return;
  // Upstream's threshold is not in force without the protection (see refuse_priority()), so it needs no resolving.
  if (is_upstream() && !protects(PodProtection::kSystemCriticalPods)) return;
  priority_threshold_ = resolve_threshold(*spec.priority_threshold, cluster, errors, path.field("priorityThreshold"));
}

FitLevel EvictabilityRules::fit_level() const {
  const auto wanted =
      spec_->node_fit_level.value_or(is_upstream() ? api::NodeFitLevel::kBasic : api::NodeFitLevel::kScheduler);
  return wanted == api::NodeFitLevel::kBasic ? FitLevel::kBasic : FitLevel::kScheduler;
}

bool EvictabilityRules::respects_autoscalers() const {
  using enum api::AutoscalerAnnotations;
  return spec_->autoscaler_annotations.value_or(is_upstream() ? kIgnore : kRespect) == kRespect;
}

std::optional<Refusal> EvictabilityRules::refusal_to_empty(NodeIndex node) const {
  const auto annotation = respects_autoscalers() ? keeping_annotation(cluster_->node(node)) : std::nullopt;
  if (!annotation) return std::nullopt;
  return Refusal{"NodeStays", "its node has the annotation {subject}, so no autoscaler would remove it", *annotation};
}

bool EvictabilityRules::protects(PodProtection protection) const { return (protections_ & bit(protection)) != 0; }

std::optional<Refusal> EvictabilityRules::refusal_before_eviction(PodIndex pod, const WhatIf& cluster) const {
  if (spec_->node_fit && !fits_another_node(pod, cluster)) {
    const bool counts_own = std::ranges::binary_search(candidate_nodes_, cluster.node_of(pod));
    const auto others = static_cast<std::int64_t>(candidate_nodes_.size()) - (counts_own ? 1 : 0);
    if (others == 0) return Refusal{kNoOtherNodeFits, "there is no other candidate node"};
    return Refusal{kNoOtherNodeFits, "it fits none of the {wanted} other candidate nodes", "", others};
  }
  return refusal_by_namespace(pod);
}

/// Nodes outside the candidates are examined only if there are no other candidates.
std::string EvictabilityRules::explain(const Refusal& refusal, PodIndex pod, const WhatIf& cluster) const {
  std::string text = refusal.message();
  if (refusal.reason != kNoOtherNodeFits) return text;
  const auto is_candidate = [&](NodeIndex node) { return std::ranges::binary_search(candidate_nodes_, node); };
  const bool has_candidates = refusal.wanted > 0;
  const std::string why =
      has_candidates ? misfits_of(cluster, pod, fit_level(), is_candidate).text() : no_candidates(cluster, pod).text();
  return why.empty() ? text : text + ": " + why;
}

std::optional<Refusal> EvictabilityRules::refusal_by_namespace(PodIndex pod) const {
  const auto& labels = spec_->namespace_label_selector;
  if (!labels || labels->requirements.empty()) return std::nullopt;
  const api::Namespace* ns = cluster_->namespace_object(cluster_->namespace_of(pod));
  if (ns != nullptr && labels->matches(ns->meta.labels)) return std::nullopt;
  return Refusal{"NamespaceNotSelected", "namespaceLabelSelector does not match the namespace {subject}",
                 cluster_->pod(pod).meta.ns};
}

bool EvictabilityRules::fits_another_node(PodIndex pod, const WhatIf& cluster) const {
  const auto found = find_other_node(cluster, pod, candidate_nodes_, fit_level(), last_fit_);
  last_fit_ = found.value_or(last_fit_);
  return found.has_value();
}

}  // namespace scheduling
