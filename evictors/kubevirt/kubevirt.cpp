#include "evictors/kubevirt/kubevirt.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/meta/label_value.hpp"
#include "api/virtual_machine.hpp"
#include "base/text.hpp"
#include "evictors/classify.hpp"
#include "evictors/eviction_call.hpp"
#include "evictors/kubevirt/calls.hpp"
#include "evictors/kubevirt/facts.hpp"
#include "kube/classify.hpp"
#include "kube/kubevirt.hpp"
#include "kube/request.hpp"

namespace evictors::kubevirt {
namespace {

constexpr int kCancelSince = 7;

// --- reads

Read read_vmi(const EvictorContext& context, const std::string& vmi) {
  return read_of(kVmiDocument, kube::get_request(kube::kVmis, {context.ns(), vmi}));
}

Read read_migrations(const EvictorContext& context, const std::string& vmi) {
  const std::string label = vmi.size() <= api::kMaxLabelValue ? "kubevirt.io/vmi-name=" + vmi : std::string();
  return read_of(kMigrationsDocument, kube::list_request(kube::kVmims, {.ns = context.ns(), .label_selector = label}));
}

/// Reads the pods of a migration that waits for a node. Accepts any cached version, because the result is only
/// displayed.
std::optional<Read> read_target(const EvictorContext& context) {
  if (context.phase() != EvacuationPhase::kInProgress) return std::nullopt;
  const VmState view = read_state(context);
  const Migration* current = view.current();
  if (!current || current->phase != "Scheduling" || current->uid.size() > api::kMaxLabelValue) return std::nullopt;
  return read_of(kTargetDocument,
                 kube::list_request(kube::kPods, {.ns = context.ns(),
                                                  .label_selector = "kubevirt.io/migrationJobUID=" + current->uid,
                                                  .resource_version = "0"}));
}

/// Once the VMI is gone, its VirtualMachine shows whether the guest is started again.
std::optional<Read> read_machine(const EvictorContext& context) {
  const std::string machine(context.ref(kMachineRef));
  const bool over = context.phase() == EvacuationPhase::kVerifying;
  if (!over || machine.empty() || read_state(context).sight != LookupResult::kGone) return std::nullopt;
  return read_of(kMachineDocument, kube::get_request(kube::kVms, {context.ns(), machine}));
}

/// Reviews, directly before the request, whether the creator of a manual Evacuation may migrate VMs.
std::optional<Read> review_creator(const EvictorContext& context) {
  if (context.creator.empty() || !is_before_request(context.phase())) return std::nullopt;
  if (!is_manual_with_target(context)) return std::nullopt;
  auto spec = api::parse_json(context.creator);
  if (!spec || !spec->is_object()) return std::nullopt;
  (*spec)["resourceAttributes"] = {{"namespace", context.ns()},
                                   {"verb", "create"},
                                   {"group", kube::kVmims.group},
                                   {"version", kube::kVmims.version},
                                   {"resource", kube::kVmims.plural}};
  const api::Json review = {
      {"apiVersion", "authorization.k8s.io/v1"}, {"kind", "SubjectAccessReview"}, {"spec", *std::move(spec)}};
  return read_of(kCreatorDocument, kube::json_request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                                                      review, kube::Flow::kRead));
}

/// Version and cluster-wide settings are needed when a request is made or withdrawn.
bool needs_system(EvacuationPhase phase) {
  return phase != EvacuationPhase::kInProgress && phase != EvacuationPhase::kEvicting &&
         phase != EvacuationPhase::kVerifying;
}

// --- undoing

/// Returns the version as read now, or as stored in status.refs, because the reads in InProgress do not include it.
std::optional<int> version_of(const EvictorContext& context, const VmState& view) {
  if (view.system.minor) return view.system.minor;
  return base::parse_number<int>(context.ref(kVersionRef));
}

bool cannot_cancel(const EvictorContext& context, const VmState& view) {
  return context.ref(kNoCancelRef) == "true" || version_of(context, view).value_or(kCancelSince) < kCancelSince;
}

const Migration* to_delete(const EvictorContext& context, const VmState& view) {
  for (const Migration& each : view.migrations) {
    const bool ours = in_migration_mode(context) ? each.name == own_migration_name(context) : evacuates(context, each);
    if (ours && !each.is_final()) return &each;
  }
  return nullptr;
}

bool asked_for_anything(const EvictorContext& context) {
  return context.evacuation.status.request_sent_at && !context.dry_run();
}

// --- answers

/// Explains two refusals of evacuate/cancel that last as long as their cause. The answer alone does not show the
/// reason.
void name_lasting_refusal(Classification& meaning) {
  const auto says = [&](std::string_view part) { return meaning.message.find(part) != std::string::npos; };
  if (says("nodes \"") && says("not found"))
    meaning.message = "KubeVirt removes the mark only while the VM's node object exists: " + meaning.message;
  if (says("has NodeDrainTaintKey"))
    meaning.message = "KubeVirt does not remove the mark while the node has its drain taint: " + meaning.message;
  meaning.message = base::truncate_utf8(meaning.message, 512);
}

/// virt-api checks its own permission for the whole subresource. Without it, virt-api refuses in plain text, mostly
/// empty. A 401 of the API server is a Status and concerns the credentials.
bool is_refused_by_virt_api(const CallResult& answer) {
  return answer && answer->status == 401 && !kube::parse_status(answer->body).is_status;
}

Classification classify_cancel(const CallResult& answer) {
  Classification meaning = classify_call(answer);
  if (is_refused_by_virt_api(answer))
    meaning.message =
        "virt-api rejects the call: the operator's role lacks update on virtualmachineinstances/evacuate/cancel in "
        "subresources.kubevirt.io (config/rbac)";
  if (!answer || answer->status != 404) {
    name_lasting_refusal(meaning);
    return meaning;
  }
  // A 404 without a name is about the path: KubeVirt before 1.7.
  const bool vmi_gone = answer->body.find("virtualmachineinstance.kubevirt.io \\\"") != std::string::npos;
  if (vmi_gone) return {ResponseClass::kApplied, "the VirtualMachineInstance is gone", {}, {}, {}};
  return {ResponseClass::kPermanent, meaning.message, {}, {}, {{std::string(kNoCancelRef), "true"}}};
}

/// KubeVirt processes a deletion only before the nodes have the migration, and again once the migration runs.
Classification classify_deletion(const EvictorContext& context, const CallResult& answer) {
  if (answer && answer->status == 404) return {ResponseClass::kApplied, "already gone", {}, {}, {}};
  Classification meaning = classify_call(answer);
  const VmState view = read_state(context);
  const Migration* current = view.current();
  if (meaning.answer != ResponseClass::kApplied || !current || !current->is_preparing()) return meaning;
  meaning.message = fmt::format(
      "migration {} is in phase {}: KubeVirt aborts it only after it has started to run, that is when its target is "
      "ready",
      current->name, current->phase);
  return meaning;
}

Classification classify_creation(const CallResult& answer) {
  Classification meaning = classify_call(answer, kMigrationTexts);
  if (meaning.answer != ResponseClass::kForbidden) return meaning;
  meaning.message = base::truncate_utf8(
      "mode Migration requires the permission of config/optional/kubevirt-migrations.yaml: " + meaning.message, 512);
  return meaning;
}

/// Returns true if neither the mark nor the effect of an eviction on the guest is known.
bool is_vm_unknown(const VmState& view) {
  return !view.seen() && view.sight != LookupResult::kGone && view.sight != LookupResult::kNotServed;
}

/// Waits while the guest boots, because KubeVirt would shut it down with LiveMigrateIfPossible.
EvictionStep plan_preparing(const EvictorContext& context, const VmState& view) {
  if (!might_shut_down(context, view)) return {NextMove::kProceed, {}};
  return {NextMove::kWait, {}, "KubeVirt to report whether the VM can be migrated (condition LiveMigratable)"};
}

/// Texts while the guest boots. The webhook then reports "not live-migratable" although this may change.
constexpr std::array kBootingTexts = {
    kKubeVirtTexts[0],
    kKubeVirtTexts[1],
    kKubeVirtTexts[2],
    kKubeVirtTexts[3],
    KnownText{429, "is not live-migratable", ResponseClass::kRetryLater, base::seconds(10)},
};

/// KubeVirt uses the same text for a VM that cannot migrate and for one that still boots.
std::span<const KnownText> eviction_texts(const VmState& view) {
  const bool may_pass = view.sight == LookupResult::kSeen && !view.vmi.cannot_migrate;
  return may_pass ? std::span<const KnownText>(kBootingTexts) : kKubeVirtTexts;
}

Classification classify_answer(const EvictorContext& context, const CallResult& answer) {
  const VmState view = read_state(context);
  Classification meaning = classify_eviction(answer, eviction_texts(view));
  if (meaning.answer == ResponseClass::kNotEvictable && !view.vmi.why_not.empty())
    meaning.message = base::truncate_utf8(fmt::format("{} ({})", meaning.message, view.vmi.why_not), 512);
  return meaning;
}

}  // namespace

