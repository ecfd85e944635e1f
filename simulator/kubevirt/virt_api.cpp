#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/kubevirt/admission.hpp"
#include "simulator/pod_facts.hpp"
#include "simulator/text.hpp"

namespace simulator::kubevirt {
namespace {

using api::Json;

constexpr int kCancelSince = 7;
constexpr int kPriorityFieldSince = 7;

VirtApiAnswer bad_virt_request(std::string message) { return {400, "BadRequest", std::move(message)}; }
VirtApiAnswer virt_not_found(std::string_view kind, std::string_view name) {
  return {404, "NotFound", fmt::format("{}.kubevirt.io \"{}\" not found", kind, name)};
}
VirtApiAnswer virt_failure(std::string message) { return {500, "InternalError", std::move(message)}; }

bool wants_dry_run(const Json& body) {
  const Json* values = api::find_at(body, {"dryRun"});
  return values && values->is_array() && !values->empty() && values->front() == "All";
}

std::string not_migratable_reason(const Json& vmi) {
  return fmt::format("Cannot migrate VMI, Reason: {}, Message: {}", condition_value(vmi, "LiveMigratable", "reason"),
                     condition_value(vmi, "LiveMigratable", "message"));
}

bool is_drained(const Json& node, const std::string& taint) {
  return std::ranges::any_of(taints_of(node), [&](const api::Taint& each) {
    return each.key == taint && each.effect == api::TaintEffect::kNoSchedule;
  });
}

/// Checks the node before anything else. Returns the refusal that applies to any cancellation for that VMI.
std::optional<VirtApiAnswer> refused_by_node(const Port& port, const Json& vmi) {
  const std::string mark = mark_of(vmi);
  const std::string name = mark.empty() ? api::text_at(vmi, {"status", "nodeName"}) : mark;
  if (name.empty()) return virt_failure("Internal error occurred: resource name may not be empty");
  const auto node = port.get(kube::kNodes, {"", name});
  if (!node) return virt_failure("Internal error occurred: " + node.error().message);
  const std::string taint = read_config(port).drain_taint;
  if (!is_drained(**node, taint)) return std::nullopt;
  return bad_virt_request(fmt::format(
      "Node \"{}\" has NodeDrainTaintKey \"&Taint{{Key:{},Value:,Effect:NoSchedule,TimeAdded:<nil>,}}\"", name, taint));
}

/// Returns the options in a body, nullopt if it cannot be decoded. An empty body means empty options.
std::optional<Json> options_of(std::string_view body) {
  if (body.empty()) return Json::object();
  Json options = Json::parse(body, nullptr, false);
  if (options.is_null()) return Json::object();
  if (!options.is_object()) return std::nullopt;
  return options;
}

/// Returns true if the header contains the range */*, with or without parameters.
bool takes_anything(std::string_view accept) {
  return accept.empty() || std::ranges::any_of(split(accept, ','), [](std::string_view range) {
           return split_pair(range, ';').first == "*/*";
         });
}

MigrationRefusal bad_migration(std::string message) { return {400, "", std::move(message)}; }

/// Returns why the priority is refused. Before 1.7 the field does not exist, and the server drops it.
std::optional<MigrationRefusal> refused_priority(const Config& config, const Json& vmim, bool by_controller) {
  if (config.minor < kPriorityFieldSince || !api::find_at(vmim, {"spec", "priority"})) return std::nullopt;
  if (!config.has_priorities())
    return MigrationRefusal{422, "Invalid", "MigrationPriorityQueue feature gate is not enabled in kubevirt resource"};
  if (by_controller) return std::nullopt;
  return MigrationRefusal{422, "Invalid",
                          "Migration priority queue, only virt-controller is allowed to set priority field"};
}

bool is_owned_by_machine(const Json& vmi, const std::string& name) {
  return std::ranges::any_of(api::items_at(vmi, {"metadata", "ownerReferences"}), [&](const Json& owner) {
    return api::text_at(owner, {"kind"}) == "VirtualMachine" && api::text_at(owner, {"name"}) == name;
  });
}

}  // namespace

std::optional<MigrationRefusal> review_migration(const Port& port, const Json& vmim, bool by_controller) {
  const std::string ns = api::text_at(vmim, {"metadata", "namespace"});
  const std::string name = api::text_at(vmim, {"spec", "vmiName"});
  if (auto refusal = refused_priority(read_config(port), vmim, by_controller)) return refusal;
  const auto vmi = port.get(kube::kVmis, {ns, name});
  if (!vmi) return bad_migration(fmt::format("the VMI \"{}/{}\" does not exist", ns, name));
  if (is_final(**vmi)) return bad_migration("Cannot migrate VMI in finalized state.");
  if (forbids_migration(**vmi)) return bad_migration(not_migratable_reason(**vmi));
  const auto others = port.list(kube::kVmims);
  if (!others) return bad_migration(others.error().message);
  for (const Object& other : *others) {
    if (key_of(*other).ns != ns || api::text_at(*other, {"spec", "vmiName"}) != name || is_final(*other)) continue;
    return bad_migration(fmt::format(
        "in-flight migration detected. Active migration job ({}) is currently already in progress for VMI {}.",
        uid_of(*other), name));
  }
  return std::nullopt;
}

VirtApiAnswer cancel_evacuation(Port& port, const api::ObjectKey& key, std::string_view body) {
  const auto vmi = port.get(kube::kVmis, key);
  if (!vmi) return virt_not_found("virtualmachineinstance", key.name);
  if (auto refused = refused_by_node(port, **vmi)) return *std::move(refused);
  const std::string mark = mark_of(**vmi);
  if (mark.empty()) return {};
  const auto options = options_of(body);
  if (!options) return bad_virt_request("Can not unmarshal Request body to struct, error: invalid character");
  const std::string node = api::text_at(*options, {"evacuationNodeName"});
  if (mark != node) {
    return virt_failure("Internal error occurred: the server rejected our request due to an error in our request");
  }
  if (wants_dry_run(*options)) return {};
  Writes writes;
  writes.merge(kube::kVmis, **vmi, {{"status", {{"evacuationNodeName", nullptr}}}});
  const auto done = port.carry_out(writes.steps.front());
  return done ? VirtApiAnswer{} : virt_failure("Internal error occurred: " + done.error().message);
}

VirtApiAnswer migrate_machine(Port& port, const api::ObjectKey& key, std::string_view body) {
  const auto vmi = port.get(kube::kVmis, key);
  if (!vmi || !is_owned_by_machine(**vmi, key.name)) return virt_not_found("virtualmachine", key.name);
  if (api::text_at(**vmi, {"status", "phase"}) != "Running") return {409, "Conflict", "VM is not running"};
  const Json options = body.empty() ? Json::object() : Json::parse(body, nullptr, false);
  Json spec = {{"vmiName", key.name}};
  const Json* selector = api::find_at(options, {"addedNodeSelector"});
  if (selector && read_config(port).has_node_selectors()) spec["addedNodeSelector"] = *selector;
  const Json vmim = {{"apiVersion", kube::kVmims.api_version()},
                     {"kind", kube::kVmims.kind},
                     {"metadata", {{"namespace", key.ns}, {"generateName", "kubevirt-migrate-vm-"}}},
                     {"spec", std::move(spec)}};
  if (const auto refusal = review_migration(port, vmim, false)) return virt_failure(refusal->message);
  if (wants_dry_run(options)) return {202, {}, {}};
  Writes writes;
  writes.create(kube::kVmims, vmim);
  const auto done = port.carry_out(writes.steps.front());
  return done ? VirtApiAnswer{202, {}, {}} : virt_failure(done.error().message);
}

std::optional<VirtApiAnswer> serve_virt_api(Port& port, const VirtApiCall& call) {
  const bool machine = call.plural == "virtualmachines";
  if (!machine && call.plural != "virtualmachineinstances") return std::nullopt;
  const Config config = read_config(port);
  const bool migrates = machine && call.subresource == "migrate";
  const bool cancels = call.subresource == "evacuate/cancel" && config.minor >= kCancelSince;
  if (!migrates && !cancels) return std::nullopt;
  if (config.refuses_callers) return VirtApiAnswer{401, "", ""};
  if (!takes_anything(call.accept)) return VirtApiAnswer{406, "", "406: Not Acceptable\n\nAvailable representations: "};
  if (migrates) return migrate_machine(port, call.key, call.body);
  if (const auto vmi = port.get(kube::kVmis, call.key); machine && (!vmi || !is_owned_by_machine(**vmi, call.key.name)))
    return virt_not_found("virtualmachine", call.key.name);
  return cancel_evacuation(port, call.key, call.body);
}

}  // namespace simulator::kubevirt
