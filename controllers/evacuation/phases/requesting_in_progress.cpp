#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "controllers/evacuation/phases/draft.hpp"
#include "evictors/classify.hpp"
#include "evictors/eviction_call.hpp"
#include "scheduling/pdb_budget.hpp"

namespace controllers {
namespace {

using api::ConditionStatus;
using api::EvacuationPhase;
using evictors::ResponseClass;

/// A call whose answer was lost may still be carried out by the server until its timeout is over.
bool outcome_open(const Draft& draft) {
  return draft.intent_open() && draft.now() < draft.status().intent->time + evictors::kCallTimeout;
}

Step wait_for_outcome(Draft& draft) {
  draft.wake_at(draft.status().intent->time + evictors::kCallTimeout);
  return draft.wait();
}

/// Is it too early for the same call again?
bool must_wait(Draft& draft) {
  const auto& status = draft.status();
  if (!status.next_action_at || *status.next_action_at <= draft.now()) return false;
  base::TimePoint due = *status.next_action_at;
  if (draft.seen().woken)
    due = std::min(due, status.last_response ? status.last_response->time + kMinimalGap : draft.now());
  if (due <= draft.now()) return false;
  draft.wake_at(due);
  return true;
}

void note_request(Draft& draft, const evictors::Action& action) {
  if (draft.status().blocked_count > 0 || draft.intent_open()) return;  // the same question again
  const bool eviction = action.name == evictors::kPostEviction;
  draft.record_event(
      eviction ? EventReason::kEvictionRequested : EventReason::kHandoffRequested,
      fmt::format("{} for pod {}, token {}", action.name, draft.spec().pod_ref.name, draft.status().token));
}

Step request(Draft& draft, evictors::Action action) {
  auto& status = draft.status();
  if (auto ended = check_blocked(draft)) return *ended;
  if (status.in_progress_since && status.deadline && draft.expired(*status.deadline)) {
    return timed_out(draft, Reason::kProgressTimeout, "the total timeout is over");
  }
  if (must_wait(draft)) return draft.wait();
  note_request(draft, action);
  return draft.act(std::move(action));
}

/// T8, T12b: nothing to call now; the remote side has it.
Step back_in_progress(Draft& draft) {
  const bool was_ready = api::is_true(draft.status().conditions, ConditionType::kReadyToEvict);
  const bool found = draft.intent_open();
  draft.resolve_intent("Observed");
  if (was_ready) {
    draft.set_condition(ConditionType::kReadyToEvict, ConditionStatus::kFalse, Reason::kRevoked);
    draft.record_warning(EventReason::kReadyRevoked, "the pod's owner withdrew ready-to-evict");
    return enter_in_progress(draft, Reason::kRevoked, "ready-to-evict was withdrawn");
  }
  return enter_in_progress(draft, found ? Reason::kRequestFound : Reason::kAlreadyInProgress,
                           "the request is in effect");
}

/// The spec's word, else the remote side's, else the default; where the workload's earlier evacuations took long,
/// three times the longest of them.
base::seconds total_timeout(const Draft& draft) {
  constexpr std::chrono::hours kLongest{24};
  if (!draft.evictor() || !draft.pod()) return draft.timeouts().total;
  if (const auto wish = draft.evictor()->probe(draft.context()).total) return *wish;
  const auto& past = draft.seen().past_durations;
  if (draft.spec().timeouts.total || past.empty()) return draft.timeouts().total;
  const auto scaled = std::chrono::duration_cast<base::seconds>(3 * past.back());
  return std::clamp<base::seconds>(scaled, draft.timeouts().total, kLongest);
}

// --- blocked

std::uint64_t seed_of(const Draft& draft) {
  return std::hash<std::string>{}(draft.status().token) + static_cast<std::uint64_t>(draft.status().blocked_count);
}

/// The numbers as the PDB shows them now, for people; the answer's own are older by nothing but are not always there.
void add_numbers(const Draft& draft, api::Blocker& blocker) {
  if (blocker.kind != BlockerKind::kPodDisruptionBudget) return;
  for (const auto& pdb : draft.seen().pdbs) {
    const bool guessed = blocker.name.empty() && draft.seen().pdbs.size() == 1;
    if (!guessed && pdb->meta.name != blocker.name) continue;
    blocker.name = pdb->meta.name;
    blocker.disruptions_allowed = pdb->disruptions_allowed;
    if (!blocker.current_healthy) blocker.current_healthy = pdb->current_healthy;
    if (!blocker.desired_healthy) blocker.desired_healthy = pdb->desired_healthy;
  }
  if (!blocker.disruptions_allowed) blocker.disruptions_allowed = 0;
}

/// A rough word for Progressing=False and events; the class is one of them or close to one.
Reason blocked_reason(ResponseClass answer) {
  if (answer == ResponseClass::kUnknown) return Reason::kOutcomeUnknown;
  return api::parse_reason(to_string(answer)).value_or(Reason::kOutcomeUnknown);  // a test walks the classes
}

/// What is wrong with the budget that refused, if waiting for it is in vain; empty: it may allow one day.
std::string hopeless_budget(const Draft& draft, const evictors::Classification& verdict) {
  if (verdict.answer != ResponseClass::kPdbBlocked) return {};
  const auto& pdbs = draft.seen().pdbs;
  const std::string name = verdict.blocker ? verdict.blocker->name : std::string();
  for (const auto& pdb : pdbs) {
    if (pdb->meta.name == name || (name.empty() && pdbs.size() == 1)) return scheduling::why_never(*pdb);
  }
  return {};
}

Reason blocked_reason(const Draft& draft, const evictors::Verdict& verdict) {
  return hopeless_budget(draft, verdict).empty() ? blocked_reason(verdict.answer) : Reason::kPDBNeverAllows;
}

void name_blockers(Draft& draft, const evictors::Classification& verdict) {
  auto& held = draft.status().blocked_by;
  if (!verdict.blocker) {
    held.clear();
    return;
  }
  api::Blocker blocker = *verdict.blocker;
  add_numbers(draft, blocker);
  if (const std::string why = hopeless_budget(draft, verdict); !why.empty()) blocker.message = why;
  blocker.since = draft.now();
  for (const api::Blocker& before : held) {
    if (before.kind == blocker.kind && before.name == blocker.name) blocker.since = before.since;
  }
  held = {std::move(blocker)};
}

void show_blocked(Draft& draft, const evictors::Verdict& verdict) {
  const Reason why = blocked_reason(draft, verdict);
  const std::string hopeless = hopeless_budget(draft, verdict);
  const std::string& message = hopeless.empty() ? verdict.message : hopeless;
  if (!draft.condition_has_reason(ConditionType::kProgressing, why)) {
    draft.record_warning(EventReason::kEvictionBlocked, fmt::format("{}: {}", to_string(why), message));
  }
  draft.set_condition(ConditionType::kProgressing, ConditionStatus::kFalse, why, message);
  if (verdict.answer == ResponseClass::kPdbBlocked) {
    draft.set_condition(ConditionType::kEvictionGranted, ConditionStatus::kFalse, Reason::kPDBBlocked, verdict.message);
  } else if (verdict.answer == ResponseClass::kUnknown) {
    draft.set_condition(ConditionType::kEvictionGranted, ConditionStatus::kUnknown, Reason::kOutcomeUnknown,
                        verdict.message);
  }
}

/// ": <what holds it up>", as last heard; empty when nobody said anything.
std::string held_up_by(const api::EvacuationStatus& status) {
  if (!status.blocked_by.empty()) return ": " + status.blocked_by.front().message;
  return status.last_response ? ": " + status.last_response->message : std::string();
}

}  // namespace

void record_blocked(Draft& draft, const evictors::Classification& verdict) {
  auto& status = draft.status();
  const bool same = draft.condition_has_reason(ConditionType::kProgressing, blocked_reason(draft, verdict)) &&
                    status.blocked_count > 0;
  if (!status.blocked_since) status.blocked_since = draft.now();
  if (!same) {
    status.blocked_count = 1;
  } else if (verdict.answer != ResponseClass::kThrottled) {
    status.blocked_count = std::min(status.blocked_count + 1, 1000);
  }
  const auto delay = evictors::blocked_delay(verdict, status.blocked_count, seed_of(draft));
  status.next_action_at = draft.now() + std::max<base::Duration>(delay, base::seconds(1));
  const bool total_counts = status.in_progress_since.has_value();
  if (draft.phase() == EvacuationPhase::kRequesting && !total_counts) {
    status.deadline = *status.blocked_since + draft.timeouts().blocked;
  }
  name_blockers(draft, verdict);
  show_blocked(draft, verdict);
}

void clear_blocked(Draft& draft) {
  draft.status().blocked_by.clear();
  draft.status().blocked_count = 0;
  draft.status().next_action_at.reset();
}

std::optional<Step> check_blocked(Draft& draft) {
  const auto& status = draft.status();
  if (!status.blocked_since) return std::nullopt;
  const base::TimePoint deadline = *status.blocked_since + draft.timeouts().blocked;
  draft.wake_at_deadline(deadline);
  if (!draft.expired(deadline)) return std::nullopt;
  if (outcome_open(draft)) return wait_for_outcome(draft);
  draft.resolve_intent("NoEffect");
  const std::string by = held_up_by(status);
  draft.record_warning(EventReason::kTimedOut,
                       fmt::format("blocked for {}{}", base::format_duration(draft.timeouts().blocked), by));
  return retry_or_fail(
      draft, Reason::kBlockedTimeout,
      fmt::format("blocked for longer than {}{}", base::format_duration(draft.timeouts().blocked), by));
}

Step decide_requesting(Draft& draft) {
  const evictors::Evictor* evictor = draft.evictor();
  if (!evictor) {
    return leave_attempt(draft, EvacuationPhase::kFailed, Reason::kNotEvictable,
                         fmt::format("this version of Evacuator has no evictor {}", draft.status().evictor));
  }
  if (auto ending = draft.must_end()) {
    if (outcome_open(draft)) return wait_for_outcome(draft);
    draft.resolve_intent("NoEffect");
    return leave_attempt(draft, ending->phase, ending->reason, std::move(ending->message));
  }
  auto& deadline = draft.status().deadline;
  if (!deadline) deadline = draft.now() + draft.timeouts().blocked + evictors::kCallTimeout;
  const evictors::Observation remote = evictor->observe(draft.context());
  // A request not yet written cannot have vanished; what is written is judged in InProgress.
  evictors::Observation news = remote;
  news.vanished = false;
  if (auto ended = follow_remote(draft, news)) return *ended;
  evictors::EvictionStep plan = evictor->plan(draft.context());
  if (plan.next == evictors::NextMove::kAct) return request(draft, std::move(*plan.action));
  return back_in_progress(draft);
}

Step enter_in_progress(Draft& draft, Reason reason, std::string message) {
  auto& status = draft.status();
  const auto next_call = status.next_action_at;
  draft.enter(EvacuationPhase::kInProgress, reason, std::move(message));
  status.next_action_at = next_call;  // an owner that changes its mind does not make us call sooner (I15)
  if (!status.in_progress_since) status.in_progress_since = draft.now();
  // Frozen at the first entry: a total timeout never moves, whatever the pod's annotations say later.
  status.deadline = *status.in_progress_since + total_timeout(draft);
  if (!status.last_heartbeat_at) status.last_heartbeat_at = draft.now();
  draft.set_condition(ConditionType::kProgressing, ConditionStatus::kTrue, Reason::kHeartbeat);
  return Step::kAgain;
}

Step decide_in_progress(Draft& draft) {
  const evictors::Evictor* evictor = draft.evictor();
  if (!evictor) {
    return leave_attempt(draft, EvacuationPhase::kFailed, Reason::kNotEvictable,
                         fmt::format("this version of Evacuator has no evictor {}", draft.status().evictor));
  }
  if (auto ending = draft.must_end()) {
    return leave_attempt(draft, ending->phase, ending->reason, std::move(ending->message));
  }
  const evictors::Observation remote = evictor->observe(draft.context());
  if (auto ended = follow_remote(draft, remote)) return *ended;
  const evictors::Plan plan = evictor->plan(draft.context());
  show_wait(draft, plan);
  if (auto ended = check_remote_deadlines(draft, remote)) return *ended;
  if (plan.next != evictors::NextMove::kAct) return draft.wait();
  const auto deadline = draft.status().deadline;
  const auto next_call = draft.status().next_action_at;
  draft.enter(EvacuationPhase::kRequesting, Reason::kReadyToEvict, "the pod may be evicted now");
  draft.status().deadline = deadline;
  draft.status().next_action_at = next_call;
  return Step::kAgain;
}

}  // namespace controllers
