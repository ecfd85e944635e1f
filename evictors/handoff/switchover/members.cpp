#include "evictors/handoff/switchover/members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "api/json/json_access.hpp"
#include "evictors/document.hpp"
#include "kube/request.hpp"

namespace evictors::handoff {
namespace {

constexpr std::string_view kNodePrefix = "node/";
/// Taints of nodes that are being drained or removed, as in CloudNativePG's defaults.
constexpr std::array<std::string_view, 4> kDrainTaints = {"node.kubernetes.io/unschedulable",
                                                          "ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted",
                                                          "karpenter.sh/disruption"};

}  // namespace

InstanceRole role_of_label(std::string_view value) {
  if (value == "replica") return InstanceRole::kReplica;
  if (value == "primary" || value == "master" || value == "leader" || value == "standby_leader")
    return InstanceRole::kPrimary;
  return InstanceRole::kUnknown;
}

bool is_live(const api::Pod& pod) { return pod.is_ready() && !pod.meta.is_terminating() && !pod.is_terminal(); }

bool belongs_to_job(const api::Pod& pod) {
  const api::OwnerReference* owner = pod.meta.controller();
  return (owner != nullptr && owner->kind == "Job") || pod.meta.labels.contains("batch.kubernetes.io/job-name") ||
         pod.meta.labels.contains("job-name");
}

Read instances_read(const EvictorContext& context, const std::pair<std::string, std::string>& label) {
  return read_of(kInstances,
                 kube::list_request(kube::kPods, {.ns = context.pod->meta.ns,
                                                  .label_selector = fmt::format("{}={}", label.first, label.second)}));
}

std::vector<api::Pod> instances(const EvictorContext& context) {
  std::vector<api::Pod> pods;
  const auto list = object_of(context.document(kInstances));
  if (!list) return pods;
  for (const api::Json& item : api::items_at(*list, {"items"})) {
    auto pod = api::decode_pod(api::to_json_text(item));
    const bool is_member = pod && is_path_segment(pod->meta.name) && citus_group(*pod) == citus_group(*context.pod);
    if (is_member) pods.push_back(*std::move(pod));
  }
  return pods;
}

const std::string& citus_group(const api::Pod& pod) { return pod.meta.labels.value("citus-group"); }

bool is_path_segment(std::string_view name) { return is_plain_name(name) && name != "." && name != ".."; }

/// Uses list, because the operator's role has no other right to nodes.
Read node_read(const api::NodeName& node) {
  return read_of(std::string(kNodePrefix) + node.value,
                 kube::list_request(kube::kNodes, {.field_selector = "metadata.name=" + node.value}));
}

bool is_node_document(const Document& document) { return document.name.starts_with(kNodePrefix); }

std::string leaving_node(const EvictorContext& context, const api::NodeName& node) {
  const auto list = object_of(context.document(std::string(kNodePrefix) + node.value));
  if (!list || api::find_at(*list, {"items"}) == nullptr) return {};
  const api::Json& items = api::items_at(*list, {"items"});
  if (items.empty()) return fmt::format("node {} does not exist any more", node.value);
  const api::Json& object = items.front();
  if (api::flag_at(object, {"spec", "unschedulable"})) return fmt::format("node {} is cordoned", node.value);
  for (const api::Json& taint : api::items_at(object, {"spec", "taints"})) {
    const std::string key = api::text_at(taint, {"key"});
    if (std::ranges::find(kDrainTaints, key) != kDrainTaints.end())
      return fmt::format("node {} has the taint {}", node.value, key);
  }
  return {};
}

Read evacuated_read(std::vector<std::string> pods) {
  Read read;
  read.name = kEvacuated;
  read.pods = std::move(pods);
  return read;
}

bool is_evacuated(const EvictorContext& context, const std::string& pod) {
  const Document* document = context.document(kEvacuated);
  if (document == nullptr || !document->ok()) return false;
  const auto names = api::parse_json(document->body);
  return names && names->is_array() && std::ranges::find(*names, api::Json(pod)) != names->end();
}

bool is_gone(const Document* document) { return document && document->status == 404; }

}  // namespace evictors::handoff
