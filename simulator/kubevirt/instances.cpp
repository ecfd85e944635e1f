#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "api/meta/well_known.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/kubevirt/controllers.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator::kubevirt {
namespace {

using api::Json;
namespace names = api::well_known;

constexpr int kConditionSince = 7;  ///< condition EvictionRequested
constexpr int kBudgetsUntil = 5;    ///< last version that creates budgets
constexpr const char* kFinalPhases[] = {"Succeeded", "Failed"};

/// Returns the conditions of `vmi` with one condition set or, if `value` is empty, removed.
Json with_condition(const Json& vmi, std::string_view type, std::string_view value, std::string_view reason,
                    std::string_view message, base::TimePoint now) {
  Json status = Json::object();
  if (const Json* conditions = api::find_at(vmi, {"status", "conditions"})) status["conditions"] = *conditions;
  Json& all = array_in(status, "conditions");
  if (!value.empty()) put_condition(status, type, value, reason, message, now);
  if (value.empty())
    std::erase_if(all.get_ref<Json::array_t&>(), [&](const Json& c) { return api::text_at(c, {"type"}) == type; });
  return status["conditions"];
}

/// Returns the status of phase Running with the conditions that virt-handler reports.
Json running_status(const Json& vmi, base::TimePoint now) {
  const std::string refusal = annotation_of(vmi, behaviour::kNotMigratable);
  const auto colon = refusal.find(": ");
  Json half = vmi;
  half["status"]["conditions"] =
      refusal.empty() ? with_condition(vmi, "LiveMigratable", "True", "", "", now)
                      : with_condition(vmi, "LiveMigratable", "False", refusal.substr(0, colon),
                                       colon == std::string::npos ? std::string() : refusal.substr(colon + 2), now);
  return {{"phase", "Running"},
          {"phaseTransitionTimestamps", with_transition(vmi, "Running", now)},
          {"conditions", with_condition(half, "Ready", "True", "", "", now)}};
}

/// Returns the status of phase Scheduled: the VMI is handed over to its pod's node and the guest boots. LiveMigratable
/// is not known yet.
Json scheduled_status(const Json& vmi, const Json& pod, base::TimePoint now) {
  const std::string node = api::text_at(pod, {"spec", "nodeName"});
  Json active = Json::object();
  active[uid_of(pod)] = node;
  return {{"phase", "Scheduled"},
          {"phaseTransitionTimestamps", with_transition(vmi, "Scheduled", now)},
          {"nodeName", node},
          {"activePods", std::move(active)}};
}

void begin_machine(const View& view, const Json& vmi, Writes& writes) {
  if (view.launchers_of(vmi).empty()) writes.create(kube::kPods, launcher_pod(vmi));
  writes.merge(kube::kVmis, vmi, {{"status", {{"phase", "Scheduling"}}}});
}

void follow_start(const View& view, const Json& vmi, Writes& writes) {
  for (const Object& pod : view.active_launchers_of(vmi)) {
    if (api::text_at(*pod, {"status", "phase"}) != "Running") continue;
    const std::string node = api::text_at(*pod, {"spec", "nodeName"});
    writes.merge(kube::kVmis, vmi,
                 {{"metadata", {{"labels", {{kNodeName, node}}}}}, {"status", scheduled_status(vmi, *pod, view.now)}});
    return writes.merge(kube::kPods, *pod, {{"metadata", {{"labels", {{kNodeName, node}}}}}});
  }
}

void boot(const View& view, const Json& vmi, Writes& writes) {
  const base::TimePoint up = phase_since(vmi) + MigrationScript::of(vmi).boot;
  if (up > view.now) return writes.wake_at(up);
  writes.merge(kube::kVmis, vmi, {{"status", running_status(vmi, view.now)}});
}

/// Returns true if an active launcher runs on the guest's node.
bool still_runs(const View& view, const Json& vmi) {
  const std::string node = api::text_at(vmi, {"status", "nodeName"});
  return std::ranges::any_of(view.launchers_of(vmi), [&](const Object& pod) {
    return api::text_at(*pod, {"spec", "nodeName"}) == node && !facts_of(*pod).is_terminal();
  });
}

void restart(const Json& vmi, Writes& writes) {
  Json next = {{"apiVersion", kube::kVmis.api_version()},
               {"kind", kube::kVmis.kind},
               {"metadata", {{"name", key_of(vmi).name}, {"namespace", key_of(vmi).ns}}},
               {"spec", vmi.value("spec", Json::object())}};
  for (const char* field : {"labels", "annotations", "ownerReferences"}) {
    if (const Json* value = api::find_at(vmi, {"metadata", field})) next["metadata"][field] = *value;
  }
  next["metadata"]["annotations"].erase(std::string(kFailedCount));
  next["metadata"]["annotations"].erase(std::string(kEvictionSource));
  writes.remove(kube::kVmis, vmi);
  writes.create(kube::kVmis, std::move(next));
}

/// Simulates the external controller of strategy External, which drains the guest some time after the mark.
void drain_externally(const View& view, const Json& vmi, Writes& writes) {
  const auto after = MigrationScript::of(vmi).external;
  const Json* requested = condition_of(vmi, "EvictionRequested");
  if (!after || !requested || strategy_of(vmi, view.config) != "External") return;
  const auto since = time_at(*requested, {"lastTransitionTime"});
  if (!since) return;
  if (*since + *after > view.now) return writes.wake_at(*since + *after);
  writes.remove(kube::kVmis, vmi);
}

void keep_condition(const View& view, const Json& vmi, Writes& writes) {
  if (view.config.minor < kConditionSince) return;
  const bool marked = !mark_of(vmi).empty();
  if (marked == (condition_of(vmi, "EvictionRequested") != nullptr)) return;
  Json conditions = with_condition(vmi, "EvictionRequested", marked ? "True" : "", "EvictionRequested",
                                   "VMI is marked for eviction", view.now);
  writes.merge(kube::kVmis, vmi, {{"status", {{"conditions", std::move(conditions)}}}});
}

/// Returns true for the ready pod on the VMI's node, the only one that KubeVirt considers.
bool is_current(const Json& vmi, const Json& pod) {
  const PodFacts facts = facts_of(pod);
  return facts.is_active() && facts.ready && facts.node == api::text_at(vmi, {"status", "nodeName"});
}

/// Synchronizes annotations of the pods: eviction-in-progress of the current pod with the VMI's mark, which other pods
/// keep; evict and prefer-no-eviction with those of the VMI.
void sync_pod_annotations(const View& view, const Json& vmi, Writes& writes) {
  const std::string mark = mark_of(vmi);
  for (const Object& pod : view.launchers_of(vmi)) {
    Json changes = Json::object();
    const auto want = [&](std::string_view key, const Json& value) {
      const Json* has = api::find_at(*pod, {"metadata", "annotations", key});
      if (value.is_null() ? has != nullptr : (!has || *has != value)) changes[std::string(key)] = value;
    };
    if (is_current(vmi, *pod)) want(names::kEvictionInProgress, mark.empty() ? Json(nullptr) : Json("true"));
    for (const std::string_view key : {names::kEvictAnnotation, names::kPreferNoEviction}) {
      const Json* own = api::find_at(vmi, {"metadata", "annotations", key});
      want(key, own ? *own : Json(nullptr));
    }
    if (!changes.empty()) writes.merge(kube::kPods, *pod, {{"metadata", {{"annotations", std::move(changes)}}}});
  }
}

void reconcile(const View& view, const Json& vmi, Writes& writes) {
  if (is_terminating(vmi)) return;
  const std::string phase = api::text_at(vmi, {"status", "phase"});
  if (std::ranges::find(kFinalPhases, phase) != std::end(kFinalPhases)) {
    if (behaviour::is_set(vmi, behaviour::kRestartVm) && view.active_launchers_of(vmi).empty()) restart(vmi, writes);
    return;
  }
  if (phase.empty()) return begin_machine(view, vmi, writes);
  if (phase == "Scheduling") return follow_start(view, vmi, writes);
  if (!still_runs(view, vmi)) return writes.merge(kube::kVmis, vmi, {{"status", {{"phase", "Succeeded"}}}});
  if (phase == "Scheduled") return boot(view, vmi, writes);
  keep_condition(view, vmi, writes);
  sync_pod_annotations(view, vmi, writes);
  drain_externally(view, vmi, writes);
}

/// Volumes shared by launcher and handler. Every launcher pod has them, whatever disks the guest has.
Json runtime_volumes() {
  Json volumes = Json::array();
  for (const char* name :
       {"private", "public", "sockets", "virt-bin-share-dir", "libvirt-runtime", "ephemeral-disks", "container-disks"})
    volumes.push_back({{"name", name}, {"emptyDir", Json::object()}});
  return volumes;
}

Json own_budget(const Json& vmi, const std::string& migration) {
  Json metadata = {{"namespace", key_of(vmi).ns},
                   {"name", fmt::format("{}{}", kBudgetPrefix, key_of(vmi).name)},
                   {"ownerReferences", Json::array({controller_reference(vmi)})}};
  if (!migration.empty()) metadata["labels"] = {{kMigrationName, migration}};
  return {
      {"apiVersion", "policy/v1"},
      {"kind", "PodDisruptionBudget"},
      {"metadata", std::move(metadata)},
      {"spec",
       {{"minAvailable", migration.empty() ? 1 : 2}, {"selector", {{"matchLabels", {{kCreatedBy, uid_of(vmi)}}}}}}}};
}

void keep_budget(const View& view, const Json& vmi, Writes& writes) {
  if (is_final(vmi) || !migrates_by_strategy(strategy_of(vmi, view.config))) return;
  std::string migration;
  for (const Object& each : view.migrations_of(vmi)) {
    if (!is_final(*each)) migration = key_of(*each).name;
  }
  const Json wanted = own_budget(vmi, migration);
  const std::string name = wanted["metadata"]["name"];
  const auto has = std::ranges::find_if(view.budgets, [&](const Object& each) {
    return key_of(*each) == api::ObjectKey{key_of(vmi).ns, name};
  });
  if (has == view.budgets.end()) return writes.create(kube::kPdbs, wanted);
  if (api::number_at(**has, {"spec", "minAvailable"}) == api::number_at(wanted, {"spec", "minAvailable"})) return;
  const Json label = migration.empty() ? Json(nullptr) : Json(migration);
  writes.merge(kube::kPdbs, **has,
               {{"metadata", {{"labels", {{kMigrationName, label}}}}},
                {"spec", {{"minAvailable", wanted["spec"]["minAvailable"]}}}});
}

}  // namespace

