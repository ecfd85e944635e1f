#include "controllers/evacuation/reconcile_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "api/core/pvc_risk.hpp"
#include "api/origin.hpp"
#include "api/vocabulary/blockers.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "evictors/eviction_api.hpp"
#include "evictors/eviction_call.hpp"
#include "evictors/timeouts.hpp"
#include "kube/classify.hpp"

namespace controllers::evacuation {
namespace {

using api::ConditionType;
using api::EvacuationPhase;
using base::kv;

/// Maximum number of writes and calls per reconcile, which breaks loops. The rest is left to the next reconcile.
constexpr int kMaxRounds = 24;
/// Maximum number of attempts to record an answer when other clients change the object.
constexpr int kConflictRetries = 4;
/// Maximum number of retries against a PDB that shows allowance right after it refused.
constexpr int kRetriesOnAllowance = 3;
/// Retry delay while the keys that verify the creator of an Evacuation are missing.
constexpr base::seconds kNoKeysRetry{10};
/// Maximum delay before "pod has left" is stored when no Evacuation waits for the slot. Usually the replacement is
/// Ready by then, and one write covers both.
constexpr base::seconds kMaxDepartureDelay{1};
/// Maximum delay before a change of the awaited replacement is stored, unless another write includes it earlier.
constexpr base::seconds kMaxCandidateDelay{30};
/// Poll interval for the pod of a deleted Evacuation, and how long after its grace period it is polled.
constexpr base::seconds kDepartingPoll{5};
constexpr base::seconds kTerminationSlack{120};
/// Minimum remaining time to start a call.
constexpr base::milliseconds kMinCall{1000};

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

/// Whether the server may have carried out the failed write. A write that was cut off by shutdown is handled by the
/// next process.
bool may_have_been_stored(const base::Error& error) {
  return error.code != base::ErrorCode::kInvalid && error.code != base::ErrorCode::kConflict &&
         error.code != base::ErrorCode::kNotFound && error.code != base::ErrorCode::kCancelled;
}

/// Names of the written fields that the server did not store as written.
std::string unkept_fields(const api::EvacuationStatus& written, const api::EvacuationStatus& stored) {
  const api::Json wanted = api::encode_status(written);
  const api::Json kept = api::encode_status(stored);
  std::vector<std::string> names;
  for (const auto& [name, value] : wanted.items()) {
    const auto at = kept.find(name);
    if (at == kept.end() || *at != value) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

base::Status Reconciler::ReconcileRun::check_leader() const {
  if (deps_.may_act()) return base::Done{};
  return base::Error{base::ErrorCode::kCancelled, "this replica is not the leader"};
}

/// Replaces a 404 that does not name the object with an error, because it proves nothing about the object. Exempt are
/// services, and POST, where the evictor interprets the 404 and a live read follows.
evictors::CallResult Reconciler::ReconcileRun::send_action(const evictors::Action& action) {
  auto answer = send_limited(action);
  const bool is_judged = !action.service.empty() || action.request.method == "POST";
  auto doubt = answer && !is_judged ? kube::doubtful_absence(action.request, *answer) : std::nullopt;
  if (doubt) return *std::move(doubt);
  return answer;
}

/// Limits concurrent evictions to the configured number, independent of the number of workers.
evictors::CallResult Reconciler::ReconcileRun::send_limited(const evictors::Action& action) {
  const auto fence = [&] { return time_for_call(action.request.timeout); };
  const ServiceCall target{action.service, action.service_use, key_.ns};
  if (action.name != evictors::kPostEviction || !deps_.eviction_slots)
    return state_.send(target, action.request, fence);
  deps_.eviction_slots->acquire();
  struct Release {
    std::counting_semaphore<>& slots;
    ~Release() { slots.release(); }
  } release{*deps_.eviction_slots};
  return state_.send(target, action.request, fence);
}

base::Result<base::milliseconds> Reconciler::ReconcileRun::time_for_call(base::milliseconds wanted) const {
  if (auto leader = check_leader(); !leader) return leader.error();
  const auto& intent = state_.seen.evacuation.status.intent;
  if (!intent) return base::unavailable("the server did not store the intent: the call is not sent");
  const base::milliseconds most = std::max<base::milliseconds>(evictors::kCallTimeout, wanted);
  const base::Duration left = intent->time + most - deps_.clock.now();
  if (left >= kMinCall) return std::chrono::floor<base::milliseconds>(left);
  return base::Error{base::ErrorCode::kTimeout, "the rate limit delayed the call for too long: it was not sent"};
}

/// No watch reports changes of documents, so the evictor sets the poll interval.
kube::Requeue Reconciler::ReconcileRun::poll_documents(const kube::Requeue& requeue) const {
  const evictors::Evictor* evictor = deps_.evictors.find(state_.seen.evacuation.status.evictor);
  if (!state_.freshness.has_documents() || !evictor || api::is_terminal(state_.seen.evacuation.status.phase))
    return requeue;
  const base::Duration poll =
      evictor->poll_interval({state_.seen.evacuation, state_.seen.pod.get(), deps_.clock.now(), {}});
  return kube::Requeue::in(requeue.after ? std::min(*requeue.after, poll) : poll);
}

base::Result<kube::Requeue> Reconciler::ReconcileRun::finish_round(const Decision& decision) {
  const auto phase = decision.status.phase;
  const bool may_wait = phase == EvacuationPhase::kPending || phase == EvacuationPhase::kBackoff;
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

base::Result<kube::Requeue> Reconciler::ReconcileRun::requeue_within(const Decision& decision, base::Duration most) {
  auto finished = finish_round(decision);
  if (!finished) return finished;
  return kube::Requeue::in(finished->after ? std::min(*finished->after, most) : most);
}

/// The server accepts the status but does not keep all fields, because its CRD is of another version. Repeating the
/// write would not help, so the state is kept and retried with backoff.
base::Result<kube::Requeue> Reconciler::ReconcileRun::finish_unsaved(const Decision& decision) {
  if (auto finished = finish_round(decision); !finished) return finished;
  return base::unavailable(fmt::format("the API server drops {} of the status: the installed CRD is of another version",
                                       unkept_fields(decision.status, state_.seen.evacuation.status)));
}

/// Registers the Evacuation in the wait list of the PDB that blocks it, or removes it.
void Reconciler::ReconcileRun::remember_blocked() {
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
bool Reconciler::ReconcileRun::budget_opened_meanwhile() const {
  const std::int32_t needed = needed_of_budget(state_.seen);
  if (needed == 0) return false;
  const auto pdb = deps_.pdbs.get({key_.ns, pdb_blocker(state_.seen.evacuation)->name});
  return !pdb || pdb->disruptions_allowed >= needed;
}

void Reconciler::ReconcileRun::mark_dead(const std::string& evictor) {
  const bool is_trusted = api::origin_is_verified(state_.seen.evacuation);
  const base::TimePoint now = deps_.clock.now();
  if (reconciler_.mark_dead(evictor, key_.ns, is_trusted, now)) state_.seen.dead_until[evictor] = now + kDeadFor;
}

/// Releases the slot again: if the object was deleted while an earlier reconcile requested the slot, the queue observed
/// the deletion before the request.
kube::Requeue Reconciler::ReconcileRun::forget_deleted() {
  reconciler_.pdb_waiters_.forget(key_);
  reconciler_.refused_.forget(key_);
  reconciler_.forget_own(key_);
  if (pod_still_departs()) return kube::Requeue::in(kDepartingPoll);
  release_requests();
  return kube::Requeue::await_change();
}

/// Keeps the slot while the pod of a deleted Evacuation is leaving, although its outcome is not recorded any more.
bool Reconciler::ReconcileRun::pod_still_departs() const {
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

/// Releases what was requested based on the cached state before the end; no other component releases it.
void Reconciler::ReconcileRun::release_requests() {
  deps_.admission.forget(key_);
  if (deps_.reservations) deps_.reservations->release_unused(key_);
}

base::Result<kube::Requeue> Reconciler::ReconcileRun::run() {
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
    auto step = act_or_refresh(decision);
    if (!step) return step.error();
    if (*step == Continue::kNo) break;
    if (write_kept_nothing_) return finish_unsaved(decision);
  }
  if (!state_.freshness.evacuation_is_gone() && state_.stored) return kube::Requeue::in(base::Duration::zero());
  reconciler_.pdb_waiters_.forget(key_);
  return kube::Requeue::await_change();
}

base::Result<Reconciler::ReconcileRun::Continue> Reconciler::ReconcileRun::act_or_refresh(const Decision& decision) {
  return state_.may_act_on(decision) ? carry_out(decision) : state_.refresh();
}

/// Requests the slot, then reads the documents that decide() needs once it has the slot.
base::Status Reconciler::ReconcileRun::take_slot(const Decision& decision) {
  if (auto asked = obtain_slot(decision); !asked) return asked;
  return state_.may_carry_out() ? state_.read_documents() : base::Done{};
}

base::Result<Reconciler::ReconcileRun::Continue> Reconciler::ReconcileRun::carry_out(const Decision& decision) {
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
std::optional<base::Result<Reconciler::ReconcileRun::Continue>> Reconciler::ReconcileRun::check_before_call(
    const Decision& decision) {
  const auto& action = decision.action;
  if (!action || !evictors::moves_pod(action->role)) return std::nullopt;
  if (!action->service.empty() && deps_.services)
    state_.seen.not_allowed = deps_.services->refusal({action->service, action->service_use, key_.ns});
  if (!state_.seen.not_allowed.empty()) return Continue::kYes;  // no intent is stored for a call that is not sent
  const bool has_claims = state_.seen.pod && std::ranges::any_of(state_.seen.pod->volumes, api::uses_claim);
  if ((has_claims || state_.has_unknown_group()) && !state_.freshness.pvcs_are_live()) return state_.refresh_pvcs();
  return std::nullopt;
}

base::Result<Reconciler::ReconcileRun::Continue> Reconciler::ReconcileRun::remove_evacuation() {
  const auto removed = deps_.client.remove(kube::kEvacuations, key_, state_.seen.evacuation.meta.uid);
  if (!removed && base::is_not_found(removed.error())) return confirm_gone();
  if (!removed) return removed.error().during("removing the finished Evacuation");
  state_.freshness.mark_gone();
  return Continue::kNo;
}

base::Result<Reconciler::ReconcileRun::Continue> Reconciler::ReconcileRun::after_write(
    base::Result<StoredEvacuation> written) {
  if (written) {
    reconciler_.refused_.forget(key_);
    reconciler_.note_write(key_, *written, {state_.cached_version, state_.stored->evacuation.meta.resource_version});
    state_.adopt(*std::move(written));
    return Continue::kYes;
  }
  const base::ErrorCode code = written.error().code;
  if (code == base::ErrorCode::kInvalid) state_.freshness.write_refused();
  if (code == base::ErrorCode::kNotFound) return confirm_gone();
  if (code != base::ErrorCode::kConflict) return written.error();
  state_.stored.reset();
  state_.freshness.write_conflicted();
  return Continue::kYes;
}

base::Result<Reconciler::ReconcileRun::Continue> Reconciler::ReconcileRun::confirm_gone() {
  const auto there = state_.refresh_evacuation();
  if (!there || *there == Continue::kNo) return there;
  return base::unavailable("the server responds to a write with 404, but returns the Evacuation when it is read");
}

base::Result<Reconciler::ReconcileRun::Continue> Reconciler::ReconcileRun::change_main(const Decision& decision) {
  auto written = after_write(write_main(deps_.client, *state_.stored, decision));
  if (!written) return written.error().during("writing the Evacuation");
  if (*written == Continue::kYes) state_.observe_surroundings();
  return written;
}

base::Result<Reconciler::ReconcileRun::Continue> Reconciler::ReconcileRun::store_status(const Decision& decision) {
  const api::Evacuation before = state_.stored->evacuation;
  write_kept_nothing_ = false;
  auto answer = write_status(deps_.client, *state_.stored, decision.status);
  if (answer) state_.forget_unsaved();
  if (!answer && may_have_been_stored(answer.error()))
    reconciler_.unconfirmed_.note({before, decision.status, events_of(decision)});
  if (answer) reconciler_.unconfirmed_.forget(key_);
  auto written = after_write(std::move(answer));
  if (!written) return written.error().during("writing the Evacuation's status");
  if (!state_.stored || state_.freshness.evacuation_is_gone()) return written;
  write_kept_nothing_ = before.meta.resource_version == state_.seen.evacuation.meta.resource_version;
  if (write_kept_nothing_) return written;  // the server stored nothing
  notify_stored({before, state_.seen.evacuation.status, events_of(decision)});
  state_.unsaved_events.clear();
  return written;
}

std::vector<kube::Event> Reconciler::ReconcileRun::events_of(const Decision& decision) const {
  std::vector<kube::Event> news = state_.unsaved_events;
  news.insert(news.end(), decision.events.begin(), decision.events.end());
  return news;
}

/// Publishes writes whose answers were lost and that the object now shows.
void Reconciler::ReconcileRun::confirm_write() {
  for (const UnconfirmedWrite& each : reconciler_.unconfirmed_.take_shown(state_.seen.evacuation)) notify_stored(each);
}

/// Publishes metrics, audit records, Events and the log entry of a stored status. `state_.seen` shows it.
void Reconciler::ReconcileRun::notify_stored(const UnconfirmedWrite& write) {
  api::Evacuation after = state_.seen.evacuation;
  after.status = write.after;
  const base::TimePoint now = deps_.clock.now();
  deps_.metrics.on_status(write.before, after, now);
  deps_.audit.on_status(write.before, after, now);
  recorded_intent_ = after.status.intent;
  for (const kube::Event& event : write.events) publish(after, event);
  if (write.before.status.phase == after.status.phase) return;
  log_.info("phase changed",
            {kv("from", api::to_string(write.before.status.phase)), kv("to", api::to_string(after.status.phase)),
             kv("reason", after.status.reason), kv("token", after.status.token)});
}

/// Records the intent before its call, whatever happened to the preceding write. A call without a record would look
/// like one of an intruder.
void Reconciler::ReconcileRun::record_intent() {
  const auto& intent = state_.seen.evacuation.status.intent;
  if (intent == recorded_intent_) return;
  api::Evacuation before = state_.seen.evacuation;
  before.status.intent.reset();
  deps_.audit.on_status(before, state_.seen.evacuation, deps_.clock.now());
  recorded_intent_ = intent;
}

void Reconciler::ReconcileRun::publish(const api::Evacuation& evacuation, kube::Event event) const {
  const auto& pod = evacuation.spec.pod_ref;
  event.related = kube::event_object(kube::kPods, {evacuation.meta.ns, pod.name}, pod.uid.value);
  event.is_manual = api::policy_of(evacuation).empty();
  event.is_refusal = evacuation.status.phase == api::EvacuationPhase::kFailed && evacuation.status.attempt == 0;
  deps_.events.publish(std::move(event).about(kube::event_object(kube::kEvacuations, evacuation.meta), "Evacuate"));
}

base::Result<Reconciler::ReconcileRun::Continue> Reconciler::ReconcileRun::call(evictors::Action action) {
  if (auto leader = check_leader(); !leader) return leader.error();
  record_intent();
  action.request.traceparent = deps_.audit.context_of_call(state_.seen.evacuation, action, deps_.clock.now());
  const evictors::CallResult answer = send_action(action);
  if (!answer && answer.error().code == base::ErrorCode::kCancelled)
    return answer.error();  // shutting down; resumed later
  auto recorded = record_answer(action, answer);
  if (recorded) return recorded;
  deps_.metrics.on_answer(action.name, answer ? answer->status : 0, "NotRecorded");
  reconciler_.back_off_after_lost_record(key_);
  return recorded.error().during("recording the response to " + action.name);
}

/// Records the answer, on top of concurrent writes of other clients if necessary, so that it is not lost.
base::Result<Reconciler::ReconcileRun::Continue> Reconciler::ReconcileRun::record_answer(
    const evictors::Action& action, const evictors::CallResult& answer) {
  for (int i = 0; i < kConflictRetries; ++i) {
    const Decision decision = decide_answer(state_.seen, deps_.evictors, action, answer, deps_.clock.now());
    if (i == 0) {
      const auto& response = decision.status.last_response;
      deps_.metrics.on_answer(action.name, answer ? answer->status : 0, response ? response->response_class : "");
      deps_.audit.on_answer(state_.seen.evacuation, action, answer, response, deps_.clock.now());
    }
    if (i == 0 && may_store_later(decision, action)) {
      state_.store_later(action, answer);
      return Continue::kYes;
    }
    auto stored = store_status(decision);
    if (!stored || *stored == Continue::kNo) return stored;
    if (!state_.stored) {  // conflict
      auto again = state_.refresh_evacuation();
      if (!again || *again == Continue::kNo) return again;
      continue;
    }
    state_.freshness.pod_may_differ();
    if (decision.look_again || state_.freshness.has_documents()) return state_.refresh();
    state_.take_pod_from(action, answer);
    retry_on_allowance();
    return Continue::kYes;
  }
  return base::Error{base::ErrorCode::kConflict, "the Evacuation keeps changing while its status is written"};
}

/// The pod of a plain eviction often goes within a second, and then one write covers both facts. A crash loses nothing:
/// the stored intent is unresolved, and the successor recovers as after a lost answer.
bool Reconciler::ReconcileRun::may_store_later(const Decision& answered, const evictors::Action& action) const {
  const evictors::Evictor* evictor = deps_.evictors.find(answered.status.evictor);
  return action.name == evictors::kPostEviction && evictor && !evictor->traits().leaves_marks &&
         answered.status.phase == EvacuationPhase::kEvicting && !state_.seen.evacuation.spec.cancel.requested;
}

/// Returns how long the new state may stay unstored so that one write covers more of it; nullopt if it must be stored
/// now.
std::optional<base::Duration> Reconciler::ReconcileRun::may_still_wait(const Decision& decision) {
  if (decision.action || state_.seen.evacuation.spec.cancel.requested || state_.seen.evacuation.meta.is_terminating())
    return std::nullopt;
  const auto due = store_by(decision);
  if (!due) return std::nullopt;
  const base::Duration left = *due - reconciler_.steady_now();
  return left > base::Duration::zero() ? std::optional(left) : std::nullopt;
}

/// Latest time to store the decision; nullopt for now. A crash before that loses no more than a lost answer, and what
/// the pods show anyway.
std::optional<base::TimePoint> Reconciler::ReconcileRun::store_by(const Decision& decision) {
  const EvacuationPhase before = state_.seen.evacuation.status.phase;
  const EvacuationPhase after = decision.status.phase;
  if (state_.unsaved && after == EvacuationPhase::kEvicting) return state_.unsaved->due;
  if (!state_.only_records_plain(decision) || after != EvacuationPhase::kVerifying) return std::nullopt;
  if (before == EvacuationPhase::kVerifying) {
    if (!shows_only_another_candidate(decision)) return std::nullopt;
    const base::TimePoint entered = decision.status.phase_entered_at.value_or(base::TimePoint{});
    return reconciler_.steady_now() + (entered + kMaxCandidateDelay - deps_.clock.now());
  }
  if (!state_.seen.pod_is_cached || state_.seen.slot_is_waited_for || !state_.is_seen_to_have_left())
    return std::nullopt;
  return reconciler_.departures_.left_at(key_, reconciler_.steady_now()) + kMaxDepartureDelay;
}

/// Whether the decision only changes the awaited replacement pod or its node.
bool Reconciler::ReconcileRun::shows_only_another_candidate(const Decision& decision) const {
  const api::EvacuationStatus& stored = state_.seen.evacuation.status;
  const auto* told = api::find_condition(stored.conditions, ConditionType::kReplacementReady);
  api::EvacuationStatus rest = decision.status;
  if (!told || !rest.outcome || !stored.outcome || rest == stored) return false;
  rest.outcome->replacement = stored.outcome->replacement;
  rest.observed_generation = stored.observed_generation;
  for (api::Condition& each : rest.conditions) {
    if (each.type == told->type && each.status == told->status && each.reason == told->reason) each = *told;
  }
  return rest == stored;
}

/// Returns false if another Evacuation has claimed the replacement meanwhile.
bool Reconciler::ReconcileRun::claims_replacement(const Decision& decision) {
  const auto& outcome = decision.status.outcome;
  if (!outcome || !outcome->replacement) return true;
  const std::string& uid = outcome->replacement->uid;
  const auto sibling =
      std::ranges::find_if(state_.seen.siblings, [&](const Sibling& each) { return each.pod->meta.uid == uid; });
  if (sibling == state_.seen.siblings.end() || sibling->claimed) return true;
  return reconciler_.departures_.claim(key_, uid);
}

/// The PDB's allowance may have risen between its refusal and the registration in the wait list, when no wake would
/// follow.
void Reconciler::ReconcileRun::retry_on_allowance() {
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
kube::Requeue Reconciler::ReconcileRun::give_up(const base::Error& refusal) {
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
