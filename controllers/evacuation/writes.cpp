/// Writes the Evacuation of one reconcile, now or later, and publishes what was stored.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/origin.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "controllers/evacuation/reconcile_run.hpp"

namespace controllers::evacuation {
namespace {

using api::ConditionType;
using api::EvacuationPhase;
using base::kv;

/// Maximum delay before "pod has left" is stored when no Evacuation waits for the slot. Usually the replacement is
/// Ready by then, and one write covers both.
constexpr base::seconds kMaxDepartureDelay{1};
/// Maximum delay before a change of the awaited replacement is stored, unless another write includes it earlier.
constexpr base::seconds kMaxCandidateDelay{30};

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

base::Result<Continue> ReconcileRun::change_main(const Decision& decision) {
  auto written = after_write(write_main(deps_.client, *state_.stored, decision));
  if (!written) return written.error().during("writing the Evacuation");
  if (*written == Continue::kYes) state_.observe_surroundings();
  return written;
}

base::Result<Continue> ReconcileRun::store_status(const Decision& decision) {
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

base::Result<Continue> ReconcileRun::remove_evacuation() {
  const auto removed = deps_.client.remove(kube::kEvacuations, key_, state_.seen.evacuation.meta.uid);
  if (!removed && base::is_not_found(removed.error())) return confirm_gone();
  if (!removed) return removed.error().during("removing the finished Evacuation");
  state_.freshness.mark_gone();
  return Continue::kNo;
}

base::Result<Continue> ReconcileRun::after_write(base::Result<StoredEvacuation> written) {
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

base::Result<Continue> ReconcileRun::confirm_gone() {
  const auto there = state_.refresh_evacuation();
  if (!there || *there == Continue::kNo) return there;
  return base::unavailable("the server responds to a write with 404, but returns the Evacuation when it is read");
}

/// The server accepts the status but does not keep all fields, because its CRD is of another version. Repeating the
/// write would not help, so the state is kept and retried with backoff.
base::Result<kube::Requeue> ReconcileRun::finish_unsaved(const Decision& decision) {
  if (auto finished = finish_round(decision); !finished) return finished;
  return base::unavailable(fmt::format("the API server drops {} of the status: the installed CRD is of another version",
                                       unkept_fields(decision.status, state_.seen.evacuation.status)));
}

std::vector<kube::Event> ReconcileRun::events_of(const Decision& decision) const {
  std::vector<kube::Event> news = state_.unsaved_events;
  news.insert(news.end(), decision.events.begin(), decision.events.end());
  return news;
}

/// Publishes writes whose answers were lost and that the object now shows.
void ReconcileRun::confirm_write() {
  for (const UnconfirmedWrite& each : reconciler_.unconfirmed_.take_shown(state_.seen.evacuation)) notify_stored(each);
}

/// Publishes metrics, audit records, Events and the log entry of a stored status. `state_.seen` shows it.
void ReconcileRun::notify_stored(const UnconfirmedWrite& write) {
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

void ReconcileRun::publish(const api::Evacuation& evacuation, kube::Event event) const {
  const auto& pod = evacuation.spec.pod_ref;
  event.related = kube::event_object(kube::kPods, {evacuation.meta.ns, pod.name}, pod.uid.value);
  event.is_manual = api::policy_of(evacuation).empty();
  event.is_refusal = evacuation.status.phase == api::EvacuationPhase::kFailed && evacuation.status.attempt == 0;
  deps_.events.publish(std::move(event).about(kube::event_object(kube::kEvacuations, evacuation.meta), "Evacuate"));
}

/// Returns how long the new state may stay unstored so that one write covers more of it; nullopt if it must be stored
/// now.
std::optional<base::Duration> ReconcileRun::may_still_wait(const Decision& decision) {
  if (decision.action || state_.seen.evacuation.spec.cancel.requested || state_.seen.evacuation.meta.is_terminating())
    return std::nullopt;
  const auto due = store_by(decision);
  if (!due) return std::nullopt;
  const base::Duration left = *due - reconciler_.steady_now();
  return left > base::Duration::zero() ? std::optional(left) : std::nullopt;
}

/// Latest time to store the decision; nullopt for now. A crash before that loses no more than a lost answer, and what
/// the pods show anyway.
std::optional<base::TimePoint> ReconcileRun::store_by(const Decision& decision) {
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
bool ReconcileRun::shows_only_another_candidate(const Decision& decision) const {
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
bool ReconcileRun::claims_replacement(const Decision& decision) {
  const auto& outcome = decision.status.outcome;
  if (!outcome || !outcome->replacement) return true;
  const std::string& uid = outcome->replacement->uid;
  const auto sibling =
      std::ranges::find_if(state_.seen.siblings, [&](const Sibling& each) { return each.pod->meta.uid == uid; });
  if (sibling == state_.seen.siblings.end() || sibling->claimed) return true;
  return reconciler_.departures_.claim(key_, uid);
}

}  // namespace controllers::evacuation
