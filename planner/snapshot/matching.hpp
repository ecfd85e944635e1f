#pragma once

/// What a pod asks of a node by its spec alone, and what a node says of itself: selectors, taints, ports, Ready. Pure.

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <vector>

#include "api/core/kinds.hpp"

namespace scheduling {

/// Ready unless a condition of type Ready exists and is not True (upstream-semantics.md#node-ready).
bool accepts_pods(const api::Node& node);

/// Is it among the nodes that a selector chooses, and does it accept pods? No selector chooses all.
bool is_in_scope(const std::optional<api::LabelSelector>& selector, const api::Node& node);

/// Containers or sidecars of the pod ask for ports of the node.
bool asks_for_host_ports(const api::Pod& pod);

/// nodeSelector and required node affinity against the node's labels and name.
bool matches_node_terms(const api::Pod& pod, const api::Node& node);
/// The same, told apart: kMalformed when no term matches and one of them does not parse.
enum class NodeTermsMatch { kNo, kYes, kMalformed };
NodeTermsMatch match_node_terms(const api::Pod& pod, const api::Node& node);
bool matches(const api::NodeSelectorTerm& term, const api::Node& node);

/// The first taint with an effect of `effects` that no toleration covers, or nullptr.
const api::Taint* first_untolerated(const std::vector<api::Toleration>& tolerations,
                                    const std::vector<api::Taint>& taints,
                                    std::initializer_list<api::TaintEffect> effects);

/// False for a constraint whose selector asks for nothing: kube-scheduler counts no pods for it, rather than all.
bool asks_for_pods(const api::TopologySpreadConstraint& constraint, const api::Pod& pod);

/// Calls `each` with the host ports of the pod's containers and sidecars.
template <typename F>
void for_each_host_port(const api::Pod& pod, F&& each) {
  for (const api::Container& container : pod.containers) std::ranges::for_each(container.host_ports, each);
  for (const api::Container& container : pod.init_containers) {
    if (container.restart_always) std::ranges::for_each(container.host_ports, each);
  }
}

}  // namespace scheduling
