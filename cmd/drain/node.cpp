#include "cmd/drain/node.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <set>

#include "api/core/codec.hpp"
#include "api/meta/label_value.hpp"
#include "api/virtual_machine.hpp"
#include "cmd/drain/request.hpp"
#include "cmd/drain/requester.hpp"
#include "evictors/kubevirt/facts.hpp"
#include "kube/kubevirt.hpp"

namespace cmd::plugin {
namespace {

using evictors::Document;
using evictors::kubevirt::MachineFate;

Document document_of(const base::Result<std::string>& text) {
  Document document;
  if (text) document.status = 200;
  if (text) document.body = *text;
  return document;
}

Document read_kubevirts(Session& session) {
  const auto items = session.list(kube::kKubeVirts, listing(""));
  if (!items) return {};
  return document_of(fmt::format("{{\"items\":[{}]}}", fmt::join(*items, ",")));
}

bool ends(MachineFate fate) {
  switch (fate) {
    case MachineFate::kMigrates:
    case MachineFate::kUndecided:
    case MachineFate::kRefused:
    case MachineFate::kExternal: return false;
    case MachineFate::kShutDown:
    case MachineFate::kUnknown: return true;
  }
  return true;
}

std::optional<kube::ResourceType> scaled_type(const std::string& kind) {
  for (const kube::ResourceType& type : {kube::kReplicaSets, kube::kStatefulSets, kube::kDeployments}) {
    if (type.kind == kind) return type;
  }
  return std::nullopt;
}

}  // namespace

base::Result<std::vector<api::Pod>> pods_on_node(Session& session, const std::string& node,
                                                 const std::string& pod_selector) {
  return session.pods(listing("", pod_selector, "spec.nodeName=" + node));
}

std::optional<std::vector<api::SchedulingPodGroup>> scheduling_groups_of(Session& session,
                                                                         const std::vector<api::Pod>& pods) {
  std::set<std::string> namespaces;
  for (const api::Pod& pod : pods) {
    if (!pod.scheduling_group.empty()) namespaces.insert(pod.meta.ns);
  }
  std::vector<api::SchedulingPodGroup> groups;
  if (namespaces.empty()) return groups;
  const auto found = kube::discover(session.client());
  if (!found) return groups;
  if (!found->pod_groups) return std::nullopt;
  for (const std::string& ns : namespaces) {
    const auto of_namespace = session.readable(*found->pod_groups, api::decode_scheduling_pod_group, listing(ns));
    if (of_namespace) groups.insert(groups.end(), of_namespace->begin(), of_namespace->end());
  }
  return groups;
}

std::set<std::string> read_shutdown_launchers(Session& session, const std::vector<api::Pod>& pods) {
  std::set<std::string> ending;
  std::optional<Document> kubevirts;
  for (const api::Pod& pod : pods) {
    const std::string& machine = api::machine_of(pod);
    if (machine.empty() || pod.is_terminal() || pod.meta.is_terminating()) continue;
    if (!kubevirts) kubevirts = read_kubevirts(session);
    const Document vmi = document_of(session.get(kube::kVmis, {pod.meta.ns, machine}));
    if (ends(evictors::kubevirt::fate_of(vmi, *kubevirts))) ending.insert(pod.meta.uid);
  }
  return ending;
}

std::optional<std::int32_t> OwnerReplicas::operator()(const api::Pod& pod) {
  const api::OwnerReference* owner = pod.meta.controller();
  if (!owner) return std::nullopt;
  const auto type = scaled_type(owner->kind);
  if (!type) return std::nullopt;
  if (const auto at = known_.find(owner->uid); at != known_.end()) return at->second;
  std::optional<std::int32_t> replicas;
  if (const auto text = session_.get(*type, {pod.meta.ns, owner->name})) {
    const auto workload = api::decode_workload(*text);
    if (workload && workload->meta.uid == owner->uid) replicas = workload->replicas;
  }
  known_[owner->uid] = replicas;
  return replicas;
}

bool is_cordoned_by_us(const api::Node& node) {
  return node.unschedulable && node.meta.annotations.contains(kCordonedBy);
}

base::Result<std::string> cordon(Session& session, const api::Node& node, const std::string& requester) {
  if (node.unschedulable) return fmt::format("node/{} already cordoned", node.meta.name);
  const api::Json patch = {{"metadata", {{"annotations", {{std::string(kCordonedBy), requester}}}}},
                           {"spec", {{"unschedulable", true}}}};
  const auto done = session.patch(kube::kNodes, {"", node.meta.name}, patch);
  if (!done) return done.error();
  return fmt::format("node/{} cordoned", node.meta.name);
}

base::Result<std::string> uncordon(Session& session, const std::string& node) {
  const api::Json patch = {{"metadata", {{"annotations", {{std::string(kCordonedBy), nullptr}}}}},
                           {"spec", {{"unschedulable", nullptr}}}};
  const auto done = session.patch(kube::kNodes, {"", node}, patch);
  if (!done) return done.error();
  return fmt::format("node/{} uncordoned", node);
}

base::Result<std::vector<StoredEvacuation>> cancel_drain(Session& session, const std::string& node,
                                                         const std::string& reason) {
  const auto all = session.evacuations(listing("", fmt::format("{}={}", kDrainLabel, api::label_value(node))));
  if (!all) return all;
  std::vector<StoredEvacuation> cancelled;
  for (const auto& each : *all) {
    if (api::is_terminal(each.evacuation.status.phase) || each.evacuation.spec.cancel.requested) continue;
    const api::ObjectKey key = each.evacuation.meta.key();
    auto stored = parse_evacuation(session.patch(kube::kEvacuations, key, cancel_patch(reason)));
    if (!stored && base::is_not_found(stored.error())) continue;
    if (!stored) return stored.error();
    cancelled.push_back(*std::move(stored));
    if (session.is_human_readable()) session.io().out(fmt::format("{} cancellation requested\n", resource_name(key)));
  }
  return cancelled;
}

}  // namespace cmd::plugin
