#pragma once

/// Node requirements that follow from a pod's spec alone (selectors, host ports) and the state of a node (taints,
/// Ready). Pure functions.

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <vector>

#include "api/core/kinds.hpp"

namespace scheduling {

/// Returns true unless the node has a condition of type Ready whose status is not True
/// (upstream-semantics.md#node-ready).
bool accepts_pods(const api::Node& node);

/// Returns true if the selector matches the node and the node accepts pods. A missing selector matches all nodes.
bool is_in_scope(const std::optional<api::LabelSelector>& selector, const api::Node& node);

/// Returns true if a container or sidecar of the pod requests host ports.
bool asks_for_host_ports(const api::Pod& pod);

/// Returns true if the pod has a nodeSelector or a required node affinity.
inline bool asks_for_nodes(const api::Pod& pod) {
  return !pod.node_selector.empty() || (pod.affinity && pod.affinity->required_node_terms);
}
/// Checks nodeSelector and required node affinity against the node's labels and name.
bool matches_node_terms(const api::Pod& pod, const api::Node& node);
/// Result of matches_node_terms() in detail. kMalformed means that no term matches and at least one cannot be parsed.
enum class NodeTermsMatch { kNo, kYes, kMalformed };
NodeTermsMatch match_node_terms(const api::Pod& pod, const api::Node& node);
bool matches(const api::NodeSelectorTerm& term, const api::Node& node);

/// Returns the first taint with one of `effects` that no toleration covers, or nullptr if all are tolerated.
const api::Taint* first_untolerated(const std::vector<api::Toleration>& tolerations,
                                    const std::vector<api::Taint>& taints,
                                    std::initializer_list<api::TaintEffect> effects);

/// Returns false for a constraint whose selector has no requirement. Kube-scheduler counts no pods for it, rather than
/// all.
bool asks_for_pods(const api::TopologySpreadConstraint& constraint, const api::Pod& pod);

/// Calls `each` with every host port of the pod's containers and sidecars.
template <typename F>
void for_each_host_port(const api::Pod& pod, F&& each) {
  for (const api::Container& container : pod.containers) std::ranges::for_each(container.host_ports, each);
  for (const api::Container& container : pod.init_containers) {
    if (container.restart_always) std::ranges::for_each(container.host_ports, each);
  }
}

}  // namespace scheduling
