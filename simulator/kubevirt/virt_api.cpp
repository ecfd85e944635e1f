#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/kubevirt/admission.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator::kubevirt {
namespace {

using api::Json;

constexpr int kCancelSince = 7;

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
  const Json* condition = condition_of(vmi, "LiveMigratable");
  return fmt::format("Cannot migrate VMI, Reason: {}, Message: {}",
                     condition ? api::text_at(*condition, {"reason"}) : std::string(),
                     condition ? api::text_at(*condition, {"message"}) : std::string());
}

bool is_drained(const Port& port, const std::string& node, const std::string& taint) {
  const auto found = port.get(kube::kNodes, {"", node});
  return found && std::ranges::any_of(taints_of(**found), [&](const api::Taint& each) {
           return each.key == taint && each.effect == api::TaintEffect::kNoSchedule;
         });
}

bool is_owned_by_machine(const Json& vmi, const std::string& name) {
  const Json* owners = api::find_at(vmi, {"metadata", "ownerReferences"});
  return owners && owners->is_array() && std::ranges::any_of(*owners, [&](const Json& owner) {
           return api::text_at(owner, {"kind"}) == "VirtualMachine" && api::text_at(owner, {"name"}) == name;
         });
}

}  // namespace

std::optional<std::string> review_migration(const Port& port, const Json& vmim, bool by_controller) {
  const std::string ns = api::text_at(vmim, {"metadata", "namespace"});
  const std::string name = api::text_at(vmim, {"spec", "vmiName"});
  if (!by_controller && api::find_at(vmim, {"spec", "priority"}))
    return "Migration priority queue, only virt-controller is allowed to set priority field";
  const auto vmi = port.get(kube::kVmis, {ns, name});
  if (!vmi) return fmt::format("the VMI \"{}/{}\" does not exist", ns, name);
  if (is_final(**vmi)) return "Cannot migrate VMI in finalized state.";
  if (!is_live_migratable(**vmi)) return not_migratable_reason(**vmi);
  const auto others = port.list(kube::kVmims);
  if (!others) return others.error().message;
  for (const Object& other : *others) {
    if (key_of(*other).ns != ns || api::text_at(*other, {"spec", "vmiName"}) != name || is_final(*other)) continue;
    return fmt::format(
        "in-flight migration detected. Active migration job ({}) is currently already in progress for VMI {}.",
        uid_of(*other), name);
  }
  return std::nullopt;
}

VirtApiAnswer cancel_evacuation(Port& port, const api::ObjectKey& key, std::string_view body) {
  const Json options = Json::parse(body, nullptr, false);
  if (body.empty() || !options.is_object()) return bad_virt_request("No body");
  const std::string node = api::text_at(options, {"evacuationNodeName"});
  const Config config = read_config(port);
  const auto vmi = port.get(kube::kVmis, key);
  if (!vmi) return virt_not_found("virtualmachineinstance", key.name);
  const std::string mark = mark_of(**vmi);
  if (mark.empty()) return {};
  if (is_drained(port, node, config.drain_taint))
    return bad_virt_request(fmt::format("Node \"{}\" has NodeDrainTaintKey \"{}\"", node, config.drain_taint));
  if (mark != node) {
    return virt_failure(fmt::format(
        "Internal error occurred: the server rejected our request due to an error in our request: testing value "
        "/status/evacuationNodeName failed ({} is not {})",
        mark, node));
  }
  if (wants_dry_run(options)) return {};
  Writes writes;
  writes.merge(
      kube::kVmis, **vmi,
      {{"metadata", {{"annotations", {{kEvictionSource, nullptr}}}}}, {"status", {{"evacuationNodeName", nullptr}}}});
  const auto done = port.carry_out(writes.steps.front());
  return done ? VirtApiAnswer{} : virt_failure("Internal error occurred: " + done.error().message);
}

VirtApiAnswer migrate_machine(Port& port, const api::ObjectKey& key, std::string_view body) {
  const auto vmi = port.get(kube::kVmis, key);
  if (!vmi || !is_owned_by_machine(**vmi, key.name)) return virt_not_found("virtualmachine", key.name);
  if (api::text_at(**vmi, {"status", "phase"}) != "Running") return {409, "Conflict", "VM is not running"};
  const Json options = body.empty() ? Json::object() : Json::parse(body, nullptr, false);
  Json spec = {{"vmiName", key.name}};
  if (const Json* selector = api::find_at(options, {"addedNodeSelector"})) spec["addedNodeSelector"] = *selector;
  const Json vmim = {{"apiVersion", kube::kVmims.api_version()},
                     {"kind", kube::kVmims.kind},
                     {"metadata", {{"namespace", key.ns}, {"generateName", "kubevirt-migrate-vm-"}}},
                     {"spec", std::move(spec)}};
  if (const auto refusal = review_migration(port, vmim, false)) return virt_failure(*refusal);
  if (wants_dry_run(options)) return {202, {}, {}};
  Writes writes;
  writes.create(kube::kVmims, vmim);
  const auto done = port.carry_out(writes.steps.front());
  return done ? VirtApiAnswer{202, {}, {}} : virt_failure(done.error().message);
}

std::optional<VirtApiAnswer> serve_virt_api(Port& port, std::string_view plural, std::string_view subresource,
                                            const api::ObjectKey& key, std::string_view body) {
  const bool machine = plural == "virtualmachines";
  if (!machine && plural != "virtualmachineinstances") return std::nullopt;
  if (machine && subresource == "migrate") return migrate_machine(port, key, body);
  if (subresource == "evacuate/cancel" && read_config(port).minor >= kCancelSince)
    return cancel_evacuation(port, key, body);
  return std::nullopt;
}

}  // namespace simulator::kubevirt
