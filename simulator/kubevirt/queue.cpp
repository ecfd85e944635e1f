#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "base/backoff.hpp"
#include "simulator/kubevirt/controllers.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator::kubevirt {
namespace {

using api::Json;

/// Backoff doubles with every failed migration, effectively without a maximum.
constexpr base::Backoff kMigrationPause{base::seconds(20), std::chrono::hours(24 * 365)};

bool is_system_migration(const Json& vmim) {
  return !annotation_of(vmim, kEvacuationMigration).empty() || !annotation_of(vmim, kWorkloadUpdate).empty();
}

int rank_of(const Json& vmim) {
  const std::string priority = api::text_at(vmim, {"spec", "priority"});
  if (priority == "system-critical") return 100;
  if (priority == "user-triggered") return 50;
  return priority == "system-maintenance" ? 20 : 0;
}

constexpr std::string_view kRejectedByQuota = "migrationRejectedByResourceQuota";

bool is_pending(const Json& vmim) { return api::text_at(vmim, {"status", "phase"}) == "Pending"; }

auto created_order(const Json& vmim) {
  return std::make_tuple(api::text_at(vmim, {"metadata", "creationTimestamp"}), key_of(vmim).ns, key_of(vmim).name);
}

/// Slots used by migrations that were admitted.
struct Slots {
  explicit Slots(const View& view) {
    for (const Object& vmim : view.vmims) {
      if (!is_running(*vmim)) continue;
      const Object vmi = view.vmi_of(*vmim);
      take(vmi ? api::text_at(*vmi, {"status", "nodeName"}) : std::string());
    }
  }
  void take(const std::string& node) {
    ++total;
    ++per_node[node];
  }
  bool free_for(const std::string& node, const Config& config) {
    return total < config.per_cluster && per_node[node] < config.per_node;
  }
  std::int64_t total = 0;
  std::map<std::string, std::int64_t> per_node;
};

/// Returns the labels required of the target's node. Those of the VMI override those of the migration.
Json target_selector(const Json& pod, const Json& vmim, const Config& config) {
  Json selector = Json::object();
  const Json* added = api::find_at(vmim, {"spec", "addedNodeSelector"});
  if (added && added->is_object() && config.has_node_selectors()) selector = *added;
  if (const Json* own = api::find_at(pod, {"spec", "nodeSelector"}); own && own->is_object()) selector.update(*own);
  return selector;
}

/// Returns a copy of the source pod with anti-affinity to the source's node.
Json target_pod(const Json& vmi, const Json& vmim, const MigrationScript& script, const Config& config) {
  Json pod = launcher_pod(vmi);
  pod["metadata"]["labels"][std::string(kJobUid)] = uid_of(vmim);
  pod["metadata"]["annotations"][std::string(kJobName)] = key_of(vmim).name;
  pod["metadata"]["annotations"].erase("descheduler.alpha.kubernetes.io/eviction-in-progress");
  const Json term = {{"labelSelector", {{"matchLabels", {{kCreatedBy, uid_of(vmi)}}}}},
                     {"topologyKey", "kubernetes.io/hostname"}};
  pod["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = Json::array({term});
  if (Json selector = target_selector(pod, vmim, config); !selector.empty())
    pod["spec"]["nodeSelector"] = std::move(selector);
  if (script.unschedulable) pod["spec"]["nodeSelector"]["simulator.evacuator.dev/nowhere"] = "true";
  return pod;
}

void receive(const View& view, Writes& writes, const Json& vmim) {
  Json finalizers = Json::array({kFinalizer});
  writes.merge(
      kube::kVmims, vmim,
      {{"metadata",
        {{"finalizers", std::move(finalizers)}, {"labels", {{kVmiName, api::text_at(vmim, {"spec", "vmiName"})}}}}}});
  const Object vmi = view.vmi_of(vmim);
  const Object source = vmi ? view.current_pod_of(*vmi) : nullptr;
  Json status = Json::object();
  if (source) status["migrationState"] = {{"sourcePod", key_of(*source).name}};
  enter_phase(writes, vmim, "Pending", view.now, std::move(status));
  const auto pause = backoff_end(view, vmim);
  if (vmi && pause && *pause > view.now)
    writes.event(*vmi, "MigrationBackoff", "backoff migrating vmi " + key_of(vmim).to_string());
}

bool another_runs(const View& view, const Json& vmi, const Json& vmim) {
  return std::ranges::any_of(view.migrations_of(vmi),
                             [&](const Object& each) { return uid_of(*each) != uid_of(vmim) && is_running(*each); });
}

/// Sets the only condition that shows why the migration stays Pending. It has neither reason nor message.
void show_quota(const View& view, const Json& vmim, Writes& writes) {
  if (condition_of(vmim, kRejectedByQuota)) return;
  Json conditions = Json::array();
  if (const Json* before = api::find_at(vmim, {"status", "conditions"}); before && before->is_array())
    conditions = *before;
  conditions.push_back(
      {{"type", kRejectedByQuota}, {"status", "True"}, {"lastProbeTime", base::format_time(view.now)}});
  writes.merge_status(kube::kVmims, vmim, {{"status", {{"conditions", std::move(conditions)}}}});
}

/// Admits one pending migration if there is a free slot.
void admit_migration(const View& view, const Json& vmim, Slots& slots, Writes& writes) {
  const Object vmi = view.vmi_of(vmim);
  if (!vmi || is_final(*vmi) || is_terminating(*vmi)) return;  // run_migrations() sets it to Failed
  const MigrationScript script = MigrationScript::of(*vmi);
  if (script.never_starts || another_runs(view, *vmi, vmim)) return;
  if (const auto end = backoff_end(view, vmim); end && *end > view.now) return writes.wake_at(*end);
  const std::string node = api::text_at(*vmi, {"status", "nodeName"});
  if (!slots.free_for(node, view.config)) return;
  if (script.over_quota) return show_quota(view, vmim, writes);
  slots.take(node);
  if (!view.target_pod_of(vmim)) writes.create(kube::kPods, target_pod(*vmi, vmim, script, view.config));
  enter_phase(writes, vmim, "Scheduling", view.now);
}

}  // namespace

std::optional<base::TimePoint> backoff_end(const View& view, const Json& vmim) {
  const Object vmi = view.vmi_of(vmim);
  if (!is_system_migration(vmim) || !vmi) return std::nullopt;
  std::vector<Object> known = view.migrations_of(*vmi);
  std::erase_if(known, [](const Object& each) { return !is_system_migration(*each); });
  std::ranges::sort(known, std::greater<>(), [](const Object& each) { return created_order(*each); });
  if (known.size() < 2 || uid_of(*known.front()) != uid_of(vmim)) return std::nullopt;
  int failures = 0;
  for (std::size_t i = 1; i < known.size(); ++i) {
    const std::string phase = api::text_at(*known[i], {"status", "phase"});
    if (phase == "Succeeded") break;
    if (phase == "Failed" && !is_terminating(*known[i])) ++failures;
  }
  if (failures == 0 || api::text_at(*known[1], {"status", "phase"}) != "Failed") return std::nullopt;
  return phase_since(*known[1]) + base::backoff_delay(kMigrationPause, failures);
}

Writes run_migration_queue(const View& view) {
  Writes writes;
  std::vector<Object> pending;
  for (const Object& vmim : view.vmims) {
    if (is_terminating(*vmim)) continue;
    if (api::text_at(*vmim, {"status", "phase"}).empty()) receive(view, writes, *vmim);
    if (is_pending(*vmim)) pending.push_back(vmim);
  }
  std::ranges::sort(pending, {},
                    [](const Object& each) { return std::make_tuple(-rank_of(*each), created_order(*each)); });
  Slots slots(view);
  for (const Object& vmim : pending) admit_migration(view, *vmim, slots, writes);
  return writes;
}

}  // namespace simulator::kubevirt