api::FieldErrors KubeVirtEvictor::validate(const Parameters& parameters, const api::FieldPath& path) const {
  api::FieldErrors errors =
      check_parameters(parameters, path, {kVmMode, kRequestedBy, kRemoteFailures, kAddedNodeSelector, kAllowShutdown});
  const bool migrates = std::ranges::count(parameters, std::pair<std::string, std::string>(kVmMode, "Migration")) > 0;
  for (const auto& each : parameters) {
    const auto& [name, value] = each;
    const std::string at = path.field(name).text();
    check_value(each, kVmMode, {"Eviction", "Migration"}, path, errors);
    if (name == kRemoteFailures && (value.size() != 1 || value[0] < '1' || value[0] > '0' + kMaxRemoteFailures))
      errors.push_back({at, fmt::format("must be a number from 1 to {}: KubeVirt keeps no more failed migrations",
                                        kMaxRemoteFailures)});
    if (name == kRemoteFailures && migrates)
      errors.push_back({at, "has no effect in mode Migration, which tries once per attempt; use retry.maxAttempts"});
    if (name == kRequestedBy && migrates)
      errors.push_back({at, "has no effect in mode Migration, which does not call the eviction API"});
    check_value(each, kAllowShutdown, {"true", "false"}, path, errors);
    if (name == kAllowShutdown && migrates)
      errors.push_back({at, "has no effect in mode Migration, which does not shut down guests"});
    if (name == kAddedNodeSelector && !migrates) errors.push_back({at, "requires mode: Migration"});
    if (name == kAddedNodeSelector && !parse_node_selector(value))
      errors.push_back({at, "must be labels, such as zone=a,disk=ssd"});
  }
  return errors;
}

