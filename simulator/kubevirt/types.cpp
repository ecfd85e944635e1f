#include "simulator/kubevirt/types.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator::kubevirt {
namespace {

using api::Json;

Json guarded(Json patch, const std::string& uid) {
  object_in(patch, "metadata")["uid"] = uid;
  return patch;
}

std::set<std::string> drained_nodes(const std::vector<Object>& nodes, const std::string& taint) {
  std::set<std::string> drained;
  for (const Object& node : nodes) {
    for (const api::Taint& each : taints_of(*node)) {
      if (each.key == taint && each.effect == api::TaintEffect::kNoSchedule)
        drained.insert(api::text_at(*node, {"metadata", "name"}));
    }
  }
  return drained;
}

}  // namespace

int minor_of(std::string_view version) {
  if (version.starts_with('v')) version.remove_prefix(1);
  if (version.starts_with("0.")) return 0;
  int minor = 0;
  if (!version.starts_with("1.")) return Config{}.minor;
  const auto [end, error] = std::from_chars(version.data() + 2, version.data() + version.size(), minor);
  return error == std::errc{} ? minor : Config{}.minor;
}

int patch_of(std::string_view version) {
  const auto last = version.rfind('.');
  int patch = 0;
  if (last == std::string_view::npos || version.find('.') == last) return 0;
  (void)std::from_chars(version.data() + last + 1, version.data() + version.size(), patch);
  return patch;
}

Config config_of(const Json* kubevirt) {
  Config config;
  if (!kubevirt) return config;
  const std::string version = api::text_at(*kubevirt, {"status", "observedKubeVirtVersion"});
  config.minor = minor_of(version);
  config.patch = patch_of(version);
  config.strategy = api::text_at(*kubevirt, {"spec", "configuration", "evictionStrategy"});
  const auto limit = [&](std::string_view field, std::int64_t otherwise) {
    return api::number_at(*kubevirt, {"spec", "configuration", "migrations", field}).value_or(otherwise);
  };
  config.per_cluster = limit("parallelMigrationsPerCluster", config.per_cluster);
  config.per_node = limit("parallelOutboundMigrationsPerNode", config.per_node);
  if (const auto taint = api::text_at(*kubevirt, {"spec", "configuration", "migrations", "nodeDrainTaintKey"});
      !taint.empty())
    config.drain_taint = taint;
  const Json& gates = api::items_at(*kubevirt, {"spec", "configuration", "developerConfiguration", "featureGates"});
  config.priority_gate = std::ranges::any_of(
      gates, [](const Json& gate) { return gate.is_string() && gate.get_ref<const std::string&>() == kPriorityGate; });
  config.webhook_down = annotation_of(*kubevirt, behaviour::kVirtApi) == "down";
  config.refuses_callers = annotation_of(*kubevirt, behaviour::kVirtApi) == "unauthorized";
  return config;
}

void Writes::create(const kube::ResourceType& type, Json object) {
  const std::string ns = api::text_at(object, {"metadata", "namespace"});
  steps.push_back({Step::Verb::kCreate, type, {ns, ""}, "", std::move(object), "", ""});
}
void Writes::merge(const kube::ResourceType& type, const Json& object, Json patch) {
  const std::string uid = uid_of(object);
  steps.push_back({Step::Verb::kMerge, type, key_of(object), uid, guarded(std::move(patch), uid), "", ""});
}
void Writes::merge_status(const kube::ResourceType& type, const Json& object, Json patch) {
  const std::string uid = uid_of(object);
  steps.push_back({Step::Verb::kMergeStatus, type, key_of(object), uid, guarded(std::move(patch), uid), "", ""});
}
void Writes::remove(const kube::ResourceType& type, const Json& object) {
  steps.push_back({Step::Verb::kDelete, type, key_of(object), uid_of(object), nullptr, "", ""});
}
void Writes::event(const Json& about, std::string_view reason, std::string note) {
  steps.push_back(
      {Step::Verb::kEvent, kube::kEvents, key_of(about), uid_of(about), about, std::string(reason), std::move(note)});
}
void Writes::wake_at(base::TimePoint when) { due = due ? std::min(*due, when) : when; }

Object View::vmi(const std::string& ns, const std::string& name) const {
  const auto found = std::ranges::find_if(vmis, [&](const Object& each) {
    return key_of(*each) == api::ObjectKey{ns, name};
  });
  return found == vmis.end() ? nullptr : *found;
}

Object View::vmi_of(const Json& vmim) const {
  return vmi(api::text_at(vmim, {"metadata", "namespace"}), api::text_at(vmim, {"spec", "vmiName"}));
}

std::vector<Object> View::launchers_of(const Json& vmi) const {
  std::vector<Object> found;
  for (const Object& pod : launchers) {
    if (label_of(*pod, kCreatedBy) == uid_of(vmi)) found.push_back(pod);
  }
  return found;
}

std::vector<Object> View::active_launchers_of(const Json& vmi) const {
  std::vector<Object> found = launchers_of(vmi);
  std::erase_if(found, [](const Object& pod) { return !facts_of(*pod).is_active(); });
  return found;
}

