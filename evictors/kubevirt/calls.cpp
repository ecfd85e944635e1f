#include "evictors/kubevirt/calls.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/meta/label_value.hpp"
#include "api/meta/well_known.hpp"
#include "base/text.hpp"
#include "evictors/timeouts.hpp"
#include "kube/escape.hpp"
#include "kube/kubevirt.hpp"
#include "kube/request.hpp"

namespace evictors::kubevirt {

namespace {

using api::Json;

Action timed_action(ActionRole role, std::string_view name, kube::Request request) {
  request.timeout = kCallTimeout;
  return make_action(role, name, std::move(request));
}

}  // namespace

bool in_migration_mode(const EvictorContext& context) { return context.parameter(kVmMode, "Eviction") == "Migration"; }

bool is_manual_with_target(const EvictorContext& context) {
  return in_migration_mode(context) && !context.parameter(kAddedNodeSelector, "").empty() &&
         !api::origin_is_verified(context.evacuation);
}

int remote_failures(const EvictorContext& context) {
  const int value = base::parse_number<int>(context.parameter(kRemoteFailures, "")).value_or(kDefaultRemoteFailures);
  return value >= 1 && value <= kMaxRemoteFailures ? value : kDefaultRemoteFailures;
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
  const std::string& ns = context.ns();
  Json spec = {{"vmiName", vmi}};
  const auto selector = parse_node_selector(context.parameter(kAddedNodeSelector, ""));
  for (const auto& [key, value] : selector.value_or(Parameters{})) spec["addedNodeSelector"][key] = value;
  Json labels = {{"evacuator.dev/evacuation-uid", context.evacuation.meta.uid}};
  if (vmi.size() <= api::kMaxLabelValue) labels["kubevirt.io/vmi-name"] = vmi;  // KubeVirt may add it late
  Json annotations = {{api::well_known::kTokenAnnotation, context.token()}};
  const Json body = {{"apiVersion", kube::kVmims.api_version()},
                     {"kind", kube::kVmims.kind},
                     {"metadata",
                      {{"name", own_migration_name(context)},
                       {"namespace", ns},
                       {"labels", std::move(labels)},
                       {"annotations", std::move(annotations)}}},
                     {"spec", std::move(spec)}};
  kube::Request request = kube::create_request(kube::kVmims, ns, body);
  request.query = "fieldValidation=Strict";  // makes a server that would drop addedNodeSelector report it
  if (context.dry_run()) request.query += "&dryRun=All";
  return timed_action(ActionRole::kRequest, kCreateMigration, std::move(request));
}

Action cancel_evacuation(const EvictorContext& context, const std::string& vmi, const std::string& node) {
  kube::Request request = kube::json_request(
      "PUT",
      fmt::format("/apis/subresources.kubevirt.io/v1/namespaces/{}/virtualmachineinstances/{}/evacuate/cancel",
                  kube::escape_segment(context.ns()), kube::escape_segment(vmi)),
      {{"evacuationNodeName", node}});
  request.accept = "application/json, */*";  // without */* virt-api answers 406
  return timed_action(ActionRole::kUndo, kCancelEvacuation, std::move(request));
}

Action delete_migration(const EvictorContext& context, const Migration& migration) {
  return timed_action(ActionRole::kUndo, kDeleteMigration,
                      kube::delete_request(kube::kVmims, {context.ns(), migration.name}, migration.uid));
}

}  // namespace evictors::kubevirt