std::vector<Read> KubeVirtEvictor::reads(const EvictorContext& context) const {
  const std::string vmi = context.pod ? api::machine_of(*context.pod) : std::string(context.ref(kVmiRef));
  if (vmi.empty()) return {};
  std::vector<Read> wanted = {read_vmi(context, vmi), read_migrations(context, vmi)};
  if (needs_system(context.phase()))
    wanted.push_back(read_of(kKubeVirtDocument, kube::list_request(kube::kKubeVirts, {})));
  if (auto review = review_creator(context)) wanted.push_back(*std::move(review));
  if (auto target = read_target(context)) wanted.push_back(*std::move(target));
  if (auto machine = read_machine(context)) wanted.push_back(*std::move(machine));
  return wanted;
}

Probe KubeVirtEvictor::probe(const EvictorContext& context) const {
  if (api::machine_of(*context.pod).empty())
    return unsupported("", "the pod does not run a virtual machine of KubeVirt");
  const VmState view = read_state(context);
  if (view.sight == LookupResult::kNotServed) return unsupported("", "the API server does not serve kubevirt.io/v1");
  Probe probe;
  const bool migration = in_migration_mode(context);
  probe.adapter = migration ? kMigration : strategy_of(view) == "External" ? kExternal : kEviction;
  probe.required = true;
  const bool own_time = context.evacuation.spec.timeouts.total.has_value() || probe.adapter == kExternal;
  if (!own_time)
    probe.total = migration_timeout(view.vmi, view.system, context.pod, migration ? 1 : remote_failures(context));
  return probe;
}

