
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "api/origin.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "evictors/kubevirt/calls.hpp"
#include "evictors/kubevirt/kubevirt.hpp"

namespace evictors::kubevirt {
namespace {

constexpr std::size_t kMaxKnown = 12;  // number of UIDs that fits into a ref
/// Maximum time until a reported mark becomes visible.
constexpr base::seconds kMarkVisibleWithin{30};
constexpr int kSelectorSince = 6;  ///< addedNodeSelector

std::string known_list(const VmState& view) {
  std::string uids;
  std::size_t count = 0;
  for (const Migration& each : view.migrations) {
    if (!each.is_final() || each.uid.size() > 40 || ++count > kMaxKnown) continue;
    uids += (uids.empty() ? "" : ",") + each.uid;
  }
  return uids.empty() ? "-" : uids;
}

bool was_known(const EvictorContext& context, const Migration& migration) {
  return migration.uid.empty() || context.ref(kKnownRef).find(migration.uid) != std::string_view::npos;
}

/// Returns the stored reason why no node accepted the migration's target, empty if unknown.
std::string unschedulable_before(const EvictorContext& context, const Migration& migration) {
  const std::string_view note = context.ref(kNoNodeRef);
  const std::string key = migration.uid + ": ";
  return note.starts_with(key) ? std::string(note.substr(key.size())) : std::string();
}

std::string failure_of(const EvictorContext& context, const Migration& migration, const VmState& view) {
  if (!migration.failure.empty()) return migration.failure;
  if (view.vmi.move.migration_uid == migration.uid && !view.vmi.move.failure.empty()) return view.vmi.move.failure;
  const std::string no_node = unschedulable_before(context, migration);
  return no_node.empty() ? fmt::format("migration {} failed", migration.name)
                         : "no node accepted the migration's target pod: " + no_node;
}

std::int32_t progress_of(const std::string& phase) {
  constexpr std::array<std::pair<std::string_view, std::int32_t>, 6> kSteps = {{{"Scheduling", 10},
                                                                                {"Scheduled", 20},
                                                                                {"PreparingTarget", 30},
                                                                                {"TargetReady", 40},
                                                                                {"Running", 50},
                                                                                {"Succeeded", 100}}};
  for (const auto& [name, percent] : kSteps) {
    if (name == phase) return percent;
  }
  return 0;
}

RemoteFailure migration_failed(std::string message) {
  return {"MigrationFailed", std::move(message), true, false, api::Reason::kMigrationFailed};
}

/// Returns the VM's own label that contradicts addedNodeSelector. KubeVirt gives precedence to the VM's.
std::string contradicted_label(const EvictorContext& context, const VmState& view) {
  const auto wanted = parse_node_selector(context.parameter(kAddedNodeSelector, ""));
  if (!wanted) return {};
  for (const auto& [key, value] : *wanted) {
    for (const auto& [own_key, own_value] : view.vmi.node_selector) {
      if (own_key == key && own_value != value) return fmt::format("{}={}", own_key, own_value);
    }
  }
  return {};
}

RemoteFailure manual_selector(std::string_view why) {
  return {"ManualMigration",
          fmt::format("parameter addedNodeSelector of evictor kubevirt is allowed only for Evacuations that the "
                      "operator creates for a policy, or whose creator may create virtualmachineinstancemigrations: {}",
                      why),
          false, false, api::Reason::kNotAllowed};
}

/// KubeVirt allows only administrators to migrate VMs. A user who may create Evacuations must not gain that right
/// through the operator.
std::optional<RemoteFailure> creator_refused(const EvictorContext& context) {
  if (context.creator.empty())
    return manual_selector("the creator of this Evacuation is unknown (docs/concepts/admission.md#creator)");
  const Document* review = context.document(kCreatorDocument);
  const bool is_answered = review != nullptr && review->status == 201;
  const auto answer = api::parse_json(is_answered ? review->body : "{}");
  if (!answer || !api::find_at(*answer, {"status", "allowed"}))
    return RemoteFailure{"CreatorNotReviewed",
                         "parameter addedNodeSelector: the API server did not report whether the creator of the "
                         "Evacuation may migrate VMs (SubjectAccessReview)",
                         true};
  if (api::flag_at(*answer, {"status", "allowed"})) return std::nullopt;
  return manual_selector("the API server reports that the creator of this Evacuation may not");
}

/// Refuses creators without the right to choose the target. Also refuses a selector that KubeVirt would silently
/// ignore, because the VM could then move to any node.
std::optional<RemoteFailure> selector_refused(const EvictorContext& context, const VmState& view) {
  if (!in_migration_mode(context) || context.parameter(kAddedNodeSelector, "").empty()) return std::nullopt;
  if (is_manual_with_target(context)) {
    if (auto refused = creator_refused(context)) return refused;
  }
  const auto refused = [](std::string message) {
    return RemoteFailure{"AddedNodeSelectorRefused", std::move(message), false, false, api::Reason::kNotEvictable};
  };
  if (view.system.minor.value_or(kSelectorSince) < kSelectorSince)
    return refused(fmt::format("addedNodeSelector requires KubeVirt 1.{}; this is 1.{}, which would ignore it",
                               kSelectorSince, *view.system.minor));
  if (const std::string own = contradicted_label(context, view); !own.empty())
    return refused("addedNodeSelector conflicts with the VM's own nodeSelector " + own +
                   ", which would take precedence");
  return std::nullopt;
}

/// A policy needs allowShutdown to shut down a guest. A manual Evacuation is explicit enough.
std::optional<RemoteFailure> shutdown_refused(const EvictorContext& context, const VmState& view) {
  const bool may = api::policy_of(context.evacuation).empty() || in_migration_mode(context) ||
                   context.parameter(kAllowShutdown, "") == "true";
  const MachineFate fate = fate_of(view);
  if (may || (fate != MachineFate::kShutDown && fate != MachineFate::kUnknown)) return std::nullopt;
  if (fate == MachineFate::kUnknown)
    return RemoteFailure{"EvictionStrategyUnknown",
                         "the VM has no evictionStrategy, and the cluster's cannot be read from the KubeVirt object: "
                         "an eviction might shut down the guest",
                         true, false, api::Reason::kNotEvictable};
  const std::string& strategy = strategy_of(view);
  std::string why = fmt::format("its evictionStrategy is {}", strategy.empty() ? "not set" : strategy);
  if (!view.vmi.why_not.empty()) why += ", and it cannot be migrated: " + view.vmi.why_not;
  return RemoteFailure{"WouldShutDown",
                       fmt::format("an eviction would shut down the guest: {}. Parameter allowShutdown of evictor "
                                   "kubevirt allows that for policies",
                                   why),
                       false, false, api::Reason::kNotEvictable};
}

/// Returns `view`. If the KubeVirt object cannot be read now, uses the strategy that this attempt stored earlier.
VmState with_known_strategy(const EvictorContext& context, VmState view) {
  if (view.system.known || context.ref(kStrategyRef).empty()) return view;
  view.system.known = true;
  view.system.strategy = context.ref(kStrategyRef);
  return view;
}

/// Checks a repeated call again, because the state may have changed since the first one.
std::optional<RemoteFailure> refused_in_request(const EvictorContext& context, const VmState& now) {
  if (context.phase() != EvacuationPhase::kRequesting || in_migration_mode(context)) return std::nullopt;
  const VmState view = with_known_strategy(context, now);
  if (auto refused = shutdown_refused(context, view)) return refused;
  if (!might_shut_down(context, view)) return std::nullopt;
  return RemoteFailure{"MigratabilityUnknown",
                       "KubeVirt no longer reports whether the VM can be migrated (condition LiveMigratable): an "
                       "eviction might shut down the guest",
                       true, false, api::Reason::kNotEvictable};
}

/// Refuses to start without a readable VM.
std::optional<RemoteFailure> unseen(const VmState& view) {
  const std::string why = view.problem.empty() ? "no response" : view.problem;
  switch (view.sight) {
    case LookupResult::kNotRead:
    case LookupResult::kNotServed: return std::nullopt;
    case LookupResult::kGone:
      return RemoteFailure{"VirtualMachineGone", "its VirtualMachineInstance is gone; the pod should terminate", true};
    case LookupResult::kForbidden:
      return RemoteFailure{"VirtualMachineUnreadable", "not allowed to read the VirtualMachineInstance: " + why, false,
                           false, api::Reason::kForbidden};
    case LookupResult::kUnreadable:
      return RemoteFailure{"VirtualMachineUnreadable", "cannot read the VirtualMachineInstance: " + why, true};
    case LookupResult::kSeen: break;
  }
  if (view.migrations_known) return std::nullopt;
  return RemoteFailure{"VirtualMachineUnreadable", "cannot list the VirtualMachineInstanceMigrations", true};
}

/// A label of a target pod names the migration that created it. The migration may have failed earlier, or be gone.
bool is_unused_target_of(const EvictorContext& context, const VmState& view) {
  const VmFacts& vmi = view.vmi;
  if (!context.pod || vmi.node.empty() || vmi.node == source_node(context)) return false;
  const std::string& made_for = context.pod->meta.labels.value("kubevirt.io/migrationJobUID");
  if (made_for.empty() || vmi.active_uid == context.pod->meta.uid) return false;
  const auto known = std::ranges::find(view.migrations, made_for, &Migration::uid);
  if (known != view.migrations.end()) return known->phase != "Succeeded" && !known->has_arrived;
  if (vmi.move.migration_uid == made_for) return vmi.move.failed || !vmi.move.ended;
  return vmi.move.source_node != source_node(context);  // the guest did not leave from this node
}

/// Stores whether the guest has run in the pod. Only if it has, the attempt waits for the VM to move out.
void remember_hosting(const EvictorContext& context, const VmState& view, Refs& refs) {
  const std::string_view known = context.ref(kHostedRef);
  if (view.vmi.node == source_node(context) && known != "true") refs.emplace_back(kHostedRef, "true");
  if (known.empty() && is_unused_target_of(context, view)) refs.emplace_back(kHostedRef, "false");
}

Refs facts_to_remember(const EvictorContext& context, const VmState& view) {
  Refs refs = {{std::string(kVmiRef), view.vmi.name}, {std::string(kVmiUidRef), view.vmi.uid}};
  if (!view.vmi.machine.empty()) refs.emplace_back(kMachineRef, view.vmi.machine);
  const std::string& strategy = strategy_of(view);
  if (!strategy.empty()) refs.emplace_back(kStrategyRef, strategy);
  if (view.system.minor) refs.emplace_back(kVersionRef, std::to_string(*view.system.minor));
  if (context.ref(kKnownRef).empty()) refs.emplace_back(kKnownRef, known_list(view));
  if (const Migration* current = view.current()) refs.emplace_back(kMigrationRef, current->name);
  remember_hosting(context, view, refs);
  if (context.ref(kMarkOwnedRef).empty() && is_marked_for_us(context, view) && !in_migration_mode(context))
    refs.emplace_back(kMarkOwnedRef, mark_is_ours(context) ? "true" : "false");
  return refs;
}

void observe_current(const EvictorContext& context, const VmState& view, Observation& seen) {
  const Migration* current = in_migration_mode(context) ? view.named(own_migration_name(context)) : view.current();
  if (!current || current->is_final()) return;
  seen.acknowledged = true;
  seen.queued = current->is_queued();
  seen.progress = progress_of(current->phase);
  if (!current->obstacle.empty()) {
    seen.message = fmt::format("migration {}: {}", current->name, current->obstacle);
  } else if (seen.queued) {
    seen.message = fmt::format(
        "migration {} is Pending: KubeVirt queues it, or cannot create its target pod (in this case the Events of the "
        "VirtualMachineInstance contain the cause)",
        current->name);
  }
  if (!view.unschedulable.empty() && current == view.current()) {
    seen.message = "no node accepts the migration's target pod: " + view.unschedulable;
    seen.refs.emplace_back(kNoNodeRef, current->uid + ": " + view.unschedulable);
  }
  seen.alive = current->uid + "/" + current->phase;
  if (view.vmi.move.migration_uid != current->uid) return;
  seen.alive += "/" + view.vmi.move.fingerprint;
  if (!view.vmi.move.completed) seen.target = api::NodeName{view.vmi.move.target_node};
}

/// Returns true for a migration that was deleted. KubeVirt shows it as Failed for a moment, which is not a failure of
/// the migration.
bool was_deleted(const Migration& migration) { return migration.terminating && migration.has_failed(); }

/// Mode Migration has a single try, so only Evacuator's own migration matters.
void observe_migration(const EvictorContext& context, const VmState& view, Observation& seen) {
  const Migration* own = view.named(own_migration_name(context));
  const bool asked = context.phase() == EvacuationPhase::kInProgress;
  seen.requested = own != nullptr;
  if (own && own->has_failed() && !was_deleted(*own)) seen.failed = migration_failed(failure_of(context, *own, view));
  seen.vanished = asked && (!own || was_deleted(*own)) && !has_moved(context, view);
}

void observe_failures(const EvictorContext& context, const VmState& view, Observation& seen) {
  if (context.ref(kKnownRef).empty()) return;
  for (const Migration& each : view.migrations) {
    if (!each.has_failed() || was_deleted(each) || !evacuates(context, each) || was_known(context, each)) continue;
    ++seen.failures;
    seen.last_failure = failure_of(context, each, view);
  }
  if (seen.failures >= remote_failures(context))
    seen.failed =
        migration_failed(fmt::format("{} migrations failed, the last one: {}", seen.failures, seen.last_failure));
}

/// Returns true if the mark was removed by another client and no migration of the VM remains.
bool has_vanished(const EvictorContext& context, const VmState& view) {
  const api::EvacuationStatus& status = context.evacuation.status;
  if (status.phase != EvacuationPhase::kInProgress) return false;
  if (is_marked_for_us(context, view) || view.current() || has_moved(context, view)) return false;
  if (view.vmi.phase == "Succeeded" || view.vmi.phase == "Failed") return false;
  const bool overdue = status.in_progress_since && context.now - *status.in_progress_since >= kMarkVisibleWithin;
  return overdue || api::is_true(status.conditions, api::ConditionType::kHandoffAcknowledged);
}

void observe_evacuation(const EvictorContext& context, const VmState& view, Observation& seen) {
  const bool marked = is_marked_for_us(context, view);
  seen.requested = marked || std::ranges::any_of(view.migrations, [&](const Migration& each) {
                     return !each.is_final() && evacuates(context, each);
                   });
  seen.acknowledged = seen.acknowledged || marked;
  const bool external = context.evacuation.status.adapter == KubeVirtEvictor::kExternal;
  if (marked && !view.current() && !external) seen.queued = true;  // KubeVirt has not created a migration yet
  observe_failures(context, view, seen);
  seen.vanished = has_vanished(context, view);
}

}  // namespace

Observation KubeVirtEvictor::observe(const EvictorContext& context) const {
  Observation seen;
  const VmState view = read_state(context);
  if (!view.seen()) {
    if (context.phase() == EvacuationPhase::kPreparing) seen.failed = unseen(view);
    return seen;
  }
  seen.refs = facts_to_remember(context, view);
  if (context.phase() == EvacuationPhase::kPreparing) seen.failed = selector_refused(context, view);
  if (context.phase() == EvacuationPhase::kPreparing && !seen.failed) seen.failed = shutdown_refused(context, view);
  if (seen.failed) return seen;
  observe_current(context, view, seen);
  in_migration_mode(context) ? observe_migration(context, view, seen) : observe_evacuation(context, view, seen);
  if (!seen.requested && !seen.failed) seen.failed = refused_in_request(context, view);
  return seen;
}

}  // namespace evictors::kubevirt
