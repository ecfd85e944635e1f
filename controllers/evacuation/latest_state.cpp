#include "controllers/evacuation/latest_state.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/meta/well_known.hpp"
#include "api/origin.hpp"
#include "api/pod_group.hpp"
#include "controllers/evacuation/emptied_nodes.hpp"
#include "controllers/evacuation/group_lookup.hpp"
#include "controllers/evacuation/origin/creator.hpp"
#include "controllers/evacuation/origin/origin.hpp"
#include "controllers/evacuation/origin/spec_hash.hpp"
#include "controllers/evacuation/spec_problems.hpp"
#include "evictors/eviction_api.hpp"
#include "evictors/eviction_call.hpp"

namespace controllers::evacuation {
namespace {

using api::EvacuationPhase;

/// Number of earlier Evacuations of a workload that the ETA is based on.
constexpr std::size_t kPastConsidered = 16;

/// Maximum delay before a grant is stored.
constexpr base::seconds kMaxGrantDelay{1};

/// Returns the time from the last InProgress to the pod's departure, for a succeeded Evacuation. nullopt if it was
/// never InProgress.
std::optional<base::Duration> time_in_progress(const api::Evacuation& evacuation) {
  const auto& status = evacuation.status;
  if (status.phase != EvacuationPhase::kSucceeded || !status.in_progress_since || !status.finished_at)
    return std::nullopt;
  for (auto entry = status.history.rbegin(); entry != status.history.rend(); ++entry) {
    const bool left = entry->to == "Evicting" || entry->to == "Verifying";
    if (left && entry->time > *status.in_progress_since && entry->from != "Evicting")
      return entry->time - *status.in_progress_since;
  }
  return std::nullopt;
}

}  // namespace

bool LatestState::observe_cached() {
  const auto cached = deps_.evacuations.get(key_);
  if (!cached) return false;
  cached_version = cached->meta.resource_version;
  stored = reconciler_.newer_than(*cached);
  seen.evacuation = stored ? stored->evacuation : *cached;
  if (!is_trimmed(seen.evacuation)) update_origin_condition(seen.evacuation, keys_.get(), deps_.origins);
  if (stored) stored->evacuation = seen.evacuation;
  on_newer_();
  restore_unsaved();
  seen.pod = deps_.pods.get({key_.ns, cached->spec.pod_ref.name});
  seen.pod_is_cached = true;
  note_departure(*cached);
  seen.woken = reconciler_.pdb_waiters_.take_wake(key_);
  seen.actor = deps_.identity;
  seen.eviction_version = deps_.eviction_version;
  seen.serves_native_evictions = deps_.serves_native_evictions;
  seen.resumed_at = base::TimePoint(base::Duration(reconciler_.resumed_at_.load()));
  if (deps_.services) seen.services = deps_.services->names();
  seen.rules = deps_.rules;
  {
    const std::scoped_lock lock(reconciler_.mutex_);
    seen.dead_until = reconciler_.dead_until_;
  }
  observe_surroundings();
  return true;
}

/// Records that the cache shows the pod, which gives its later absence a meaning.
void LatestState::note_departure(const api::Evacuation& cached) {
  if (api::is_terminal(cached.status.phase)) return reconciler_.departures_.forget(key_);
  if (seen.pod && seen.pod->uid() == cached.spec.pod_ref.uid)
    reconciler_.departures_.note_pod(key_, seen.pod->meta.uid);
}

void LatestState::observe_surroundings() {
  const api::Evacuation& evacuation = seen.evacuation;
  observe_origin();
  seen.duplicate_of.clear();
  seen.spec_problem = evacuation.spec_problem;
  if (evacuation.status.phase == EvacuationPhase::kPending) {
    seen.duplicate_of = deps_.admission.duplicate_of(evacuation);
    check_spec();
  }
  seen.policy_gone = policy_gone();
  const std::string& policy = api::policy_of(evacuation);
  seen.policy_suspends = !policy.empty() && deps_.policy_suspends && deps_.policy_suspends(policy);
  seen.slot_is_waited_for = holds_slot(evacuation) && deps_.admission.is_waited_for(key_);
  seen.departure_is_waited_for = seen.slot_is_waited_for && deps_.admission.is_departure_waited_for(key_);
  observe_budgets();
  observe_pvcs();
  observe_past();
  seen.emptied_nodes.clear();
  if (evacuation.status.phase == EvacuationPhase::kVerifying) seen.emptied_nodes = nodes_emptied_with_it();
  seen.pod_group = look_up_pod_group(evacuation, seen.pod.get(), deps_.evacuations, deps_.pods);
  freshness.pod_group_from_cache();
  seen.siblings.clear();
  seen.desired_replicas.reset();
  const bool here = seen.pod && seen.pod->uid() == evacuation.spec.pod_ref.uid && !seen.pod->is_terminal();
  const auto& owner = evacuation.status.pod_owner;
  if (here || !owner || api::is_terminal(evacuation.status.phase)) return;
  std::set<std::string> claimed;
  for (const auto& other : deps_.evacuations.by_index(kEvacuationsByOwner, owner_index_key(key_.ns, *owner))) {
    if (!other->status.outcome || !other->status.outcome->replacement || other->meta.key() == key_) continue;
    if (!yields_to_us(*other)) claimed.insert(other->status.outcome->replacement->uid);
  }
  for (auto& pod : deps_.pods.by_index(kPodsByOwner, owner_index_key(key_.ns, *owner))) {
    const bool taken =
        claimed.contains(pod->meta.uid) || reconciler_.departures_.is_claimed_by_another(key_, pod->meta.uid);
    seen.siblings.push_back({std::move(pod), taken});
  }
  if (deps_.desired_replicas) seen.desired_replicas = deps_.desired_replicas(key_.ns, *owner);
}

/// Whether a policy created it for a plan that empties nodes in waves.
bool LatestState::is_of_a_wave() const {
  const api::Evacuation& evacuation = seen.evacuation;
  return !api::policy_of(evacuation).empty() && deps_.plans_in_waves &&
         deps_.plans_in_waves(evacuation.spec.source.strategy);
}

std::set<std::string> LatestState::nodes_emptied_with_it() const {
  const std::string& policy = api::policy_of(seen.evacuation);
  const auto empties_node = [this](const api::Evacuation& each) {
    return deps_.empties_node && deps_.empties_node(each.spec.source.strategy, each.spec.reason);
  };
  if (policy.empty() || !empties_node(seen.evacuation)) return {};
  auto same_plan = deps_.evacuations.by_index(kEvacuationsByPlan, plan_index_key(seen.evacuation));
  std::erase_if(same_plan, [&](const auto& each) { return !empties_node(*each); });
  const std::string& strategy = seen.evacuation.spec.source.strategy;
  const auto planned = deps_.planned_nodes ? deps_.planned_nodes(policy, strategy) : PlannedNodes{};
  return emptied_nodes(seen.evacuation, same_plan, planned);
}

/// If two Evacuations took the same replacement concurrently, the first by name keeps it. Otherwise both would yield to
/// each other indefinitely.
bool LatestState::yields_to_us(const api::Evacuation& other) const {
  const auto& outcome = seen.evacuation.status.outcome;
  const bool is_shared =
      outcome && outcome->replacement && outcome->replacement->uid == other.status.outcome->replacement->uid;
  return is_shared && !api::is_terminal(other.status.phase) && key_ < other.meta.key();
}

/// Durations for the ETA and for scaling the total timeout.
void LatestState::observe_past() {
  seen.past_durations.clear();
  const auto& owner = seen.evacuation.status.pod_owner;
  const auto phase = seen.evacuation.status.phase;
  if (!owner || (phase != EvacuationPhase::kRequesting && phase != EvacuationPhase::kInProgress)) return;
  std::vector<std::pair<base::TimePoint, base::Duration>> past;
  for (const auto& other : deps_.evacuations.by_index(kEvacuationsByOwner, owner_index_key(key_.ns, *owner))) {
    if (const auto lasted = time_in_progress(*other)) past.emplace_back(*other->status.finished_at, *lasted);
  }
  std::sort(past.rbegin(), past.rend());
  if (past.size() > kPastConsidered) past.resize(kPastConsidered);
  for (const auto& [finished, lasted] : past) seen.past_durations.push_back(lasted);
  std::sort(seen.past_durations.begin(), seen.past_durations.end());
}

void LatestState::adopt(StoredEvacuation newer) {
  stored = std::move(newer);
  update_origin_condition(stored->evacuation, keys_.get(), deps_.origins);
  seen.evacuation = stored->evacuation;
  freshness.mark_live();
  on_newer_();
  show_unsaved();
}

/// Restores a grant that an earlier reconcile left to be stored later.
void LatestState::restore_unsaved() {
  unsaved = reconciler_.unsaved_of(key_);
  if (!unsaved) return;
  if (!stored) (void)take_cached();
  show_unsaved();
}

/// Applies the unsaved grant as if it had been stored when the answer came. Drops it if another client has continued
/// the attempt.
void LatestState::show_unsaved() {
  if (!unsaved) return;
  const auto& intent = seen.evacuation.status.intent;
  const bool is_ours = intent && !intent->resolved && intent->action == unsaved->action.name &&
                       seen.evacuation.status.phase == EvacuationPhase::kRequesting;
  if (!is_ours || intent->token != seen.evacuation.status.token) {
    unsaved.reset();
    reconciler_.forget_unsaved(key_);
    return;
  }
  Decision answered = decide_answer(seen, deps_.evictors, unsaved->action, unsaved->answer, unsaved->answered_at);
  seen.evacuation.status = std::move(answered.status);
  unsaved_events = std::move(answered.events);
}

/// Observes whether the spec is the accepted one, and if the Evacuation counts as manual, why.
void LatestState::observe_origin() {
  const api::Evacuation& evacuation = seen.evacuation;
  const bool readable = evacuation.spec_problem.empty();
  seen.spec_hash = readable ? spec_hash(evacuation.spec) : std::string();
  const std::string& accepted = evacuation.status.spec_hash;
  const bool same = accepted.empty() || accepted == seen.spec_hash;
  seen.spec_changed = readable && !same && !has_spec_hash(evacuation.spec, accepted);
  if (origin_is_undecided(evacuation))
    seen.origin = to_string(keys_ ? prove_origin(evacuation, *keys_, deps_.origins) : OriginProof::kNone);
  observe_creator();
}

/// Skipped for Evacuations that the operator created itself.
void LatestState::observe_creator() {
  seen.creator.clear();
  if (!deps_.trusts_creators || !keys_ || api::origin_is_verified(seen.evacuation)) return;
  if (const auto subject = proven_creator(seen.evacuation, *keys_, deps_.origins))
    seen.creator = api::to_json_text(*subject);
}

/// Whether the Evacuation has a signature that no known key verifies while keys may be outdated. Nothing is decided in
/// any phase before the keys are read, because they may have been rotated.
bool LatestState::waits_for_keys() const {
  const api::Evacuation& evacuation = seen.evacuation;
  const bool asks = origin_is_undecided(evacuation) && !api::is_terminal(evacuation.status.phase) &&
                    evacuation.meta.annotations.contains(api::well_known::kOriginAnnotation);
  if (!asks || !keys_) return asks;
  return prove_origin(evacuation, *keys_, deps_.origins) == OriginProof::kUnknownKey && !deps_.keys.problem().empty();
}

/// Whether the Evacuation is being deleted because its policy was. The garbage collector gives no reason for a
/// deletion, and any client can name any owner, hence the check of the origin.
bool LatestState::policy_gone() const {
  const api::ObjectMeta& meta = seen.evacuation.meta;
  if (!meta.is_terminating() || !deps_.policy_lives || !api::origin_is_verified(seen.evacuation)) return false;
  return std::ranges::any_of(meta.owner_references, [&](const auto& owner) {
    return owner.kind == kube::kPolicies.kind && !deps_.policy_lives(owner.name, owner.uid);
  });
}

/// Checks the spec of an Evacuation that has not begun. A later one only needs a spec that can be decoded.
void LatestState::check_spec() {
  if (!seen.spec_problem.empty()) return;
  const api::FieldErrors errors = problems_of(seen.evacuation.spec, deps_.evictors);
  seen.spec_problem = errors.empty() ? placement_problem() : api::to_error(errors).message;
}

/// Restricts Required, which may leave an owner without a pod for good when the target node goes.
std::string LatestState::placement_problem() const {
  const auto& placement = seen.evacuation.spec.placement;
  if (!placement) return {};
  if (!deps_.places_pods)
    return "spec.placement: requires the placement webhook or the scheduler extender, and both are disabled: set "
           "webhook.enabled or extender.servesHints in the operator's configuration, or remove the field";
  const bool is_required = placement->policy == api::PlacementPolicy::kRequired;
  if (is_required && !deps_.allows_required && !api::origin_is_verified(seen.evacuation))
    return "spec.placement.policy: Required is allowed only for Evacuations of policies: set webhook.allowRequired in "
           "the operator's configuration, or use Preferred";
  return {};
}

/// A write guarded by the resourceVersion proves that the cached object is the newest, so it needs no read before it.
bool LatestState::take_cached() {
  const api::Evacuation& cached = seen.evacuation;
  if (!freshness.may_write_cached() || is_trimmed(cached) || has_foreign_finalizers(cached)) return false;
  if (cached.spec.pod_ref.name.empty() || cached.meta.resource_version.empty()) return false;
  stored = StoredEvacuation{cached};
  on_newer_();
  return true;
}

void LatestState::observe_budgets() {
  seen.pdbs.clear();
  seen.ended.clear();
  if (!seen.pod) return;
  for (auto& pdb : deps_.pdbs.by_index(kPdbsByNamespace, key_.ns)) {
    if (pdb->covers(*seen.pod)) seen.pdbs.push_back(std::move(pdb));
  }
  const api::OwnerReference* owner = seen.pod->meta.controller();
  if (seen.pdbs.empty() || owner == nullptr) return;
  seen.ended.resize(seen.pdbs.size(), 0);
  for (const auto& each : deps_.pods.by_index(kPodsByOwner, owner_index_key(key_.ns, *owner))) {
    for (std::size_t i = 0; each->is_terminal() && i < seen.pdbs.size(); ++i)
      seen.ended[i] += seen.pdbs[i]->covers(*each) ? 1 : 0;
  }
}

/// By the cache. An unknown PodGroup proves nothing; it is read live before a call.
void LatestState::observe_scheduling_group() {
  seen.whole_group.clear();
  if (!seen.pod || seen.pod->scheduling_group.empty() || deps_.pod_groups == nullptr) return;
  const auto group = deps_.pod_groups->get({key_.ns, seen.pod->scheduling_group.get()});
  if (group || !deps_.pod_group_kind) seen.whole_group = api::scheduling_group_blocker(*seen.pod, group.get());
}

/// By the cache. An unknown PersistentVolumeClaim proves nothing; all of them are read live before a call.
void LatestState::observe_pvcs() {
  observe_scheduling_group();
  seen.pvc_risk.clear();
  freshness.claims_from_cache();
  if (!deps_.claims || !seen.pod || seen.pod->uid() != seen.evacuation.spec.pod_ref.uid) return;
  for (const api::Volume& volume : seen.pod->volumes) {
    const auto claim = api::uses_claim(volume) ? deps_.claims->get({key_.ns, volume.source}) : nullptr;
    if (claim) seen.pvc_risk = explain_risk(*claim, *seen.pod);
    if (!seen.pvc_risk.empty()) return;
  }
}

/// The departure of a pod is final, and the write is guarded by the Evacuation's version, so a live read adds nothing.
bool LatestState::only_records_cached_facts(const Decision& decision) {
  if (!only_records_plain(decision) || !seen.pod_is_cached) return false;
  const EvacuationPhase before = seen.evacuation.status.phase;
  const EvacuationPhase after = decision.status.phase;
  const bool ends = after == EvacuationPhase::kVerifying || after == EvacuationPhase::kSucceeded;
  const bool has_left = before == EvacuationPhase::kVerifying && (ends || after == EvacuationPhase::kFailed);
  const bool leaves = before == EvacuationPhase::kRequesting || before == EvacuationPhase::kEvicting;
  const bool is_there = seen.pod && seen.pod->uid() == seen.evacuation.spec.pod_ref.uid;
  const bool is_final = has_left || (leaves && ends && is_seen_to_have_left()) ||
                        (leaves && after == EvacuationPhase::kEvicting && is_there);
  return is_final && wanted_reads(seen, deps_.evictors, deps_.clock.now()).empty() && (stored || take_cached());
}

/// Whether the decision writes only the status, and its evictor leaves no marks on objects.
bool LatestState::only_records_plain(const Decision& decision) const {
  const bool does_more =
      decision.action || decision.fill || decision.add_finalizer || decision.remove_finalizer || decision.remove_object;
  return !does_more && decision.status.evictor == evictors::EvictionApi::kName && !seen.evacuation.spec.dry_run;
}

bool LatestState::is_seen_to_have_left() const {
  const api::PodUid& uid = seen.evacuation.spec.pod_ref.uid;
  if (seen.pod && seen.pod->uid() == uid) return seen.pod->is_terminal();
  return reconciler_.departures_.has_shown(key_, uid.value);
}

/// A plain eviction carries the pod's UID and resourceVersion, and the write before it those of the Evacuation.
/// Requires a live read nevertheless if a PDB covers the pod, because some servers charge the budget before they check
/// the versions, and if a grant showed no effect, because the cache may be stuck.
bool LatestState::is_bound_to_cached(const Decision& decision) {
  const bool is_plain = decision.action && decision.action->name == evictors::kPostEviction &&
                        decision.status.evictor == evictors::EvictionApi::kName && !decision.fill &&
                        !decision.add_finalizer && !decision.remove_finalizer;
  const bool is_granted = seen.evacuation.status.phase == EvacuationPhase::kEvicting;
  if (!is_plain || is_granted || !seen.pod_is_cached || !seen.pod || seen.pod->meta.resource_version.empty())
    return false;
  if (!seen.pdbs.empty() || seen.evacuation.spec.dry_run || !seen.pod_group.name.empty()) return false;
  if (!wanted_reads(seen, deps_.evictors, deps_.clock.now()).empty()) return false;
  return stored || take_cached();
}

void LatestState::store_later(const evictors::Action& action, const evictors::CallResult& answer) {
  unsaved = Reconciler::UnsavedGrant{action, answer, deps_.clock.now(), reconciler_.steady_now() + kMaxGrantDelay};
  reconciler_.note_unsaved(key_, *unsaved);
  freshness.pod_may_differ();
  seen.pod_is_cached = true;
  show_unsaved();
}

}  // namespace controllers::evacuation