EvictionStep KubeVirtEvictor::plan(const EvictorContext& context) const {
  const api::EvacuationStatus& status = context.evacuation.status;
  const VmState view = read_state(context);
  if (status.phase == EvacuationPhase::kPreparing) return plan_preparing(context, view);
  if (status.phase != EvacuationPhase::kRequesting) return {NextMove::kWait, {}};
  const bool dry = context.dry_run();
  if (in_migration_mode(context)) {
    if (!dry && view.named(own_migration_name(context))) return {NextMove::kWait, {}};
    return {NextMove::kAct, create_migration(context, api::machine_of(*context.pod))};
  }
  if (is_vm_unknown(view)) return {NextMove::kHold, {}, "the VirtualMachineInstance and its migrations to be readable"};
  const Observation seen = observe(context);
  if (!dry && seen.requested) return {NextMove::kWait, {}};
  Action action = post_eviction(context);
  action.pre_state += fmt::format(";{}", is_marked_for_us(context, view) ? kMarkPresent : kMarkAbsent);
  return {NextMove::kAct, std::move(action)};
}

Classification KubeVirtEvictor::classify(const EvictorContext& context, const Action& action,
                                         const CallResult& answer) const {
  if (action.name == kCreateMigration) return classify_creation(answer);
  if (action.name == kCancelEvacuation) return classify_cancel(answer);
  if (action.name == kDeleteMigration) return classify_deletion(context, answer);
  Classification meaning = classify_answer(context, answer);
  if (meaning.answer == ResponseClass::kAcceptedInBackground) {
    const bool ours = action.pre_state.find(kMarkAbsent) != std::string::npos;
    meaning.refs.emplace_back(kMarkOwnedRef, ours ? "true" : "false");
  }
  return meaning;
}

/// A live migration needs a target pod in addition to the source, also if an external controller starts it. A VM that
/// cannot migrate needs none.
bool KubeVirtEvictor::needs_capacity(const EvictorContext& context) const {
  if (!context.pod || api::machine_of(*context.pod).empty()) return false;
  const VmState view = read_state(context);
  if (view.sight != LookupResult::kSeen) return true;
  if (view.vmi.cannot_migrate) return false;
  return in_migration_mode(context) || fate_of(view) != MachineFate::kShutDown;
}

/// Once the pod is known as a VM's, removing its label does not change this.
bool KubeVirtEvictor::owner_decides(const EvictorContext& context) const {
  return context.evacuation.status.evictor == kName || Evictor::owner_decides(context);
}

std::vector<Action> KubeVirtEvictor::undo(const EvictorContext& context) const {
  const VmState view = read_state(context);
  if (!view.seen() || !asked_for_anything(context) || has_moved(context, view) || is_in_post_copy(view)) return {};
  const Migration* running = to_delete(context, view);
  if (!in_migration_mode(context)) {
    if (!mark_is_ours(context)) return {};
    if (is_marked_for_us(context, view)) {
      if (cannot_cancel(context, view)) return {};
      return {cancel_evacuation(context, view.vmi.name, source_node(context))};
    }
  }
  if (!running || running->terminating) return {};
  return {delete_migration(context, *running)};
}

Rollback KubeVirtEvictor::undone(const EvictorContext& context) const {
  if (!asked_for_anything(context)) return Rollback::kNothingToDo;
  const VmState view = read_state(context);
  const bool by_eviction = !in_migration_mode(context);
  if (by_eviction && !mark_is_ours(context)) return Rollback::kNothingToDo;
  if (view.sight == LookupResult::kGone) return Rollback::kComplete;
  if (!view.seen() || has_moved(context, view) || is_in_post_copy(view)) return Rollback::kPending;
  if (by_eviction && is_marked_for_us(context, view))
    return cannot_cancel(context, view) ? Rollback::kRemoteMarkRemains : Rollback::kPending;
  return to_delete(context, view) ? Rollback::kPending : Rollback::kComplete;
}

}  // namespace evictors::kubevirt
