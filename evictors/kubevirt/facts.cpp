#include "evictors/kubevirt/facts.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "api/meta/quantity.hpp"
#include "api/virtual_machine.hpp"
#include "base/text.hpp"

namespace evictors::kubevirt {
namespace {

using api::Json;

constexpr std::size_t kMaxDocument = 8 << 20;
constexpr std::size_t kMaxName = 253;
constexpr std::size_t kMaxSelector = 64;  // labels
constexpr std::int64_t kMaxPerGib = 86'400;
constexpr std::int64_t kMaxFactor = 100;
constexpr std::size_t kMaxQuantity = 64;
constexpr std::size_t kMaxConditionText = 300;

std::string text(const Json& object, std::initializer_list<std::string_view> path, std::size_t most = kMaxName) {
  const Json* found = api::find_at(object, path);
  return found && found->is_string() ? base::truncate_utf8(found->get_ref<const std::string&>(), most) : std::string();
}

/// Returns the document's object, discarded if the document is not an object.
Json parsed(const Document& document) {
  if (document.body.size() > kMaxDocument) return Json(Json::value_t::discarded);
  Json object = Json::parse(document.body, nullptr, false);
  return object.is_object() ? object : Json(Json::value_t::discarded);
}

/// Returns parsed() of a 200 answer, else discarded.
Json parsed_answer(const Document& document) {
  return document.ok() ? parsed(document) : Json(Json::value_t::discarded);
}

/// Returns true for a 404 that names the object, in contrast to a 404 for an unknown kind.
bool names_the_object(const Document& document) {
  const Json status = parsed(document);
  return !status.is_discarded() && !text(status, {"details", "name"}).empty();
}

VmMove read_move(const Json& vmi) {
  const Json* state = api::find_at(vmi, {"status", "migrationState"});
  if (!state || !state->is_object()) return {};
  VmMove move;
  move.migration_uid = text(*state, {"migrationUid"});
  move.source_node = text(*state, {"sourceNode"});
  move.target_node = text(*state, {"targetNode"});
  move.target_pod = text(*state, {"targetPod"});
  move.mode = text(*state, {"mode"});
  move.failure = text(*state, {"failureReason"});
  move.ended = api::find_at(*state, {"endTimestamp"}) && !text(*state, {"endTimestamp"}).empty();
  move.completed = api::flag_at(*state, {"completed"});
  move.failed = api::flag_at(*state, {"failed"});
  move.fingerprint = fmt::format("{}/{}/{}{}/{}/{}", move.mode, move.target_node, move.ended, move.completed,
                                 text(*state, {"startTimestamp"}, 40), text(*state, {"abortStatus"}, 40));
  return move;
}

std::optional<std::int64_t> memory_of(const Json& vmi) {
  const Json* domain = api::find_at(vmi, {"spec", "domain"});
  if (!domain) return std::nullopt;
  for (const std::string& amount :
       {text(*domain, {"memory", "guest"}, 64), text(*domain, {"resources", "requests", "memory"}, 64),
        text(*domain, {"resources", "limits", "memory"}, 64)}) {
    const auto quantity = api::Quantity::parse(amount);
    if (quantity && quantity->units() > 0) return quantity->units();
  }
  return std::nullopt;
}

MigrationSettings read_settings(const Json* migrations) {
  MigrationSettings settings;
  if (!migrations || !migrations->is_object()) return settings;
  if (const auto per_gib = api::number_at(*migrations, {"completionTimeoutPerGiB"}); per_gib && *per_gib >= 0)
    settings.per_gib = std::min(*per_gib, kMaxPerGib);
  const auto factor = api::Quantity::parse(
      text(*migrations, {"experimental", "stallDetector", "completionTimeoutFactor"}, kMaxQuantity));
  if (factor) settings.factor = std::clamp<std::int64_t>(factor->units(), 1, kMaxFactor);
  for (const char* field : {"allowWorkloadDisruption", "allowPostCopy"}) {
    const Json* allowed = api::find_at(*migrations, {field});
    if (allowed && allowed->is_boolean()) return settings.disrupts = allowed->get<bool>(), settings;
  }
  return settings;
}

std::vector<std::pair<std::string, std::string>> selector_of(const Json& vmi) {
  std::vector<std::pair<std::string, std::string>> labels;
  const Json* selector = api::find_at(vmi, {"spec", "nodeSelector"});
  if (!selector || !selector->is_object() || selector->size() > kMaxSelector) return labels;
  for (const auto& [key, value] : selector->items()) {
    if (value.is_string()) labels.emplace_back(key, value.get<std::string>());
  }
  return labels;
}

std::string machine_of(const Json& vmi) {
  for (const Json& owner : api::items_at(vmi, {"metadata", "ownerReferences"})) {
    if (text(owner, {"kind"}) == "VirtualMachine") return text(owner, {"name"});
  }
  return {};
}

std::string active_pod_of(const Json& vmi, const std::string& node) {
  const Json* pods = api::find_at(vmi, {"status", "activePods"});
  if (!pods || !pods->is_object()) return {};
  for (const auto& [uid, where] : pods->items()) {
    if (where.is_string() && where == node) return base::truncate_utf8(uid, 64);
  }
  return {};
}

const Json* vmi_condition(const Json& vmi, std::string_view type) {
  for (const Json& each : api::items_at(vmi, {"status", "conditions"})) {
    if (text(each, {"type"}) == type) return &each;
  }
  return nullptr;
}

/// Returns "<reason>: <message>", or the part that is set.
std::string reason_and_message(const Json& condition) {
  const std::string reason = text(condition, {"reason"}, kMaxConditionText);
  const std::string message = text(condition, {"message"}, kMaxConditionText);
  return reason + (reason.empty() || message.empty() ? "" : ": ") + message;
}

void read_migratability(const Json& vmi, VmFacts& facts) {
  const Json* condition = vmi_condition(vmi, "LiveMigratable");
  if (!condition) return;
  facts.can_migrate = text(*condition, {"status"}) == "True";
  facts.cannot_migrate = text(*condition, {"status"}) == "False";
  if (facts.cannot_migrate) facts.why_not = reason_and_message(*condition);
}

VmFacts read_vmi_object(const Json& vmi) {
  VmFacts facts;
  facts.name = text(vmi, {"metadata", "name"});
  facts.uid = text(vmi, {"metadata", "uid"});
  facts.node = text(vmi, {"status", "nodeName"});
  facts.mark = text(vmi, {"status", "evacuationNodeName"});
  facts.phase = text(vmi, {"status", "phase"});
  facts.strategy = text(vmi, {"spec", "evictionStrategy"});
  facts.machine = machine_of(vmi);
  facts.active_uid = active_pod_of(vmi, facts.node);
  facts.memory_bytes = memory_of(vmi);
  facts.disk_bytes = disks_to_copy(vmi);
  facts.node_selector = selector_of(vmi);
  facts.settings = read_settings(api::find_at(vmi, {"status", "migrationState", "migrationConfiguration"}));
  read_migratability(vmi, facts);
  facts.move = read_move(vmi);
  return facts;
}

void read_vmi_document(const Document& document, VmState& view) {
  view.problem = base::truncate_utf8(document.body, 300);
  if (document.status == 404) {
    view.sight = names_the_object(document) ? LookupResult::kGone : LookupResult::kNotServed;
    return;
  }
  view.sight = document.status == 403 ? LookupResult::kForbidden : LookupResult::kUnreadable;
  const Json vmi = parsed_answer(document);
  if (vmi.is_discarded() || text(vmi, {"metadata", "uid"}).empty()) return;
  view.sight = LookupResult::kSeen;
  view.problem.clear();
  view.vmi = read_vmi_object(vmi);
}

/// Returns false for strategies with which the guest stays down after an eviction until a user starts it.
bool runs_again(const Json& machine) {
  if (const Json* running = api::find_at(machine, {"spec", "running"}); running && running->is_boolean())
    return running->get<bool>();
  const std::string strategy = text(machine, {"spec", "runStrategy"});
  return strategy != "Halted" && strategy != "Manual" && strategy != "Once" && strategy != "RerunOnFailure";
}

MachineState look_at_machine(const Document& document) {
  if (document.status == 404 && names_the_object(document)) return MachineState::kGone;
  const Json machine = parsed_answer(document);
  if (machine.is_discarded()) return MachineState::kNotRead;
  if (api::find_at(machine, {"metadata", "deletionTimestamp"})) return MachineState::kGone;
  return runs_again(machine) ? MachineState::kKept : MachineState::kStopped;
}

/// Conditions that block a migration, with their meaning. Most have no message of their own.
struct KnownObstacle {
  std::string_view type;
  std::string_view meaning;
};
constexpr std::array kObstacles = {
    KnownObstacle{"migrationRejectedByResourceQuota", "a ResourceQuota of the namespace refuses its target pod"},
    KnownObstacle{"migrationBlockedByUtilityVolumes", "it waits until utility volumes are detached"},
    KnownObstacle{"migrationBlockedByBackup", "it waits for a backup of the VM"},
    KnownObstacle{"decentralizedMigrationBlocked", "the other cluster's half of it is blocked"},
};

std::string obstacle_of(const Json& object) {
  for (const Json& each : api::items_at(object, {"status", "conditions"})) {
    if (text(each, {"status"}) != "True") continue;
    const auto known = std::ranges::find(kObstacles, text(each, {"type"}), &KnownObstacle::type);
    if (known == kObstacles.end()) continue;
    const std::string details = reason_and_message(each);
    return fmt::format("{}{}{}", known->meaning, details.empty() ? "" : ": ", details);
  }
  return {};
}

Migration read_migration(const Json& object) {
  Migration migration;
  migration.name = text(object, {"metadata", "name"});
  migration.uid = text(object, {"metadata", "uid"});
  migration.created = text(object, {"metadata", "creationTimestamp"});
  migration.phase = text(object, {"status", "phase"});
  migration.evacuated_node = text(object, {"metadata", "annotations", "kubevirt.io/evacuationMigration"});
  migration.failure = text(object, {"status", "migrationState", "failureReason"});
  migration.obstacle = obstacle_of(object);
  migration.terminating = api::find_at(object, {"metadata", "deletionTimestamp"}) != nullptr;
  return migration;
}

void look_at_migrations(const Document& document, const std::string& vmi, VmState& view) {
  const Json list = parsed_answer(document);
  const Json* items = api::find_at(list, {"items"});
  if (!items || !items->is_array()) return;
  view.migrations_known = true;
  for (const Json& item : *items) {
    if (text(item, {"spec", "vmiName"}) == vmi) view.migrations.push_back(read_migration(item));
  }
  std::ranges::sort(view.migrations, {}, [](const Migration& each) { return std::tie(each.created, each.name); });
}

std::optional<int> minor_of_version(std::string_view version) {
  if (version.starts_with('v')) version.remove_prefix(1);
  if (version.starts_with("0.")) return 0;
  int minor = 0;
  if (!version.starts_with("1.")) return std::nullopt;
  const auto [end, error] = std::from_chars(version.data() + 2, version.data() + version.size(), minor);
  return error == std::errc{} ? std::optional(minor) : std::nullopt;
}

void look_at_system(const Document& document, VmState& view) {
  const Json list = parsed_answer(document);
  const Json& items = api::items_at(list, {"items"});
  if (items.empty()) return;
  const Json& kubevirt = items.front();
  view.system.known = true;
  view.system.minor = minor_of_version(text(kubevirt, {"status", "observedKubeVirtVersion"}));
  view.system.strategy = text(kubevirt, {"spec", "configuration", "evictionStrategy"});
  view.system.settings = read_settings(api::find_at(kubevirt, {"spec", "configuration", "migrations"}));
}

/// KubeVirt sets no failureReason if no node accepts the target. Only the target pod's condition shows the cause.
void look_at_target(const Document& document, VmState& view) {
  const Json list = parsed_answer(document);
  for (const Json& pod : api::items_at(list, {"items"})) {
    for (const Json& each : api::items_at(pod, {"status", "conditions"})) {
      const bool refused = text(each, {"type"}) == "PodScheduled" && text(each, {"status"}) == "False";
      if (refused) view.unschedulable = text(each, {"message"}, 300);
    }
  }
}

}  // namespace

const std::string& strategy_of(const VmState& view) {
  return view.vmi.strategy.empty() ? view.system.strategy : view.vmi.strategy;
}

MachineFate fate_of(const VmState& view) {
  if (view.sight != LookupResult::kSeen) return MachineFate::kUnknown;
  const std::string& strategy = strategy_of(view);
  if (strategy.empty() && !view.system.known) return MachineFate::kUnknown;
  if (strategy == "External") return MachineFate::kExternal;
  const bool if_possible = strategy == "LiveMigrateIfPossible";
  if (strategy != "LiveMigrate" && !if_possible) return MachineFate::kShutDown;
  if (view.vmi.can_migrate) return MachineFate::kMigrates;
  if (!view.vmi.cannot_migrate) return MachineFate::kUndecided;
  return if_possible ? MachineFate::kShutDown : MachineFate::kRefused;
}

MachineFate fate_of(const Document& vmi, const Document& kubevirts) {
  VmState view;
  read_vmi_document(vmi, view);
  look_at_system(kubevirts, view);
  return fate_of(view);
}

VmState read_state(const EvictorContext& context) {
  VmState view;
  const std::string name = context.pod ? api::machine_of(*context.pod) : std::string(context.ref("vmi"));
  if (const Document* vmi = context.document(kVmiDocument)) read_vmi_document(*vmi, view);
  if (const Document* list = context.document(kMigrationsDocument)) look_at_migrations(*list, name, view);
  if (const Document* system = context.document(kKubeVirtDocument)) look_at_system(*system, view);
  if (const Document* target = context.document(kTargetDocument)) look_at_target(*target, view);
  if (const Document* machine = context.document(kMachineDocument)) view.machine = look_at_machine(*machine);
  const VmMove& move = view.vmi.move;
  for (Migration& each : view.migrations)
    each.has_arrived = move.ended && !move.failed && !each.uid.empty() && move.migration_uid == each.uid;
  return view;
}

}  // namespace evictors::kubevirt
