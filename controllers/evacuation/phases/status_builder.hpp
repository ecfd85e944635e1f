#pragma once

/// Working copy of one decide(): the observation, the status to store and the actions to take. Internal to the rules of
/// this folder, which read status() and change it through the named setters only.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "api/vocabulary/blockers.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/events.hpp"
#include "api/vocabulary/reasons.hpp"
#include "controllers/evacuation/phases/decide.hpp"
#include "evictors/timeouts.hpp"

namespace controllers::evacuation {

using api::BlockerKind;
using api::ConditionStatus;
using api::ConditionType;
using api::EvacuationPhase;
using api::EventReason;
using api::make_blocker;
using api::OutcomeKind;
using api::Reason;

/// Whether the rules of the (possibly new) phase must run again.
enum class Step { kAgain, kSettled };

/// Reason to store: one of ours, or a text that the object already has (possibly from another version).
class ReasonText {
 public:
  ReasonText(Reason reason) : text_(api::to_string(reason)) {}  // NOLINT(google-explicit-constructor)
  static ReasonText carried(std::string text) { return ReasonText(std::move(text)); }
  const std::string& text() const { return text_; }

 private:
  explicit ReasonText(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// Result of a call without an answer that states it: status.intent.result.
enum class IntentResult {
  kObserved,    ///< its effect is visible
  kSuperseded,  ///< it does not matter any more
  kNotSent,     ///< it never reached the server
  kNoEffect,    ///< its timeout passed without a visible effect
};

/// Interval at which a waiting Evacuation checks its blockers without a wake.
inline constexpr base::seconds kRefreshWaiting{60};
/// Minimum time between two calls about one pod, also after a wake or a switch of evictors (I15).
inline constexpr base::milliseconds kMinimalGap{200};

/// status.adapter of an attempt that removes a pod that was terminal before.
inline constexpr std::string_view kTerminalPod = "terminal-pod";

/// Key in status.refs: time of the pod's deletion by the API server's clock.
inline constexpr std::string_view kDeletedAtRef = "podDeletedAt";

/// Start and end of an Evacuation are published on its pod as well, for the pod's owner.
enum class EventOn { kEvacuation, kEvacuationAndPod };

class StatusBuilder {
 public:
  StatusBuilder(const Observed& seen, const evictors::EvictorRegistry& registry, base::TimePoint now);

  const Observed& seen() const { return seen_; }
  base::TimePoint now() const { return now_; }
  const api::EvacuationSpec& spec() const { return evacuation_.spec; }
  const api::Evacuation& evacuation() const { return evacuation_; }
  const api::EvacuationStatus& status() const { return evacuation_.status; }
  EvacuationPhase phase() const { return evacuation_.status.phase; }
  const evictors::Timeouts& timeouts() const { return timeouts_; }

  // --- the pod
  /// Returns the pod with this Evacuation's UID, never a successor of the same name. nullptr if it is gone.
  const api::Pod* pod() const;
  bool pod_left() const { return !pod() || (pod()->is_terminal() && !removes_terminal_pod()); }
  /// Whether the pod was already terminal when a policy nominated it, so that its object is to be removed by a plain
  /// eviction. A terminal pod named by a manual Evacuation has left already, and so has a pod that terminated after its
  /// nomination (T0a).
  bool removes_terminal_pod() const;
  bool pod_terminating() const { return pod() && pod()->meta.is_terminating(); }
  /// Returns PodDeleted, UIDChanged or PodTerminal. REQUIRES: pod_left().
  Reason how_it_left() const;

  // --- the evictor
  /// Returns nullptr if no evictor is chosen yet or this build does not have it.
  const evictors::Evictor* evictor() const { return registry_.find(status().evictor); }
  evictors::EvictorContext context() const { return context_for(evacuation_.status.evictor); }
  evictors::EvictorContext context_for(std::string_view evictor) const;
  std::vector<api::EvictorChoice> chain() const { return registry_.chain(spec().evictors); }
  const evictors::EvictorRegistry& registry() const { return registry_; }
  /// The chosen evictor's observation of the remote side, and its next step; computed once per run of a phase's rules.
  /// REQUIRES: evictor() and pod() exist.
  const evictors::Observation& remote();
  const evictors::EvictionStep& plan();
  /// Result after the pod left, computed once per run of a phase's rules. Without an evictor it is derived from the
  /// pod's owner.
  const evictors::Verification& arrival();

  // --- time
  /// Whether `deadline` has passed. For a deadline that passed before a leader change, adds a grace period.
  bool expired(base::TimePoint deadline) const { return now_ >= effective(deadline); }
  bool deadline_expired() const { return status().deadline && expired(*status().deadline); }
  /// Whether the deadline had passed when the phase's rules began, before any rule moved it.
  bool began_late() const { return late_; }
  /// Requests a reconcile no later than `when`.
  void wake_at(base::TimePoint when) { wake_ = std::min(wake_.value_or(when), when); }
  /// Requests a reconcile no later than when `deadline` is expired(). No-op if it is expired: its consequence follows
  /// now, or the event that delays it wakes us. An immediate requeue would loop.
  void wake_at_deadline(base::TimePoint deadline) {
    if (!expired(deadline)) wake_at(effective(deadline));
  }
  Step wait() const { return Step::kSettled; }
  void set_deadline(std::optional<base::TimePoint> deadline) { draft().deadline = deadline; }
  void set_deadline_if_none(base::TimePoint deadline) {
    if (!status().deadline) set_deadline(deadline);
  }
  void extend_deadline(base::Duration by) {
    if (status().deadline) *draft().deadline += by;
  }
  void restart_phase_clock() { draft().phase_entered_at = now_; }
  /// Earliest time of the next call; nullopt for immediately.
  void set_next_call_at(std::optional<base::TimePoint> when) { draft().next_action_at = when; }

  // --- conditions and Events
  void set_condition(ConditionType type, ConditionStatus status, const ReasonText& reason, std::string message = {});
  void set_true_condition(ConditionType type, const ReasonText& reason, std::string message = {}) {
    set_condition(type, ConditionStatus::kTrue, reason, std::move(message));
  }
  void set_false_condition(ConditionType type, const ReasonText& reason, std::string message = {}) {
    set_condition(type, ConditionStatus::kFalse, reason, std::move(message));
  }
  void forget_condition(ConditionType type) {
    std::erase_if(draft().conditions, [&](const api::Condition& each) { return each.type == type; });
  }
  bool condition_has_reason(ConditionType type, Reason reason) const;
  bool is_true(ConditionType type) const { return api::is_true(status().conditions, type); }
  void record_event(EventReason reason, std::string message, EventOn on = EventOn::kEvacuation) {
    record(kube::Event::normal(reason, std::move(message)), on);
  }
  void record_warning(EventReason reason, std::string message, EventOn on = EventOn::kEvacuation) {
    record(kube::Event::warning(reason, std::move(message)), on);
  }

  // --- transitions: history, event, phase clock
  Step enter(EvacuationPhase phase, const ReasonText& reason, std::string message);
  /// Enters a terminal phase.
  Step finish(EvacuationPhase phase, const ReasonText& reason, std::string message);
  void set_finished_if_not() { start_clock(&api::EvacuationStatus::finished_at); }

  // --- the attempt
  /// Increments the attempt, sets its token and clears the state of the previous attempt. REQUIRES: pod().
  void start_attempt();
  void set_pod_group(const std::string& name) { draft().group = name; }
  void set_spec_hash(const std::string& hash) { draft().spec_hash = hash; }
  void set_signed_priority(std::int32_t priority) { draft().signed_priority = priority; }
  void set_target_node(const api::NodeName& node) { draft().target_node = node; }
  void set_evictor(std::string_view name, std::string_view adapter) {
    draft().evictor = name;
    draft().adapter = adapter;
  }
  void set_evictor_index(std::int32_t index) { draft().evictor_index = index; }
  void set_abort(Reason reason, EvacuationPhase next) {
    draft().abort = api::EvacuationAbort{std::string(to_string(reason)), next, now_};
  }
  bool attempts_left() const { return status().attempt < std::max(spec().retry.max_attempts, 1); }

  // --- blockers
  /// Replaces all blockers. A known blocker keeps its start time.
  void set_blocker(api::Blocker blocker);
  void clear_blockers() { draft().blocked_by.clear(); }
  /// Clears blockers, count and delay; status.reason shows the newest transition again.
  void clear_blocked();
  void set_blocked_count(std::int32_t count) { draft().blocked_count = count; }
  void start_blocked_clock() { start_clock(&api::EvacuationStatus::blocked_since); }
  void stop_blocked_clock() { draft().blocked_since.reset(); }
  /// Sets status.reason and status.message to the blocker instead of the transition.
  void show_block(Reason reason, const std::string& message);
  /// Sets status.reason and status.message to the newest transition.
  void show_transition();

  // --- the remote side
  void set_heartbeat(const std::string& value) {
    draft().last_heartbeat_value = value;
    draft().last_heartbeat_at = now_;  // local time: the pod operator's clock may be off
  }
  void start_heartbeat_clock() { start_clock(&api::EvacuationStatus::last_heartbeat_at); }
  void set_progress(std::int32_t percent) { draft().progress = percent; }
  void set_expected_completion(std::optional<base::TimePoint> when) { draft().expected_completion_at = when; }
  void set_remote_failures(std::int32_t count) { draft().remote_failures = count; }
  void start_in_progress_clock() { start_clock(&api::EvacuationStatus::in_progress_since); }
  void start_queue_clock() { start_clock(&api::EvacuationStatus::queued_since); }
  /// Excludes the time in the queue by moving the other clocks forward. Returns that time.
  base::Duration stop_queue_clock();
  /// Merges `refs` into status.refs, sorted by name.
  void remember(const evictors::Refs& refs);

  // --- the call
  /// Records the intent ahead of the call and requests the call. Keeps an unresolved intent of the same action, with
  /// the new sending time.
  Step act(evictors::Action action);
  bool intent_open() const { return status().intent && !status().intent->resolved; }
  void resolve_intent(IntentResult result);
  void resolve_intent(evictors::ResponseClass result);
  void set_last_response(api::LastResponse response) { draft().last_response = std::move(response); }

  // --- the outcome
  void set_outcome(OutcomeKind kind) { draft().outcome = api::EvacuationOutcome{kind, {}, {}}; }
  /// Keeps the other fields of a known outcome.
  void set_outcome_kind(OutcomeKind kind) {
    set_outcome_if_none(kind);
    draft().outcome->kind = kind;
  }
  void set_outcome_if_none(OutcomeKind kind) {
    if (!status().outcome) set_outcome(kind);
  }
  void forget_outcome() { draft().outcome.reset(); }
  /// set_pod_deletion_timestamp() and set_replacement() require an outcome.
  void set_pod_deletion_timestamp(std::optional<base::TimePoint> when) {
    draft().outcome->pod_deletion_timestamp = when;
  }
  void set_placement(api::PlacedPod pod) { draft().placement = std::move(pod); }
  void set_replacement(api::EvacuationReplacement pod) { draft().outcome->replacement = std::move(pod); }
  void count_grant_without_delete() { ++draft().granted_without_delete; }

  // --- the end
  /// Whether spec.cancel is set or the object is being deleted.
  bool cancelled() const { return spec().cancel.requested || evacuation_.meta.is_terminating(); }
  Reason cancel_reason() const;
  std::string cancel_message() const;
  /// Reason to end the attempt now regardless of its progress: a cancel, or a spec that cannot be decoded or was
  /// changed.
  struct Ending {
    EvacuationPhase phase;
    Reason reason;
    std::string message;
  };
  std::optional<Ending> must_end() const;

  // --- requests to the shell
  bool has_finalizer() const;
  /// Whether the chosen evictor leaves marks; true if none is chosen.
  bool leaves_marks() const { return !evictor() || evictor()->traits().leaves_marks; }
  void request_slot(bool needs_capacity) {
    out_.wants_slot = true;
    out_.needs_capacity = needs_capacity;
  }
  void fill_spec(SpecFill fill) { out_.fill = std::move(fill); }
  void add_finalizer() { out_.add_finalizer = true; }
  void remove_finalizer() { out_.remove_finalizer = true; }
  void remove_object() { out_.remove_object = true; }
  void report_dead_evictor() { out_.dead = status().evictor; }
  void look_again() { out_.look_again = true; }

  /// Starts a run of a phase's rules; discards cached results of the evictor.
  void begin_step();
  Decision finish_decision() &&;

 private:
  api::EvacuationStatus& draft() { return evacuation_.status; }
  base::TimePoint effective(base::TimePoint deadline) const {
    return deadline < seen_.resumed_at ? seen_.resumed_at + kResumeGrace : deadline;
  }
  void start_clock(std::optional<base::TimePoint> api::EvacuationStatus::*clock) {
    if (!(status().*clock)) draft().*clock = now_;
  }
  void record(kube::Event event, EventOn on);
  void keep_news_only();
  void record_transition(EvacuationPhase phase, const ReasonText& reason, const std::string& message);
  void append_history(std::string_view from, std::string_view to, const ReasonText& reason, const std::string& message);
  void resolve_intent_as(std::string_view result);

  const Observed& seen_;
  const evictors::EvictorRegistry& registry_;
  const base::TimePoint now_;
  api::Evacuation evacuation_;
  const evictors::Timeouts timeouts_;
  Decision out_;
  std::optional<base::TimePoint> wake_;
  std::optional<evictors::Observation> remote_;
  std::optional<evictors::EvictionStep> plan_;
  std::optional<evictors::Verification> arrival_;
  bool late_ = false;
  bool event_recorded_ = false;  ///< since the last transition
};

// --- rules. Each phase is a list of rules that run in order; the first one that returns a step decides.

using Rule = std::optional<Step> (*)(StatusBuilder&);

/// Returns the step of the first rule that has one, otherwise waits.
template <std::size_t N>
Step first_answer(const std::array<Rule, N>& rules, StatusBuilder& builder) {
  for (const Rule rule : rules) {
    if (const auto step = rule(builder)) return *step;
  }
  return builder.wait();
}

Step decide_pending(StatusBuilder& builder);
Step decide_backoff(StatusBuilder& builder);
Step decide_preparing(StatusBuilder& builder);
Step decide_requesting(StatusBuilder& builder);
Step decide_in_progress(StatusBuilder& builder);
Step decide_evicting(StatusBuilder& builder);
Step decide_verifying(StatusBuilder& builder);
Step decide_aborting(StatusBuilder& builder);
Step decide_finished(StatusBuilder& builder);

// --- transitions between phases
/// T3, T25: stores the slot, which makes it visible to every later leader.
Step begin_attempt(StatusBuilder& builder);
/// Enters InProgress and sets its deadlines.
Step enter_in_progress(StatusBuilder& builder, Reason reason, std::string message);
/// Enters Evicting, the point of no return.
Step enter_evicting(StatusBuilder& builder, OutcomeKind kind, Reason reason, std::string message);
Step enter_verifying(StatusBuilder& builder, OutcomeKind kind);
/// Ends the attempt: undoes remote effects (Aborting), then enters `next`: Cancelled, Failed or Backoff.
Step leave_attempt(StatusBuilder& builder, EvacuationPhase next, Reason reason, std::string message);
/// leave_attempt() to Backoff, or to Failed if no attempt is left.
Step retry_or_fail(StatusBuilder& builder, Reason reason, std::string message);
/// Enters `next` after an abort, or instead of one.
Step go_on_to(StatusBuilder& builder, EvacuationPhase next, const ReasonText& reason, std::string message);
Step enter_backoff(StatusBuilder& builder, const ReasonText& reason, std::string message);

// --- rules shared by several phases
/// T23: ends the attempt on a cancel, or a spec that cannot be decoded or was changed. end_if_required() (T2b, T24)
/// ends an Evacuation without an attempt.
std::optional<Step> end_attempt_if_required(StatusBuilder& builder);
std::optional<Step> end_if_required(StatusBuilder& builder);
/// T37: deleting the pod would lose data, or a service must not be called for it. refuse_request() ends an Evacuation
/// that has not begun, end_refused_attempt() an attempt.
std::optional<Step> refuse_request(StatusBuilder& builder);
std::optional<Step> end_refused_attempt(StatusBuilder& builder);
/// Ends the attempt if this build does not have its evictor.
std::optional<Step> fail_without_evictor(StatusBuilder& builder);
/// T29: refuses a cancel past the point of no return, once. Never returns a step.
std::optional<Step> refuse_late_cancel(StatusBuilder& builder);
std::optional<Step> wait_while_suspended(StatusBuilder& builder);
/// T1, T25c: another unfinished Evacuation moves the same pod.
std::optional<Step> reject_duplicate(StatusBuilder& builder);
/// T2, T25b: capacity that its plan relied on is gone.
std::optional<Step> end_without_destination(StatusBuilder& builder);
/// Requests the slot for Pending and Backoff; begins the attempt once it is granted.
std::optional<Step> begin_with_slot(StatusBuilder& builder);
/// T4: chooses the evictor of the attempt. Returns a step while none is available.
std::optional<Step> choose_evictor(StatusBuilder& builder);
/// T13: ends an attempt that has been blocked for too long.
std::optional<Step> give_up_when_blocked(StatusBuilder& builder);
/// T36: ends an attempt without progress while others wait for its slot.
std::optional<Step> return_slot_without_progress(StatusBuilder& builder);
/// T39: makes an attempt that continues without a slot (T38) wait for one before `action` makes the pod leave.
std::optional<Step> regain_slot(StatusBuilder& builder, const evictors::Action& action);
/// T39: clears the wait for a slot.
void stop_waiting_for_slot(StatusBuilder& builder);
/// T38: a pod that has been terminating for too long while others wait counts for its workload only. Never returns a
/// step.
std::optional<Step> stop_counting_departure(StatusBuilder& builder);
/// T16, T18–T20: copies the state of the remote side.
std::optional<Step> follow_remote(StatusBuilder& builder, const evictors::Observation& remote);
/// follow_remote() with builder.remote().
std::optional<Step> follow_observed(StatusBuilder& builder);
/// T22: checks the acknowledgement, heartbeat, queue and total deadlines; wakes for the next of them.
std::optional<Step> check_remote_deadlines(StatusBuilder& builder);
/// Pending, before a slot is requested: waits while the PodGroup cannot begin as a whole.
std::optional<Step> wait_for_pod_group(StatusBuilder& builder);
/// T6: waits until all members of the PodGroup are ready, then for members of lower order. Fails the attempt if a
/// member stays.
std::optional<Step> wait_at_pod_group_gate(StatusBuilder& builder);

// --- shared helpers
/// Reason of an Evacuation whose pod left this way, named like the outcome.
Reason reason_of(OutcomeKind kind);
/// Whether the delay before the next call has not passed yet; wakes when it has.
bool next_call_is_early(StatusBuilder& builder);
/// Whether the server may still carry out a call whose answer was lost; true until the call's timeout.
bool outcome_open(const StatusBuilder& builder);
Step wait_for_outcome(StatusBuilder& builder);
/// Whether the answer is no refusal, so that the pod must be read before anything else.
bool is_unclear(evictors::ResponseClass answer);
/// ": <last known blocker>" for messages, empty if unknown.
std::string held_up_by(const api::EvacuationStatus& status);
/// Time at which the current request was written.
base::TimePoint asked_at(const StatusBuilder& builder);
/// T22: applies spec.onTimeout.
Step time_out(StatusBuilder& builder, Reason reason, std::string message);
/// Sets condition Progressing to what the evictor waits for, if it states that.
void show_wait(StatusBuilder& builder, const evictors::EvictionStep& plan);
/// ": <what the evictor waits for>" for the message of a timeout, empty if unknown.
std::string waited_for(const StatusBuilder& builder);
/// T12: records the blocker, the start of the block and the time of the next try.
void record_blocked(StatusBuilder& builder, const evictors::Classification& verdict);

/// Result of a search in the chain of evictors.
struct ChosenEvictor {
  std::string name;
  std::int32_t index = 0;
  evictors::Probe probe;
};
struct NoEvictor {
  std::string why;
  std::optional<base::TimePoint> ask_again;  ///< time at which an evictor may become available
};
using EvictorSearch = std::variant<ChosenEvictor, NoEvictor>;
/// Returns the first evictor of the chain, starting at `from`, that can and may move the pod.
EvictorSearch find_evictor(const StatusBuilder& builder, std::int32_t from);
/// Returns the first evictor of the chain that may move the pod, judged before any document is read.
const evictors::Evictor* likely_evictor(const StatusBuilder& builder);

/// Applies the answer to `action` to the Evacuation.
void take_answer(StatusBuilder& builder, const evictors::Action& action, const evictors::CallResult& answer,
                 const evictors::Classification& verdict);

}  // namespace controllers::evacuation
