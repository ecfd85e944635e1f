#include <nlohmann/json.hpp>

#include "simulator/kubevirt/types.hpp"
#include "simulator/objects.hpp"

namespace simulator::kubevirt {
namespace {

using api::Json;
using objects::definition;
using objects::open_object;

constexpr int kSelectorSince = 6;  ///< addedNodeSelector, sendTo, receive
constexpr int kPrioritySince = 7;

Json column(const char* name, const char* path) { return {{"name", name}, {"type", "string"}, {"jsonPath", path}}; }

/// Returns the schema of a migration's spec in that version.
Json migration_spec(int minor) {
  Json fields = {{"vmiName", {{"type", "string"}}}};
  if (minor >= kSelectorSince) {
    fields["addedNodeSelector"] = {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
    fields["sendTo"] = open_object();
    fields["receive"] = open_object();
  }
  if (minor >= kPrioritySince)
    fields["priority"] = {{"type", "string"}, {"enum", {"system-critical", "user-triggered", "system-maintenance"}}};
  return {{"type", "object"}, {"properties", std::move(fields)}};
}

}  // namespace

std::vector<Json> definitions(int minor) {
  return {definition(kube::kVmis, {{"singular", "virtualmachineinstance"}, {"shortNames", {"vmi", "vmis"}}},
                     Json::array({column("Phase", ".status.phase"), column("NodeName", ".status.nodeName")}), false,
                     open_object()),
          definition(kube::kVmims, {{"singular", "virtualmachineinstancemigration"}, {"shortNames", {"vmim", "vmims"}}},
                     Json::array({column("Phase", ".status.phase"), column("VMI", ".spec.vmiName")}), true,
                     migration_spec(minor)),
          definition(kube::kKubeVirts, {{"singular", "kubevirt"}, {"shortNames", {"kv", "kvs"}}},
                     Json::array({column("Phase", ".status.phase")}), true, open_object())};
}

}  // namespace simulator::kubevirt

namespace simulator::objects {

using api::Json;

Json kubevirt(std::string_view version, std::string_view cluster_strategy,
              const std::vector<std::string>& feature_gates) {
  Json configuration = Json::object();
  if (!feature_gates.empty()) configuration["developerConfiguration"]["featureGates"] = feature_gates;
  if (!cluster_strategy.empty()) configuration["evictionStrategy"] = cluster_strategy;
  return {{"apiVersion", kube::kKubeVirts.api_version()},
          {"kind", kube::kKubeVirts.kind},
          {"metadata", {{"name", "kubevirt"}, {"namespace", "kubevirt"}}},
          {"spec", {{"configuration", std::move(configuration)}}},
          {"status", {{"phase", "Deployed"}, {"observedKubeVirtVersion", version}}}};
}

Json virtual_machine(std::string_view ns, std::string_view name, std::string_view memory, std::string_view strategy) {
  Json spec = {{"domain", {{"memory", {{"guest", memory}}}, {"devices", Json::object()}}}};
  if (!strategy.empty()) spec["evictionStrategy"] = strategy;
  return {{"apiVersion", kube::kVmis.api_version()},
          {"kind", kube::kVmis.kind},
          {"metadata",
           {{"name", name},
            {"namespace", ns},
            {"labels", {{"app", name}}},
            {"annotations", {{"kubevirt.io/latest-observed-api-version", "v1"}}}}},
          {"spec", std::move(spec)}};
}

}  // namespace simulator::objects