std::vector<Object> View::migrations_of(const Json& vmi) const {
  std::vector<Object> found;
  const api::ObjectKey key = key_of(vmi);
  for (const Object& vmim : vmims) {
    if (key_of(*vmim).ns == key.ns && api::text_at(*vmim, {"spec", "vmiName"}) == key.name) found.push_back(vmim);
  }
  return found;
}

Object View::target_pod_of(const Json& vmim) const {
  const auto found =
      std::ranges::find_if(launchers, [&](const Object& pod) { return label_of(*pod, kJobUid) == uid_of(vmim); });
  return found == launchers.end() ? nullptr : *found;
}

Object View::current_pod_of(const Json& vmi) const {
  const std::string node = api::text_at(vmi, {"status", "nodeName"});
  for (const Object& pod : active_launchers_of(vmi)) {
    if (api::text_at(*pod, {"spec", "nodeName"}) == node) return pod;
  }
  return nullptr;
}

Config read_config(const Port& port) {
  const auto found = port.list(kube::kKubeVirts);
  return config_of(found && !found->empty() ? found->front().get() : nullptr);
}

base::Result<View> read_view(const Port& port, base::TimePoint now) {
  View view;
  view.now = now;
  const auto load = [&](const kube::ResourceType& type, std::vector<Object>& list) -> base::Status {
    auto found = port.list(type);
    if (!found) return std::move(found).error();
    list = *std::move(found);
    return base::Done{};
  };
  if (auto vmis = load(kube::kVmis, view.vmis); !vmis) return std::move(vmis).error();
  if (auto vmims = load(kube::kVmims, view.vmims); !vmims) return std::move(vmims).error();
  if (view.vmis.empty() && view.vmims.empty()) return view;
  view.config = read_config(port);
  if (auto pods = load(kube::kPods, view.launchers); !pods) return std::move(pods).error();
  std::erase_if(view.launchers, [](const Object& pod) { return label_of(*pod, kLauncherLabel) != kLauncher; });
  if (auto budgets = load(kube::kPdbs, view.budgets); !budgets) return std::move(budgets).error();
  std::erase_if(view.budgets, [](const Object& pdb) { return !key_of(*pdb).name.starts_with(kBudgetPrefix); });
  std::vector<Object> nodes;
  if (auto listed = load(kube::kNodes, nodes); !listed) return std::move(listed).error();
  view.drained = drained_nodes(nodes, view.config.drain_taint);
  return view;
}

std::string label_of(const Json& object, std::string_view key) {
  return api::text_at(object, {"metadata", "labels", key});
}
std::string annotation_of(const Json& object, std::string_view key) {
  return api::text_at(object, {"metadata", "annotations", key});
}
std::string mark_of(const Json& vmi) { return api::text_at(vmi, {"status", "evacuationNodeName"}); }
std::string strategy_of(const Json& vmi, const Config& config) {
  const std::string own = api::text_at(vmi, {"spec", "evictionStrategy"});
  return own.empty() ? config.strategy : own;
}
bool is_live_migratable(const Json& vmi) { return condition_value(vmi, "LiveMigratable") == "True"; }
bool forbids_migration(const Json& vmi) { return condition_value(vmi, "LiveMigratable") == "False"; }
bool is_final(const Json& object) {
  const std::string phase = api::text_at(object, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed";
}
bool is_running(const Json& vmim) {
  const std::string phase = api::text_at(vmim, {"status", "phase"});
  return !is_final(vmim) && phase != "Pending" && !phase.empty();
}
bool is_migrating(const Json& vmi) {
  return !api::text_at(vmi, {"status", "migrationState", "migrationUid"}).empty() &&
         !api::flag_at(vmi, {"status", "migrationState", "completed"});
}
bool has_arrived(const Json& vmi) {
  return is_migrating(vmi) && !api::text_at(vmi, {"status", "migrationState", "endTimestamp"}).empty();
}
bool migrates_by_strategy(std::string_view strategy) {
  return strategy == "LiveMigrate" || strategy == "LiveMigrateIfPossible";
}

base::TimePoint phase_since(const Json& object) {
  const std::string phase = api::text_at(object, {"status", "phase"});
  for (const Json& each : api::items_at(object, {"status", "phaseTransitionTimestamps"})) {
    if (api::text_at(each, {"phase"}) != phase) continue;
    if (const auto at = time_at(each, {"phaseTransitionTimestamp"})) return *at;
  }
  return time_at(object, {"metadata", "creationTimestamp"}).value_or(base::TimePoint{});
}

Json with_transition(const Json& object, std::string_view phase, base::TimePoint now) {
  Json transitions = Json::array();
  const Json* before = api::find_at(object, {"status", "phaseTransitionTimestamps"});
  if (before && before->is_array()) transitions = *before;
  transitions.push_back({{"phase", phase}, {"phaseTransitionTimestamp", base::format_time(now)}});
  return transitions;
}

}  // namespace simulator::kubevirt
