#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/kubevirt/controllers.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator::kubevirt {
namespace {

using api::Json;

bool has_unfinished_migration(const View& view, const Json& vmi) {
  return std::ranges::any_of(view.migrations_of(vmi), [](const Object& each) { return !is_final(*each); });
}

/// Returns true if the VMI is marked for its node, or the node has the drain taint (the older mechanism).
bool is_to_leave(const View& view, const Json& vmi) {
  const std::string node = api::text_at(vmi, {"status", "nodeName"});
  return !node.empty() && (mark_of(vmi) == node || view.drained.contains(node));
}

bool may_migrate(const View& view, const Json& vmi) {
  return !is_migrating(vmi) && !is_final(vmi) && !is_terminating(vmi) &&
         migrates_by_strategy(strategy_of(vmi, view.config)) && is_live_migratable(vmi) &&
         !has_unfinished_migration(view, vmi) && view.active_launchers_of(vmi).size() == 1;
}

Json evacuation_migration(const Json& vmi, const Config& config) {
  const api::ObjectKey key = key_of(vmi);
  const bool low = annotation_of(vmi, kEvictionSource) == "descheduler";
  Json spec = {{"vmiName", key.name}};
  if (config.has_priorities()) spec["priority"] = low ? "system-maintenance" : "system-critical";
  return {{"apiVersion", kube::kVmims.api_version()},
          {"kind", kube::kVmims.kind},
          {"metadata",
           {{"namespace", key.ns},
            {"generateName", "kubevirt-evacuation-"},
            {"annotations", {{kEvacuationMigration, api::text_at(vmi, {"status", "nodeName"})}}},
            {"labels", {{kVmiName, key.name}}}}},
          {"spec", std::move(spec)}};
}

/// Free slots for new migrations. With priorities, migrations wait in the queue instead, and this controller does not
/// count them.
class FreeSlots {
 public:
  explicit FreeSlots(const View& view) : view_(view) {
    for (const Object& vmim : view.vmims) {
      if (!is_running(*vmim)) continue;
      ++total_;
      if (const Object vmi = view.vmi_of(*vmim)) ++per_node_[api::text_at(*vmi, {"status", "nodeName"})];
    }
  }
  bool take(const std::string& node) {
    if (view_.config.has_priorities()) return true;
    if (total_ >= view_.config.per_cluster || per_node_[node] >= view_.config.per_node) return false;
    ++total_;
    ++per_node_[node];
    return true;
  }

 private:
  const View& view_;
  std::int64_t total_ = 0;
  std::map<std::string, std::int64_t> per_node_;
};

}  // namespace

Writes run_evacuation(const View& view) {
  Writes writes;
  FreeSlots places(view);
  for (const Object& vmi : view.vmis) {
    if (!is_to_leave(view, *vmi) || !may_migrate(view, *vmi)) continue;
    if (!places.take(api::text_at(*vmi, {"status", "nodeName"}))) continue;
    writes.create(kube::kVmims, evacuation_migration(*vmi, view.config));
    writes.event(*vmi, "SuccessfulCreate", "Created Migration kubevirt-evacuation");
  }
  return writes;
}

}  // namespace simulator::kubevirt
