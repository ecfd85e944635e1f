#include "controllers/evacuation/reconcile_run.hpp"

#include <algorithm>

#include "api/core/pvc_risk.hpp"
#include "api/origin.hpp"
#include "api/vocabulary/blockers.hpp"
#include "evictors/timeouts.hpp"

namespace controllers::evacuation {
namespace {

using api::EvacuationPhase;
using base::kv;

/// Maximum number of writes and calls per reconcile, which breaks loops. The rest is left to the next reconcile.
constexpr int kMaxRounds = 24;
/// Maximum number of retries against a PDB that shows allowance right after it refused.
constexpr int kRetriesOnAllowance = 3;
/// Retry delay while the keys that verify the creator of an Evacuation are missing.
constexpr base::seconds kNoKeysRetry{10};
/// Poll interval for the pod of a deleted Evacuation, and how long after its grace period it is polled.
constexpr base::seconds kDepartingPoll{5};
constexpr base::seconds kTerminationSlack{120};

const api::Blocker* pdb_blocker(const api::Evacuation& evacuation) {
  for (const api::Blocker& each : evacuation.status.blocked_by) {
    if (each.kind == api::BlockerKind::kPodDisruptionBudget && !each.name.empty()) return &each;
  }
  return nullptr;
}

/// Number of pods that the PDB blocking the PodGroup must allow at once; 0 if no PDB blocks it.
std::int32_t needed_of_budget(const Observed& seen) {
  const api::Blocker* blocker = pdb_blocker(seen.evacuation);
  if (!blocker || seen.evacuation.status.phase != EvacuationPhase::kPending) return 0;
  for (const auto& pdb : seen.pdbs) {
    if (pdb->meta.name != blocker->name) continue;
    const std::int32_t needed = covered_together(seen.pod_group, *pdb);
    return pdb->disruptions_allowed < needed ? needed : 0;
  }
  return 0;
}

}  // namespace

base::Status ReconcileRun::check_leader() const {
  if (deps_.may_act()) return base::Done{};
  return base::Error{base::ErrorCode::kCancelled, "this replica is not the leader"};
}

/// No watch reports changes of documents, so the evictor sets the poll interval.
kube::Requeue ReconcileRun::poll_documents(const kube::Requeue& requeue) const {
  const evictors::Evictor* evictor = deps_.evictors.find(state_.seen.evacuation.status.evictor);
  if (!state_.freshness.has_documents() || !evictor || api::is_terminal(state_.seen.evacuation.status.phase))
    return requeue;
  const base::Duration poll =
      evictor->poll_interval({state_.seen.evacuation, state_.seen.pod.get(), deps_.clock.now(), {}});
  return kube::Requeue::in(requeue.after ? std::min(*requeue.after, poll) : poll);
}

base::Result<kube::Requeue> ReconcileRun::finish_round(const Decision& decision) {
  const auto phase = decision.status.phase;
  const bool may_wait = is_between_attempts(phase);
  // Waits for something other than a slot (user, backoff, owner), so the slot is released.
  const bool gives_back = state_.seen.slot.state == Slot::State::kNotAsked;
  if (gives_back && (may_wait || goes_on_without_slot(state_.seen.evacuation)))
    deps_.admission.withdraw(key_, state_.seen.evacuation.status.attempt);
  // A departing pod needs no further attempt. The slot of this attempt is kept, because the queue may observe the pod
  // later than this reconcile.
  if (gives_back && (phase == EvacuationPhase::kEvicting || phase == EvacuationPhase::kVerifying))
    deps_.admission.withdraw_later_attempts(key_, state_.seen.evacuation.status.attempt);
  if (gives_back && may_wait && deps_.reservations) deps_.reservations->release_unused(key_);
  if (api::is_terminal(phase)) release_requests();
  remember_blocked();
  if (budget_opened_meanwhile()) return kube::Requeue::in(base::Duration::zero());
  // The wake came too soon after the last call, so it is kept. In any other phase it would never be consumed.
  if (state_.seen.woken && phase == EvacuationPhase::kRequesting && pdb_blocker(state_.seen.evacuation))
    reconciler_.pdb_waiters_.wake_waiter(key_);
  return poll_documents(decision.requeue);
}

base::Result<kube::Requeue> ReconcileRun::requeue_within(const Decision& decision, base::Duration most) {
  auto finished = finish_round(decision);
  if (!finished) return finished;
  return kube::Requeue::in(finished->after ? std::min(*finished->after, most) : most);
}

/// Registers the Evacuation in the wait list of the PDB that blocks it, or removes it.
void ReconcileRun::remember_blocked() {
  const api::Evacuation& evacuation = state_.seen.evacuation;
  const api::Blocker* blocker = pdb_blocker(evacuation);
  const std::int32_t together = needed_of_budget(state_.seen);
  const bool waits = blocker && (together > 0 || evacuation.status.phase == EvacuationPhase::kRequesting);
  const api::ObjectKey key = evacuation.meta.key();
  if (!waits) return reconciler_.pdb_waiters_.leave(key);
  reconciler_.pdb_waiters_.wait(
      key, {key.ns, blocker->name},
      {effective_priority(evacuation, deps_.rules.manual_priority), blocker->since, together});
}

/// Whether the PDB opened between the check of the PodGroup's budget and the registration in its wait list, when no
/// wake would follow.
bool ReconcileRun::budget_opened_meanwhile() const {
  const std::int32_t needed = needed_of_budget(state_.seen);
  if (needed == 0) return false;
  const auto pdb = deps_.pdbs.get({key_.ns, pdb_blocker(state_.seen.evacuation)->name});
  return !pdb || pdb->disruptions_allowed >= needed;
}

void ReconcileRun::mark_dead(const std::string& evictor) {
  const bool is_trusted = api::origin_is_verified(state_.seen.evacuation);
  const base::TimePoint now = deps_.clock.now();
  if (reconciler_.mark_dead(evictor, key_.ns, is_trusted, now)) state_.seen.dead_until[evictor] = now + kDeadFor;
}

/// Releases the slot again: if the object was deleted while an earlier reconcile requested the slot, the queue observed
/// the deletion before the request.
kube::Requeue ReconcileRun::forget_deleted() {
  reconciler_.pdb_waiters_.forget(key_);
  reconciler_.refused_.forget(key_);
  reconciler_.forget_own(key_);
  if (pod_still_departs()) return kube::Requeue::in(kDepartingPoll);
  release_requests();
  return kube::Requeue::await_change();
}

/// Keeps the slot while the pod of a deleted Evacuation is leaving, although its outcome is not recorded any more.
bool ReconcileRun::pod_still_departs() const {
  const auto departing = deps_.admission.departing(key_);
  const auto pod = departing ? deps_.pods.get({key_.ns, departing->pod}) : nullptr;
  if (!pod || pod->meta.uid != departing->pod_uid || pod->is_terminal()) return false;
  const base::TimePoint now = deps_.clock.now();
  const base::Duration most = departure_counts_for(deps_.rules, {}, pod.get());
  const bool is_late =
      deps_.rules.slot_without_progress > base::Duration::zero() && now >= departing->leaving_since + most;
  if (is_late && deps_.admission.is_departure_waited_for(key_)) deps_.admission.stop_counting_departing(key_);
  const auto& deletion = pod->meta.deletion_timestamp;
  return now < (deletion ? *deletion + kTerminationSlack : departing->since + evictors::kCallTimeout);
}

base::Result<kube::Requeue> ReconcileRun::run() {
  if (!state_.observe_cached()) return forget_deleted();
  if (state_.waits_for_keys()) return kube::Requeue::in(kNoKeysRetry);
  // The caches do not contain what this evictor reads.
  if (!wanted_reads(state_.seen, deps_.evictors, deps_.clock.now()).empty()) {
    if (auto live = state_.refresh(); !live) return live.error();
  }
  for (int round = 0; round < kMaxRounds && !state_.freshness.evacuation_is_gone(); ++round) {
    forget_old_slot();
    const Decision decision = decide(state_.seen, deps_.evictors, deps_.clock.now());
    if (decision.wants_slot && state_.seen.slot.state == Slot::State::kNotAsked) {
      if (auto asked = take_slot(decision); !asked) return asked.error();
      continue;
    }
    if (!decision.dead.empty()) mark_dead(decision.dead);
    if (!claims_replacement(decision)) {
      state_.observe_surroundings();  // another Evacuation claimed the pod first; read again, it now shows as claimed
      continue;
    }
    if (const auto left = may_still_wait(decision)) return requeue_within(decision, *left);
    if (!state_.unsaved && !decision.acts(state_.seen.evacuation.status)) return finish_round(decision);
    auto step = state_.may_act_on(decision) ? carry_out(decision) : state_.refresh();
    if (!step) return step.error();
    if (*step == Continue::kNo) break;
    if (write_kept_nothing_) return finish_unsaved(decision);
  }
  if (!state_.freshness.evacuation_is_gone() && state_.stored) return kube::Requeue::in(base::Duration::zero());
  reconciler_.pdb_waiters_.forget(key_);
  return kube::Requeue::await_change();
}

base::Result<Continue> ReconcileRun::carry_out(const Decision& decision) {
  if (auto leader = check_leader(); !leader) return leader.error();
  if (decision.fill || decision.add_finalizer || decision.remove_finalizer) return change_main(decision);
  if (decision.remove_object) return remove_evacuation();
  if (passes_pod_group_gate(state_.seen.evacuation.status, decision.status) && !state_.freshness.pod_group_is_live())
    return state_.refresh_pod_group();
  if (auto looked = check_before_call(decision)) return *std::move(looked);
  const bool writes = state_.unsaved || !(decision.status == state_.seen.evacuation.status);
  if (!writes && !state_.freshness.evacuation_is_live())
    return state_.refresh_evacuation();  // no guarded write precedes the call
  if (writes) {
    auto stored = store_status(decision);
    if (!stored || *stored == Continue::kNo) return stored;
    if (!state_.stored) return Continue::kYes;  // another client wrote meanwhile: decide again
    if (decision.action && decision.status.intent != state_.seen.evacuation.status.intent)
      return Continue::kYes;  // no call whose intent is not stored (I3)
    if (decision.action) write_kept_nothing_ = false;
  }
  return decision.action ? call(*decision.action) : base::Result<Continue>(Continue::kYes);
}

/// Reads what must be known before a call that leads the pod away; decide() then runs again. Returns nullopt if the
/// call may be made.
std::optional<base::Result<Continue>> ReconcileRun::check_before_call(const Decision& decision) {
  const auto& action = decision.action;
  if (!action || !evictors::moves_pod(action->role)) return std::nullopt;
  if (!action->service.empty() && deps_.services)
    state_.seen.not_allowed = deps_.services->refusal({action->service, action->service_use, key_.ns});
  if (!state_.seen.not_allowed.empty()) return Continue::kYes;  // no intent is stored for a call that is not sent
  const bool has_claims = state_.seen.pod && std::ranges::any_of(state_.seen.pod->volumes, api::uses_claim);
  if ((has_claims || state_.has_unknown_group()) && !state_.freshness.pvcs_are_live()) return state_.refresh_pvcs();
  return std::nullopt;
}

/// The PDB's allowance may have risen between its refusal and the registration in the wait list, when no wake would
/// follow.
void ReconcileRun::retry_on_allowance() {
  state_.seen.woken = false;
  const api::Evacuation& evacuation = state_.seen.evacuation;
  const api::Blocker* blocker = pdb_blocker(evacuation);
  if (!blocker) return;
  remember_blocked();
  const auto pdb = deps_.pdbs.get({key_.ns, blocker->name});
  if (pdb && pdb->disruptions_allowed > 0 && evacuation.status.blocked_count <= kRetriesOnAllowance)
    reconciler_.pdb_waiters_.wake_waiter(key_);
}

/// An attempt whose next step cannot be stored first must not continue (I3). A fix of the spec wakes it.
kube::Requeue ReconcileRun::give_up(const base::Error& refusal) {
  const api::Evacuation& evacuation = state_.stored->evacuation;
  const base::TimePoint now = deps_.clock.now();
  const std::string problem = refusal_text(evacuation, refusal.message);
  deps_.admission.abandon(key_, evacuation.meta.resource_version);
  if (deps_.reservations) deps_.reservations->abandon(key_, evacuation.meta.resource_version);
  reconciler_.pdb_waiters_.leave(key_);
  if (!reconciler_.refused_.note(evacuation, problem, reconciler_.steady_now()))
    return kube::Requeue::in(kRefusedRetry);
  log_.error("the server refuses to store the Evacuation", {kv("error", refusal)});
  kube::Event event = kube::Event::warning(api::EventReason::kWriteRefused, problem);
  event.also_on_related = true;
  publish(evacuation, std::move(event));
  deps_.metrics.on_refused_write();
  deps_.audit.on_refused_write(evacuation, problem, now);
  return kube::Requeue::in(kRefusedRetry);
}

}  // namespace controllers::evacuation
