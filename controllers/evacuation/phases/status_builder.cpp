#include "controllers/evacuation/phases/status_builder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/evacuation/stored_times.hpp"
#include "api/meta/well_known.hpp"
#include "api/origin.hpp"
#include "base/text.hpp"

namespace controllers::evacuation {
namespace {

constexpr std::size_t kFirstEntries = 2;
constexpr std::size_t kNewestEntries = 18;
constexpr std::size_t kMaxMessageBytes = 1024;
constexpr std::size_t kMaxRefBytes = 512;

/// Truncates to the size that the server stores; otherwise every reconcile would find a difference and write it again.
std::string bounded(std::string text) { return base::truncate_utf8(text, kMaxMessageBytes); }

/// Time at which the last container of a terminal pod stopped. Returns the epoch if unknown: its node stopped it long
/// ago.
base::TimePoint ended_at(const api::Pod& pod) {
  base::TimePoint end{};
  for (const api::ContainerStatus& each : pod.container_statuses) end = std::max(end, each.finished_at.value_or(end));
  return end;
}

/// Event of a phase that is not announced by another Event, named like the phase; nullopt if it has none.
std::optional<EventReason> event_of(EvacuationPhase phase) {
  return api::is_terminal(phase) ? std::nullopt : api::parse_event_reason(api::to_string(phase));
}

/// Events of regular progress.
constexpr std::array kRoutine = {
    EventReason::kAccepted,        EventReason::kSlotAcquired, EventReason::kPreparing, EventReason::kEvictionRequested,
    EventReason::kEvictionGranted, EventReason::kEvicting,     EventReason::kVerifying, EventReason::kReplacementReady,
};

/// Texts of IntentResult, in its order.
constexpr std::array<std::string_view, 4> kIntentResults = {"Observed", "Superseded", "NotSent", "NoEffect"};
static_assert(kIntentResults.size() == static_cast<std::size_t>(IntentResult::kNoEffect) + 1);

/// Clears the fields that belong to one attempt.
void forget_attempt(api::EvacuationStatus& status) {
  status.evictor.clear();
  status.adapter.clear();
  status.in_progress_since.reset();
  status.blocked_since.reset();
  status.last_heartbeat_at.reset();
  status.last_heartbeat_value.clear();
  status.progress.reset();
  status.expected_completion_at.reset();
  status.queued_since.reset();
  status.remote_failures = 0;
  status.target_node = {};
  status.refs.clear();
  status.blocked_count = 0;
  status.intent.reset();
  status.abort.reset();
  status.blocked_by.clear();
}

}  // namespace

StatusBuilder::StatusBuilder(const Observed& seen, const evictors::EvictorRegistry& registry, base::TimePoint now)
    : seen_(seen),
      registry_(registry),
      now_(now),
      evacuation_(seen.evacuation),
      timeouts_(evictors::effective_timeouts(seen.evacuation.spec)) {
  api::correct_times(draft(), now);
}

const api::Pod* StatusBuilder::pod() const {
  if (!seen_.pod || seen_.pod->uid() != spec().pod_ref.uid) return nullptr;
  return seen_.pod.get();
}

bool StatusBuilder::removes_terminal_pod() const {
  if (status().adapter == kTerminalPod) return true;
  if (!is_before_request(phase()) || !status().adapter.empty() || api::policy_of(evacuation_).empty()) return false;
  return pod() && pod()->is_terminal() && ended_at(*pod()) <= evacuation_.meta.creation_timestamp;
}

Reason StatusBuilder::how_it_left() const {
  if (pod()) return Reason::kPodTerminal;
  return seen_.pod ? Reason::kUIDChanged : Reason::kPodDeleted;
}

evictors::EvictorContext StatusBuilder::context_for(std::string_view evictor) const {
  evictors::EvictorContext context{evacuation_, pod(), now_, {}, seen_.eviction_version};
  for (const auto& choice : spec().evictors) {
    if (choice.name == evictor) context.parameters = choice.parameters;
  }
  if (const auto read = seen_.documents.find(evictor); read != seen_.documents.end()) context.documents = read->second;
  if (const auto dead = seen_.dead_until.find(evictor); dead != seen_.dead_until.end() && dead->second > now_) {
    context.unavailable_until = dead->second;
  }
  context.services = seen_.services;
  context.pod_is_cached = seen_.pod_is_cached;
  context.serves_native_evictions = seen_.serves_native_evictions;
  context.creator = seen_.creator;
  return context;
}

const evictors::Observation& StatusBuilder::remote() {
  if (!remote_) remote_ = evictor()->observe(context());
  return *remote_;
}

const evictors::EvictionStep& StatusBuilder::plan() {
  if (!plan_) plan_ = evictor()->plan(context());
  return *plan_;
}

const evictors::Verification& StatusBuilder::arrival() {
  if (!arrival_) arrival_ = evictor() ? evictor()->verify(context()) : evictors::Verification{};
  return *arrival_;
}

void StatusBuilder::begin_step() {
  arrival_.reset();
  remote_.reset();
  plan_.reset();
  // A status edited by another client may lack it; every clock needs a start.
  if (phase() != EvacuationPhase::kPending && !status().phase_entered_at) restart_phase_clock();
  late_ = deadline_expired();
}

void StatusBuilder::set_condition(ConditionType type, ConditionStatus status, const ReasonText& reason,
                                  std::string message) {
  api::Condition next;
  next.type = to_string(type);
  next.status = status;
  next.reason = reason.text();
  next.message = bounded(std::move(message));
  next.observed_generation = evacuation_.meta.generation;
  // Ignores a change of the generation alone.
  const auto* known = api::find_condition(this->status().conditions, type);
  if (known && known->status == next.status && known->reason == next.reason && known->message == next.message) return;
  api::set_condition(draft().conditions, std::move(next), now_);
}

bool StatusBuilder::condition_has_reason(ConditionType type, Reason reason) const {
  const auto* found = api::find_condition(status().conditions, type);
  return found && found->reason == reason;
}

void StatusBuilder::record(kube::Event event, EventOn on) {
  event_recorded_ = true;
  event.note = bounded(std::move(event.note));
  event.also_on_related = on == EventOn::kEvacuationAndPod;
  out_.events.push_back(std::move(event));
}

void StatusBuilder::append_history(std::string_view from, std::string_view to, const ReasonText& reason,
                                   const std::string& message) {
  auto& history = draft().history;
  history.push_back({now_, std::string(from), std::string(to), reason.text(), message, status().attempt, seen_.actor});
  if (history.size() <= kFirstEntries + kNewestEntries) return;
  const auto excess = static_cast<std::ptrdiff_t>(history.size() - kFirstEntries - kNewestEntries);
  history.erase(history.begin() + kFirstEntries, history.begin() + kFirstEntries + excess);
}

/// Records one Event per transition (state-machine.md#transitions), unless an Event was recorded since the previous
/// one.
void StatusBuilder::record_transition(EvacuationPhase phase, const ReasonText& reason, const std::string& message) {
  const auto event = event_of(phase);
  if (!event_recorded_ && event) record_event(*event, fmt::format("{}: {}", reason.text(), message));
  event_recorded_ = false;
}

Step StatusBuilder::enter(EvacuationPhase phase, const ReasonText& reason, std::string message) {
  message = bounded(std::move(message));
  record_transition(phase, reason, message);
  append_history(api::to_string(status().phase), api::to_string(phase), reason, message);
  api::EvacuationStatus& next = draft();
  next.phase = phase;
  next.reason = reason.text();
  next.message = std::move(message);
  next.phase_entered_at = now_;
  next.deadline.reset();
  next.next_action_at.reset();
  return Step::kAgain;
}

Step StatusBuilder::finish(EvacuationPhase phase, const ReasonText& reason, std::string message) {
  const std::string text = fmt::format("{}: {}", reason.text(), message);
  if (phase == EvacuationPhase::kFailed) {
    record_warning(EventReason::kFailed, text, EventOn::kEvacuationAndPod);
  } else {
    const auto event = api::parse_event_reason(reason.text());  // named like the reason
    record_event(event.value_or(EventReason::kUserCancelled), text, EventOn::kEvacuationAndPod);
  }
  set_true_condition(ConditionType::kComplete, reason, message);
  if (spec().placement && !status().placement && status().attempt > 0) {
    set_false_condition(ConditionType::kPlacementHinted, Reason::kHintUnused,
                        fmt::format("no new pod was assigned to node {}", spec().placement->node_name.value));
  }
  if (api::find_condition(status().conditions, ConditionType::kSlotAcquired)) {
    set_false_condition(ConditionType::kSlotAcquired, Reason::kReleased);
  }
  enter(phase, reason, std::move(message));
  resolve_intent(IntentResult::kSuperseded);
  clear_blocked();
  draft().finished_at = now_;
  return Step::kAgain;
}

Step StatusBuilder::act(evictors::Action action) {
  auto& intent = draft().intent;
  const bool same = intent_open() && intent->action == action.name && intent->token == status().token;
  if (!same) intent = api::EvacuationIntent{action.name, status().token, now_, false, "", action.pre_state};
  intent->time = now_;  // each sending sets its own time, from which outstanding calls are timed
  const bool asks = action.role == evictors::ActionRole::kPrepare || action.role == evictors::ActionRole::kRequest;
  if (asks && !spec().dry_run && !status().request_sent_at) draft().request_sent_at = now_;
  set_next_call_at(std::nullopt);
  // Under a PDB the call may wait for long. The finalizer ensures that a deletion meanwhile is handled, and that its
  // outcome is reported and audited.
  if (!has_finalizer() && (leaves_marks() || !seen_.pdbs.empty())) add_finalizer();
  out_.action = std::move(action);
  return Step::kSettled;
}

void StatusBuilder::remember(const evictors::Refs& refs) {
  auto& known = draft().refs;
  for (const auto& [name, value] : refs) {
    std::erase_if(known, [&key = name](const auto& each) { return each.first == key; });
    if (value.empty() || value.size() > kMaxRefBytes) continue;
    known.emplace_back(name, base::truncate_utf8(value, kMaxRefBytes));
  }
  std::sort(known.begin(), known.end());
}

void StatusBuilder::resolve_intent_as(std::string_view result) {
  if (!intent_open()) return;
  draft().intent->resolved = true;
  draft().intent->result = result;
}

void StatusBuilder::resolve_intent(IntentResult result) {
  resolve_intent_as(kIntentResults.at(static_cast<std::size_t>(result)));
}

void StatusBuilder::resolve_intent(evictors::ResponseClass result) { resolve_intent_as(to_string(result)); }

Reason StatusBuilder::cancel_reason() const {
  if (evacuation_.meta.is_terminating()) return seen_.policy_gone ? Reason::kPolicyDeleted : Reason::kObjectDeleted;
  return spec().cancel.reason == Reason::kPolicyDeleted ? Reason::kPolicyDeleted : Reason::kUserCancelled;
}

std::string StatusBuilder::cancel_message() const {
  if (seen_.policy_gone) return fmt::format("policy {} was deleted", api::policy_of(evacuation_));
  if (evacuation_.meta.is_terminating()) return "the Evacuation was deleted";
  return spec().cancel.reason.empty() ? "cancelled by spec.cancel" : spec().cancel.reason;
}

std::optional<StatusBuilder::Ending> StatusBuilder::must_end() const {
  if (cancelled()) return Ending{EvacuationPhase::kCancelled, cancel_reason(), cancel_message()};
  if (!seen_.spec_problem.empty()) {
    return Ending{EvacuationPhase::kFailed, Reason::kInvalidSpec,
                  "its spec can no longer be read: " + seen_.spec_problem};
  }
  if (!seen_.spec_changed) return std::nullopt;
  return Ending{EvacuationPhase::kFailed, Reason::kSpecChanged,
                "its spec was changed after it was accepted; only suspend, priority and cancel may be changed"};
}

bool StatusBuilder::has_finalizer() const {
  return std::ranges::count(evacuation_.meta.finalizers, api::well_known::kEvacuationFinalizer) > 0;
}

// --- setters

void StatusBuilder::start_attempt() {
  api::EvacuationStatus& next = draft();
  forget_attempt(next);
  for (const ConditionType type :
       {ConditionType::kHandoffAcknowledged, ConditionType::kReadyToEvict, ConditionType::kEvictionGranted,
        ConditionType::kProgressing, ConditionType::kRollbackComplete}) {
    forget_condition(type);
  }
  if (!condition_has_reason(ConditionType::kGroupReady, Reason::kLeaving)) forget_condition(ConditionType::kGroupReady);
  next.attempt += 1;
  next.token = fmt::format("{}.{}", evacuation_.meta.uid, next.attempt);
  if (!next.started_at) next.started_at = now_;
  next.attempt_started_at = now_;
  if (const api::OwnerReference* owner = pod()->meta.controller()) next.pod_owner = *owner;
  const std::string owner_uid = next.pod_owner ? next.pod_owner->uid : std::string();
  next.workload_group = spec().concurrency_group.empty() ? owner_uid : spec().concurrency_group;
}

void StatusBuilder::set_blocker(api::Blocker blocker) {
  auto& held = draft().blocked_by;
  blocker.since = now_;
  for (const api::Blocker& before : held) {
    if (before.kind == blocker.kind && before.name == blocker.name) blocker.since = before.since;
  }
  held = {std::move(blocker)};
}

void StatusBuilder::clear_blocked() {
  clear_blockers();
  set_blocked_count(0);
  set_next_call_at(std::nullopt);
  show_transition();
}

void StatusBuilder::show_transition() {
  if (status().history.empty() || status().history.back().to != api::to_string(phase())) return;
  draft().reason = status().history.back().reason;
  draft().message = status().history.back().message;
}

void StatusBuilder::show_block(Reason reason, const std::string& message) {
  draft().reason = to_string(reason);
  draft().message = bounded(message);
}

base::Duration StatusBuilder::stop_queue_clock() {
  if (!status().queued_since) return base::Duration::zero();
  const base::Duration waited = now_ - *status().queued_since;
  if (status().in_progress_since) *draft().in_progress_since += waited;
  extend_deadline(waited);
  draft().queued_since.reset();
  return waited;
}

/// For plain evictions keeps only Events about the result and about problems; status.history has the steps.
void StatusBuilder::keep_news_only() {
  if (leaves_marks()) return;
  const auto is_routine = [](const kube::Event& event) {
    return std::ranges::any_of(kRoutine, [&](EventReason each) { return event.reason == to_string(each); });
  };
  std::erase_if(out_.events, is_routine);
  for (kube::Event& event : out_.events) {
    if (event.kind == api::EventKind::kNormal) event.also_on_related = false;
  }
}

Decision StatusBuilder::finish_decision() && {
  if (!(status() == seen_.evacuation.status)) draft().observed_generation = evacuation_.meta.generation;
  keep_news_only();
  out_.status = std::move(evacuation_.status);
  if (wake_) out_.requeue = kube::Requeue::in(*wake_ - now_);
  return std::move(out_);
}

}  // namespace controllers::evacuation
