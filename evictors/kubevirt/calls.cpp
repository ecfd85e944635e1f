#include "evictors/kubevirt/calls.hpp"

#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/meta/label_value.hpp"
#include "api/meta/well_known.hpp"
#include "evictors/timeouts.hpp"
#include "kube/escape.hpp"
#include "kube/kubevirt.hpp"
#include "kube/request.hpp"

namespace evictors::kubevirt {

using api::Json;

bool in_migration_mode(const EvictorContext& context) { return context.parameter(kVmMode, "Eviction") == "Migration"; }

bool is_manual_with_target(const EvictorContext& context) {
  return in_migration_mode(context) && !context.parameter(kAddedNodeSelector, "").empty() &&
         !api::origin_is_verified(context.evacuation);
}

int remote_failures(const EvictorContext& context) {
  const std::string_view text = context.parameter(kRemoteFailures, "");
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool sound = !text.empty() && error == std::errc{} && end == text.data() + text.size();
  return sound && value >= 1 && value <= kMaxRemoteFailures ? value : kDefaultRemoteFailures;
}

std::optional<std::vector<std::pair<std::string, std::string>>> parse_node_selector(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> terms;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string_view term = text.substr(0, comma);
    const auto equals = term.find('=');
    if (equals == std::string_view::npos || equals == 0 || term.size() > 400) return std::nullopt;
    terms.emplace_back(term.substr(0, equals), term.substr(equals + 1));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return terms;
}

std::string own_migration_name(const EvictorContext& context) {
  return fmt::format("evac-{}-{}", context.evacuation.meta.uid, context.evacuation.status.attempt);
}

Action create_migration(const EvictorContext& context, const std::string& vmi) {
  const std::string& ns = context.evacuation.meta.ns;
  Json spec = {{"vmiName", vmi}};
  const auto selector = parse_node_selector(context.parameter(kAddedNodeSelector, ""));
  for (const auto& [key, value] : selector.value_or(std::vector<std::pair<std::string, std::string>>{}))
    spec["addedNodeSelector"][key] = value;
  Json labels = {{"evacuator.dev/evacuation-uid", context.evacuation.meta.uid}};
  if (vmi.size() <= api::kMaxLabelValue) labels["kubevirt.io/vmi-name"] = vmi;  // KubeVirt may add it late
  Json annotations = {{api::well_known::kTokenAnnotation, context.evacuation.status.token}};
  const Json body = {{"apiVersion", kube::kVmims.api_version()},
                     {"kind", kube::kVmims.kind},
                     {"metadata",
                      {{"name", own_migration_name(context)},
                       {"namespace", ns},
                       {"labels", std::move(labels)},
                       {"annotations", std::move(annotations)}}},
                     {"spec", std::move(spec)}};
  Action action;
  action.role = ActionRole::kRequest;
  action.name = kCreateMigration;
  action.request = kube::create_request(kube::kVmims, ns, body);
  action.request.query = "fieldValidation=Strict";  // makes a server that would drop addedNodeSelector report it
  if (context.evacuation.spec.dry_run) action.request.query += "&dryRun=All";
  action.request.timeout = kCallTimeout;
  return action;
}

Action cancel_evacuation(const EvictorContext& context, const std::string& vmi, const std::string& node) {
  Action action;
  action.role = ActionRole::kUndo;
  action.name = kCancelEvacuation;
  action.request.method = "PUT";
  action.request.path =
      fmt::format("/apis/subresources.kubevirt.io/v1/namespaces/{}/virtualmachineinstances/{}/evacuate/cancel",
                  kube::escape_segment(context.evacuation.meta.ns), kube::escape_segment(vmi));
  action.request.content_type = "application/json";
  action.request.accept = "application/json, */*";  // without */* virt-api answers 406
  const Json body = {{"evacuationNodeName", node}};
  action.request.body = body.dump();
  action.request.flow = kube::Flow::kWrite;
  action.request.timeout = kCallTimeout;
  return action;
}

Action delete_migration(const EvictorContext& context, const Migration& migration) {
  Action action;
  action.role = ActionRole::kUndo;
  action.name = kDeleteMigration;
  action.request = kube::delete_request(kube::kVmims, {context.evacuation.meta.ns, migration.name}, migration.uid);
  action.request.timeout = kCallTimeout;
  return action;
}

}  // namespace evictors::kubevirt
