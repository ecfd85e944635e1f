#include "simulator/kubevirt/admission.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "api/meta/well_known.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator::kubevirt {
namespace {

using api::Json;

constexpr int kUniformSince = 5;  ///< matchConditions, failurePolicy Fail, same response to every call
constexpr int kSourceSince = 7;   ///< eviction-source

std::string quoted_vmi(const Json& vmi) { return '"' + key_of(vmi).to_string() + '"'; }

bool is_terminal_pod(const Json& pod) { return facts_of(pod).is_terminal(); }

/// Returns true for an Eviction with valid annotations.
bool is_decodable(const Json* eviction) {
  if (!eviction || !eviction->is_object()) return false;
  const Json* annotations = api::find_at(*eviction, {"metadata", "annotations"});
  if (!annotations || annotations->is_null()) return true;
  return annotations->is_object() &&
         std::ranges::all_of(*annotations, [](const Json& value) { return value.is_string(); });
}

bool is_dry(const EvictionCase& facts) {
  const Json* values = facts.eviction ? api::find_at(*facts.eviction, {"deleteOptions", "dryRun"}) : nullptr;
  return facts.dry_run || (values && values->is_array() && !values->empty() && values->front() == "All");
}

EvictionDecision decide_hotplug(const EvictionCase& facts) {
  if (!facts.launcher_error.empty()) return {"failed getting owner for hotplug pod: " + facts.launcher_error};
  const bool orphan = !facts.launcher || label_of(*facts.launcher, kLauncherLabel) != kLauncher ||
                      is_terminal_pod(*facts.launcher) || annotation_of(*facts.launcher, kDomain).empty();
  if (orphan || facts.vmi_missing) return {};
  if (!facts.vmi) return {"kubevirt failed getting the vmi: " + facts.vmi_error};
  const api::ObjectKey vmi = key_of(*facts.vmi);
  return {fmt::format("cannot evict hotplug pod: {} associated with running vmi: {} in namespace {}",
                      key_of(*facts.pod).name, vmi.name, vmi.ns)};
}

bool names_its_source(const EvictionCase& facts) {
  return facts.config.minor >= kSourceSince && facts.eviction &&
         annotation_of(*facts.eviction, "requested-by") == api::well_known::kRequestedByDescheduler;
}

Json marking(const EvictionCase& facts, const std::string& node) {
  Json patch = {{"status", {{"evacuationNodeName", node}}}};
  if (names_its_source(facts)) patch["metadata"]["annotations"][std::string(kEvictionSource)] = "descheduler";
  return patch;
}

/// Returns true if the patch fails: when it must create the annotations, KubeVirt escapes the key, and the API server
/// rejects it.
bool has_bad_key(const EvictionCase& facts) {
  const Json* annotations = api::find_at(*facts.vmi, {"metadata", "annotations"});
  return names_its_source(facts) && (!annotations || annotations->empty());
}

std::string bad_key_answer(const Json& vmi) {
  return fmt::format(
      "kubevirt failed marking the vmi for eviction: VirtualMachineInstance.kubevirt.io \"{}\" is invalid: "
      "metadata.annotations: Invalid value: \"kubevirt.io~1eviction-source\": name part must consist of alphanumeric "
      "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or "
      "'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      key_of(vmi).name);
}

/// Decides about a launcher pod's eviction. Before 1.5 only the first call for the source pod is denied here; others
/// pass and are refused by the VMI's budget.
EvictionDecision decide_evacuation(const EvictionCase& facts) {
  const bool uniform = facts.config.minor >= kUniformSince;
  const std::string triggered = "Eviction triggered evacuation of VMI " + quoted_vmi(*facts.vmi);
  const std::string node = api::text_at(*facts.pod, {"spec", "nodeName"});
  const bool marked = !mark_of(*facts.vmi).empty();
  const bool elsewhere = api::text_at(*facts.vmi, {"status", "nodeName"}) != node;
  if (!uniform && (marked || elsewhere)) return {};
  if (marked) return {"Evacuation in progress: " + triggered};
  if (elsewhere) return {"Eviction request for target Pod"};
  if (uniform && !is_decodable(facts.eviction)) {
    return {"failed to parse the eviction object: json: cannot unmarshal into Go value of type v1.Eviction"};
  }
  if (has_bad_key(facts)) return {bad_key_answer(*facts.vmi)};
  if (is_dry(facts)) return {triggered};
  return {triggered, marking(facts, node)};
}

/// Returns the name of the VMI of a launcher pod, empty if the pod does not belong to KubeVirt or has finished.
std::string vmi_name_of(const Json* pod) { return pod ? annotation_of(*pod, kDomain) : std::string(); }

/// Returns nullptr if there is no owner launcher or, with `error` set, if it could not be read.
Object owner_launcher(const Port& port, const Json& pod, std::string& error) {
  const Json& owners = api::items_at(pod, {"metadata", "ownerReferences"});
  if (owners.size() != 1) return nullptr;
  const auto found = port.get(kube::kPods, {key_of(pod).ns, api::text_at(owners.front(), {"name"})});
  if (!found && !base::is_not_found(found.error())) error = found.error().message;
  return found ? *found : nullptr;
}

bool has_one_owner(const Json& pod) { return api::items_at(pod, {"metadata", "ownerReferences"}).size() == 1; }

}  // namespace

EvictionDecision decide_eviction(const EvictionCase& facts) {
  if (!facts.pod) return {};
  if (label_of(*facts.pod, kLauncherLabel) == kHotplugDisk && has_one_owner(*facts.pod) &&
      facts.config.guards_hotplug_pods())
    return decide_hotplug(facts);
  if (label_of(*facts.pod, kLauncherLabel) != kLauncher || is_terminal_pod(*facts.pod)) return {};
  if (vmi_name_of(facts.pod).empty()) return {};
  if (!facts.vmi) return {"kubevirt failed getting the vmi: " + facts.vmi_error};
  const std::string strategy = strategy_of(*facts.vmi, facts.config);
  if (strategy == "External") return decide_evacuation(facts);
  if (!migrates_by_strategy(strategy)) return {};
  if (is_live_migratable(*facts.vmi)) return decide_evacuation(facts);
  if (strategy == "LiveMigrateIfPossible") return {};
  return {fmt::format("VMI {} is configured with an eviction strategy but is not live-migratable",
                      key_of(*facts.vmi).name)};
}

bool intercepts(std::string_view webhook, const Config& config, const Json& eviction) {
  const std::string name = api::text_at(eviction, {"metadata", "name"});
  if (webhook == kHotplugEvictionWebhook) return config.guards_hotplug_pods() && name.starts_with("hp-volume-");
  return config.minor < kUniformSince || name.starts_with(kLauncher);
}

std::optional<std::string> review_eviction(Port& port, const api::ObjectKey& pod_key, const Json& eviction,
                                           bool dry_run) {
  EvictionCase facts;
  facts.config = read_config(port);
  facts.eviction = &eviction;
  facts.dry_run = dry_run;
  const auto pod = port.get(kube::kPods, pod_key);
  if (!pod) return std::nullopt;
  facts.pod = pod->get();
  const bool hotplug = label_of(**pod, kLauncherLabel) == kHotplugDisk;
  const Object launcher = hotplug ? owner_launcher(port, **pod, facts.launcher_error) : nullptr;
  facts.launcher = launcher.get();
  const std::string vmi_name = vmi_name_of(hotplug ? launcher.get() : pod->get());
  const auto vmi = port.get(kube::kVmis, {pod_key.ns, vmi_name});
  if (vmi) facts.vmi = vmi->get();
  if (!vmi) facts.vmi_error = vmi.error().message;
  facts.vmi_missing = !vmi && base::is_not_found(vmi.error());
  const EvictionDecision decision = decide_eviction(facts);
  if (decision.message.empty()) return std::nullopt;
  if (!decision.mark) return decision.message;
  Writes writes;
  writes.merge(kube::kVmis, *facts.vmi, *decision.mark);
  const auto marked = port.carry_out(writes.steps.front());
  if (!marked) return "kubevirt failed marking the vmi for eviction: " + marked.error().message;
  return decision.message;
}

}  // namespace simulator::kubevirt
