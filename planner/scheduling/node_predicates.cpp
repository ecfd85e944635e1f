/// Predicates about the node itself: cordon, labels, taints, resources, ports.

#include <algorithm>
#include <tuple>

#include "api/meta/well_known.hpp"
#include "planner/scheduling/predicates.hpp"

namespace scheduling {
namespace {

bool is_unspecified(const std::string& ip) { return ip.empty() || ip == "0.0.0.0"; }

using PortOrder = std::tuple<std::int32_t, std::string_view, std::string_view>;
/// Sort key. Ports that bind all addresses come first.
PortOrder order_of(const api::HostPort& port) {
  return {port.port, port.protocol, is_unspecified(port.ip) ? std::string_view() : std::string_view(port.ip)};
}

std::optional<Refusal> shortage_of(std::string_view name, ResourceIndex resource, std::int64_t wanted,
                                   std::int64_t free) {
  if (wanted <= free) return std::nullopt;
  const std::string_view text = resource == kCpuIndex ? "needs {wanted}m of {subject}, {available}m are free"
                                                      : "needs {wanted} of {subject}, {available} are free";
  return Refusal{"InsufficientResource", text, name, wanted, free};
}

Refusal no_capacity_for_pods(std::int64_t free) {
  return {"TooManyPods", "the maximum number of pods of the node is reached ({available} free)", "pods", 1, free};
}

}  // namespace

std::optional<Refusal> refuse_cordoned(const FitQuery& query, NodeIndex node) {
  if (!query.base().node(node).unschedulable) return std::nullopt;
  return Refusal{"NodeCordoned", "the node is cordoned"};
}

std::optional<Refusal> refuse_cordoned_unless_tolerated(const FitQuery& query, NodeIndex node) {
  if (query.base().is_schedulable_by_all(node) || !query.base().node(node).unschedulable) return std::nullopt;
  const api::Taint cordon{std::string(api::well_known::kUnschedulableTaint), "", api::TaintEffect::kNoSchedule};
  const auto tolerates = [&](const api::Toleration& toleration) { return toleration.tolerates(cordon); };
  if (std::ranges::any_of(query.pod().tolerations, tolerates)) return std::nullopt;
  return refuse_cordoned(query, node);
}

std::optional<Refusal> refuse_unready(const FitQuery& query, NodeIndex node) {
  if (query.base().is_schedulable_by_all(node) || accepts_pods(query.base().node(node))) return std::nullopt;
  return Refusal{"NodeNotReady", "the node is not ready"};
}

std::optional<Refusal> refuse_node_terms(const FitQuery& query, NodeIndex node) {
  if (matches_node_terms(query.pod(), query.base().node(node))) return std::nullopt;
  return Refusal{"NodeSelectorMismatch", "nodeSelector or required node affinity does not match the node"};
}

std::optional<Refusal> refuse_taints(const FitQuery& query, NodeIndex node) {
  if (query.base().is_schedulable_by_all(node)) return std::nullopt;
  const api::Taint* taint = first_untolerated(query.pod().tolerations, query.base().node(node).taints,
                                              {api::TaintEffect::kNoSchedule, api::TaintEffect::kNoExecute});
  if (taint == nullptr) return std::nullopt;
  return Refusal{"UntoleratedTaint", "the pod does not tolerate the taint {subject}", taint->key};
}

std::optional<Refusal> refuse_shortage(const FitQuery& query, NodeIndex node) {
  const ClusterSnapshot& base = query.base();
  if (base.node_of(query.index()) == node) return std::nullopt;  // the pod's requests are already included in used()
  const NodeResources& used = query.cluster().used();
  for (const auto& [resource, milli] : base.requests(query.index())) {
    const auto allocatable = base.allocatable().find(node, resource);
    const std::int64_t free = !allocatable ? 0
                                           : saturating_subtract(comparable(resource, *allocatable),
                                                                 comparable(resource, used.get(node, resource)));
    if (auto refusal = shortage_of(base.resources().name(resource), resource, comparable(resource, milli), free)) {
      return refusal;
    }
  }
  const std::int64_t free = base.allocatable().get(node, kPodsIndex) / 1000 - used.get(node, kPodsIndex) / 1000;
  return free > 0 ? std::nullopt : std::optional(no_capacity_for_pods(free));
}

std::optional<Refusal> refuse_shortage_strictly(const FitQuery& query, NodeIndex node) {
  const ClusterSnapshot& base = query.base();
  const NodeResources& used = query.cluster().used();
  const bool is_here =
      !query.counts(query.index()) && query.cluster().node_of(query.index()) == node && base.is_active(query.index());
  const std::int64_t capacity =
      base.allocatable().get(node, kPodsIndex) - used.get(node, kPodsIndex) + (is_here ? 1000 : 0);
  if (capacity < 1000) return no_capacity_for_pods(capacity / 1000);
  for (const auto& [resource, milli] : base.requests(query.index())) {
    if (milli == 0) continue;
    std::int64_t free = query.cluster().free(node, resource);
    if (is_here) free = saturating_add(free, amount_of(query.cluster().requests_on(query.index(), node), resource));
    if (milli <= free) continue;
    return shortage_of(base.resources().name(resource), resource, comparable(resource, milli),
                       resource == kCpuIndex ? free : free / 1000);
  }
  return std::nullopt;
}

void FitQuery::sort_host_ports() {
  for_each_host_port(pod(), [this](const api::HostPort& port) { ports_.push_back(&port); });
  std::ranges::stable_sort(ports_, {}, [](const api::HostPort* port) { return order_of(*port); });
}

const api::HostPort* FitQuery::port_taken_by(const api::Pod& other) const {
  const auto order_of_port = [](const api::HostPort* port) { return order_of(*port); };
  const api::HostPort* found = nullptr;
  for_each_host_port(other, [&](const api::HostPort& theirs) {
    const auto [port, protocol, ip] = order_of(theirs);
    const auto all = std::ranges::lower_bound(ports_, PortOrder(port, protocol, ""), {}, order_of_port);
    if (found != nullptr || all == ports_.end() || (*all)->port != port || (*all)->protocol != protocol) return;
    const bool meet = ip.empty() || is_unspecified((*all)->ip);
    const auto at = meet ? all : std::ranges::lower_bound(all, ports_.end(), order_of(theirs), {}, order_of_port);
    if (at != ports_.end() && (meet || order_of(**at) == order_of(theirs))) found = *at;
  });
  return found;
}

std::optional<Refusal> refuse_host_ports(const FitQuery& query, NodeIndex node) {
  const api::HostPort* taken = nullptr;
  query.cluster().for_each_on(node, [&](PodIndex other) {
    if (taken != nullptr || !query.base().has_host_ports(other)) return;
    if (query.counts(other) && query.base().is_active(other)) taken = query.port_taken_by(query.base().pod(other));
  });
  if (taken == nullptr) return std::nullopt;
  return Refusal{"HostPortInUse", "host port {wanted}/{subject} is in use on the node", taken->protocol, taken->port};
}

}  // namespace scheduling