Json launcher_pod(const Json& vmi) {
  const api::ObjectKey key = key_of(vmi);
  Json labels = Json::object();
  if (const Json* own = api::find_at(vmi, {"metadata", "labels"}); own && own->is_object()) labels = *own;
  labels[std::string(kLauncherLabel)] = kLauncher;
  labels[std::string(kCreatedBy)] = uid_of(vmi);
  labels[std::string(kVmName)] = key.name;
  labels[std::string(kVmiId)] = key.name;
  labels.erase(std::string(kNodeName));
  labels.erase(std::string(kTargetNode));
  Json annotations = {{kDomain, key.name}, {kTransport, "true"}, {names::kRequestEvictOnly, ""}};
  Json requests = {{"cpu", "100m"}};
  if (const std::string memory = api::text_at(vmi, {"spec", "domain", "memory", "guest"}); !memory.empty())
    requests["memory"] = memory;
  Json container = {{"name", "compute"}, {"image", "registry.example/virt-launcher:1"}};
  container["resources"] = {{"requests", std::move(requests)}};
  Json spec = {
      {"containers", Json::array({std::move(container)})}, {"restartPolicy", "Never"}, {"volumes", runtime_volumes()}};
  for (const char* field : {"nodeSelector", "tolerations", "affinity", "terminationGracePeriodSeconds"}) {
    if (const Json* value = api::find_at(vmi, {"spec", field})) spec[field] = *value;
  }
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata",
           {{"namespace", key.ns},
            {"generateName", fmt::format("virt-launcher-{}-", key.name)},
            {"labels", std::move(labels)},
            {"annotations", std::move(annotations)},
            {"ownerReferences", Json::array({controller_reference(vmi)})}}},
          {"spec", std::move(spec)}};
}

Writes run_instances(const View& view) {
  Writes writes;
  for (const Object& vmi : view.vmis) reconcile(view, *vmi, writes);
  return writes;
}

Writes run_disruption_budgets(const View& view) {
  Writes writes;
  if (view.config.minor > kBudgetsUntil) {
    for (const Object& each : view.budgets) writes.remove(kube::kPdbs, *each);
    return writes;
  }
  for (const Object& vmi : view.vmis) keep_budget(view, *vmi, writes);
  return writes;
}

}  // namespace simulator::kubevirt
