#include "controllers/evacuation/phases/draft.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/meta/well_known.hpp"
#include "base/text.hpp"

namespace controllers {
namespace {

using api::EvacuationPhase;

constexpr std::size_t kFirstEntries = 2;
constexpr std::size_t kNewestEntries = 18;
constexpr std::size_t kMaxMessageBytes = 1024;
constexpr std::size_t kMaxRefBytes = 512;

/// As the server will give it back: else every look would find a difference and write it again.
std::string bounded(std::string text) {
  text = base::short_text(text, kMaxMessageBytes);
  return text;
}

/// When the last container of a terminal pod stopped. One that tells nothing of it was stopped by its node long ago.
base::TimePoint ended_at(const api::Pod& pod) {
  base::TimePoint end{};
  for (const api::ContainerStatus& each : pod.container_statuses) end = std::max(end, each.finished_at.value_or(end));
  return end;
}

/// The Event of a phase that nothing else tells of; nullopt: it has none.
std::optional<EventReason> event_of(EvacuationPhase phase) {
  switch (phase) {
    case EvacuationPhase::kPreparing: return EventReason::kPreparing;
    case EvacuationPhase::kInProgress: return EventReason::kInProgress;
    case EvacuationPhase::kEvicting: return EventReason::kEvicting;
    case EvacuationPhase::kVerifying: return EventReason::kVerifying;
    case EvacuationPhase::kAborting: return EventReason::kAborting;
    case EvacuationPhase::kBackoff: return EventReason::kBackoff;
    case EvacuationPhase::kPending:
    case EvacuationPhase::kRequesting:
    case EvacuationPhase::kSucceeded:
    case EvacuationPhase::kFailed:
    case EvacuationPhase::kCancelled: break;
  }
  return std::nullopt;
}

/// Of a success or a cancel: the reason itself.
EventReason event_of_end(const ReasonText& reason) {
  return api::parse_event_reason(reason.text()).value_or(EventReason::kUserCancelled);
}

}  // namespace

Draft::Draft(const Observed& seen, const evictors::EvictorRegistry& registry, base::TimePoint now)
    : seen_(seen),
      registry_(registry),
      now_(now),
      evacuation_(seen.evacuation),
      timeouts_(evictors::effective_timeouts(seen.evacuation.spec)) {}

const api::Pod* Draft::pod() const {
  if (!seen_.pod || seen_.pod->uid() != spec().pod_ref.uid) return nullptr;
  return seen_.pod.get();
}

bool Draft::removes_terminal_pod() const {
  if (status().adapter == kTerminalPod) return true;
  const bool waits = phase() == EvacuationPhase::kPending || phase() == EvacuationPhase::kPreparing ||
                     phase() == EvacuationPhase::kBackoff;
  if (!waits || !status().adapter.empty() || spec().source.policy.empty()) return false;
  return pod() && pod()->is_terminal() && ended_at(*pod()) <= evacuation_.meta.creation_timestamp;
}

Reason Draft::how_it_left() const {
  if (pod()) return Reason::kPodTerminal;
  return seen_.pod ? Reason::kUIDChanged : Reason::kPodDeleted;
}

const evictors::Evictor* Draft::evictor() const { return registry_.find(status().evictor); }

evictors::EvictorContext Draft::context_for(std::string_view evictor) const {
  evictors::EvictorContext context{evacuation_, pod(), now_, {}, seen_.eviction_version};
  for (const auto& choice : spec().evictors) {
    if (choice.name == evictor) context.parameters = choice.parameters;
  }
  if (const auto read = seen_.documents.find(evictor); read != seen_.documents.end()) context.documents = read->second;
  if (const auto dead = seen_.dead_until.find(evictor); dead != seen_.dead_until.end() && dead->second > now_) {
    context.unavailable_until = dead->second;
  }
  context.services = seen_.services;
  return context;
}

base::TimePoint Draft::effective(base::TimePoint deadline) const {
  return deadline < seen_.resumed_at ? seen_.resumed_at + kResumeGrace : deadline;
}

void Draft::wake_at(base::TimePoint when) {
  if (!wake_ || when < *wake_) wake_ = when;
}

void Draft::set_condition(ConditionType type, api::ConditionStatus status, const ReasonText& reason,
                          std::string message) {
  api::Condition next;
  next.type = to_string(type);
  next.status = status;
  next.reason = reason.text();
  next.message = bounded(std::move(message));
  next.observed_generation = evacuation_.meta.generation;
  // The same claim again: a newer generation alone is no news.
  const auto* known = api::find_condition(this->status().conditions, type);
  if (known && known->status == next.status && known->reason == next.reason && known->message == next.message) return;
  api::set_condition(this->status().conditions, std::move(next), now_);
}

void Draft::forget_condition(ConditionType type) {
  std::erase_if(status().conditions, [&](const api::Condition& each) { return each.type == type; });
}

bool Draft::condition_has_reason(ConditionType type, Reason reason) const {
  const auto* found = api::find_condition(status().conditions, type);
  return found && found->reason == reason;
}

void Draft::record(EventNote note) {
  event_recorded_ = true;
  note.message = bounded(std::move(note.message));
  out_.events.push_back(std::move(note));
}

void Draft::append_history(std::string_view from, std::string_view to, const ReasonText& reason,
                           const std::string& message) {
  auto& history = status().history;
  history.push_back({now_, std::string(from), std::string(to), reason.text(), message, status().attempt, seen_.actor});
  if (history.size() <= kFirstEntries + kNewestEntries) return;
  const auto excess = static_cast<std::ptrdiff_t>(history.size() - kFirstEntries - kNewestEntries);
  history.erase(history.begin() + kFirstEntries, history.begin() + kFirstEntries + excess);
}

/// One Event a transition (state-machine.md#transitions): most are told by what leads to them, and a request by being
/// made.
void Draft::record_transition(EvacuationPhase phase, const ReasonText& reason, const std::string& message) {
  const auto event = event_of(phase);
  if (!event_recorded_ && event) record_event(*event, fmt::format("{}: {}", reason.text(), message));
  event_recorded_ = false;
}

Step Draft::enter(EvacuationPhase phase, const ReasonText& reason, std::string message) {
  message = bounded(std::move(message));
  record_transition(phase, reason, message);
  append_history(api::to_string(status().phase), api::to_string(phase), reason, message);
  status().phase = phase;
  status().reason = reason.text();
  status().message = std::move(message);
  status().phase_entered_at = now_;
  status().deadline.reset();
  status().next_action_at.reset();
  return Step::kAgain;
}

Step Draft::finish(EvacuationPhase phase, const ReasonText& reason, std::string message) {
  const std::string text = fmt::format("{}: {}", reason.text(), message);
  if (phase == EvacuationPhase::kFailed) {
    record_warning(EventReason::kFailed, text, EventOn::kEvacuationAndPod);
  } else {
    record_event(event_of_end(reason), text, EventOn::kEvacuationAndPod);
  }
  set_condition(ConditionType::kComplete, api::ConditionStatus::kTrue, reason, message);
  if (api::find_condition(status().conditions, ConditionType::kSlotAcquired)) {
    set_condition(ConditionType::kSlotAcquired, api::ConditionStatus::kFalse, Reason::kReleased);
  }
  enter(phase, reason, std::move(message));
  resolve_intent("Superseded");
  clear_blocked(*this);
  status().finished_at = now_;
  return Step::kAgain;
}

Step Draft::act(evictors::Action action) {
  auto& intent = status().intent;
  const bool same = intent_open() && intent->action == action.name && intent->token == status().token;
  if (!same) intent = api::EvacuationIntent{action.name, status().token, now_, false, "", action.pre_state};
  const bool asks = action.role == evictors::ActionRole::kPrepare || action.role == evictors::ActionRole::kRequest;
  if (asks && !spec().dry_run && !status().request_sent_at) status().request_sent_at = now_;
  status().next_action_at.reset();
  out_.action = std::move(action);
  return Step::kSettled;
}

void Draft::remember(const evictors::Refs& refs) {
  auto& known = status().refs;
  for (const auto& [name, value] : refs) {
    std::erase_if(known, [&](const auto& each) { return each.first == name; });
    if (value.empty() || value.size() > kMaxRefBytes) continue;
    known.emplace_back(name, base::short_text(value, kMaxRefBytes));
  }
  std::sort(known.begin(), known.end());
}

void Draft::resolve_intent(std::string_view result) {
  if (!intent_open()) return;
  status().intent->resolved = true;
  status().intent->result = result;
}

Reason Draft::cancel_reason() const {
  if (evacuation_.meta.is_terminating()) return seen_.policy_gone ? Reason::kPolicyDeleted : Reason::kObjectDeleted;
  return spec().cancel.reason == Reason::kPolicyDeleted ? Reason::kPolicyDeleted : Reason::kUserCancelled;
}

std::string Draft::cancel_message() const {
  if (seen_.policy_gone) return fmt::format("policy {} was deleted", spec().source.policy);
  if (evacuation_.meta.is_terminating()) return "the Evacuation was deleted";
  return spec().cancel.reason.empty() ? "cancelled by spec.cancel" : spec().cancel.reason;
}

std::optional<Draft::Ending> Draft::must_end() const {
  if (cancelled()) return Ending{EvacuationPhase::kCancelled, cancel_reason(), cancel_message()};
  if (seen_.spec_problem.empty()) return std::nullopt;
  return Ending{EvacuationPhase::kFailed, Reason::kInvalidSpec,
                "its spec cannot be read any more: " + seen_.spec_problem};
}

bool Draft::has_finalizer() const {
  const auto& finalizers = evacuation_.meta.finalizers;
  return std::find(finalizers.begin(), finalizers.end(), api::well_known::kEvacuationFinalizer) != finalizers.end();
}

Decision Draft::finish_decision() && {
  if (!(status() == seen_.evacuation.status)) status().observed_generation = evacuation_.meta.generation;
  out_.status = std::move(evacuation_.status);
  if (wake_) out_.requeue = kube::Requeue::in(*wake_ - now_);
  return std::move(out_);
}

}  // namespace controllers
