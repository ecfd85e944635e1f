#pragma once

/// The working copy of one decide(): what was observed, the status that will be stored, and what is to be done.
/// Internal to the rules of this folder. Rules read status() and change it through the named setters only.

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
using api::ConditionType;
using api::EventReason;
using api::Reason;

/// Whether the rules of the (possibly new) phase have to be asked again.
enum class Step { kAgain, kSettled };

/// A reason to store: one of ours, or one that the object carries already (another version may have written it).
class ReasonText {
 public:
  ReasonText(Reason reason) : text_(api::to_string(reason)) {}  // NOLINT(google-explicit-constructor)
  static ReasonText carried(std::string text) { return ReasonText(std::move(text)); }
  const std::string& text() const { return text_; }

 private:
  explicit ReasonText(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// What became of a call, as far as no answer says it: status.intent.result.
enum class IntentResult {
  kObserved,    ///< its effect is seen
  kSuperseded,  ///< it does not matter any more
  kNotSent,     ///< it never reached the server
  kNoEffect,    ///< its time is over, and nothing of it is seen
};

/// A waiting Evacuation looks at who blocks it this often, even when nothing wakes it.
inline constexpr base::seconds kRefreshWaiting{60};
/// Neither a wake nor a change of evictor may bring two calls about one pod closer together than this (I15).
inline constexpr base::milliseconds kMinimalGap{200};

/// status.adapter of an attempt that removes a pod which was terminal before; and what versions up to 0.1 called it,
/// for an attempt that runs on after an upgrade.
inline constexpr std::string_view kTerminalPod = "terminal-pod";
inline constexpr std::string_view kTerminalPodBefore = "ended-pod";
constexpr bool is_of_terminal_pod(std::string_view adapter) {
  return adapter == kTerminalPod || adapter == kTerminalPodBefore;
}

/// In status.refs: when the API server took the pod's deletion, by its own clock.
inline constexpr std::string_view kDeletedAtRef = "podDeletedAt";

/// Start and end of an Evacuation are Events on its pod, too, so that the pod's owner sees them.
enum class EventOn { kEvacuation, kEvacuationAndPod };

class StatusBuilder {
 public:
  StatusBuilder(const Observed& seen, const evictors::EvictorRegistry& registry, base::TimePoint now);

  const Observed& seen() const { return seen_; }
  base::TimePoint now() const { return now_; }
  const api::EvacuationSpec& spec() const { return evacuation_.spec; }
  const api::Evacuation& evacuation() const { return evacuation_; }
  const api::EvacuationStatus& status() const { return evacuation_.status; }
  api::EvacuationPhase phase() const { return evacuation_.status.phase; }
  const evictors::Timeouts& timeouts() const { return timeouts_; }

  // --- the pod
  /// The pod of this Evacuation: by UID, never a successor of the same name. nullptr: gone.
  const api::Pod* pod() const;
  bool pod_left() const { return !pod() || (pod()->is_terminal() && !removes_terminal_pod()); }
  /// A policy nominated a pod that was terminal by then: what is to leave is its object, by a plain eviction. (A
  /// terminal pod that a person names has left already, and so has one that ends after it was nominated: T0a.)
  bool removes_terminal_pod() const;
  bool pod_terminating() const { return pod() && pod()->meta.is_terminating(); }
  /// PodDeleted, UIDChanged, PodTerminal: how it left. REQUIRES: pod_left().
  Reason how_it_left() const;

  // --- the evictor
  /// nullptr: none chosen yet, or this build does not have it.
  const evictors::Evictor* evictor() const;
  evictors::EvictorContext context() const { return context_for(evacuation_.status.evictor); }
  evictors::EvictorContext context_for(std::string_view evictor) const;
  std::vector<api::EvictorChoice> chain() const { return registry_.chain(spec().evictors); }
  const evictors::EvictorRegistry& registry() const { return registry_; }
  /// What the chosen evictor sees of the remote side, and what it does next: asked once for each run through a phase's
  /// rules. REQUIRES: evictor() and pod() are there.
  const evictors::Observation& remote();
  const evictors::EvictionStep& plan();
  /// In the same way, what became of the work after the pod left; without an evictor it is found by the pod's owner.
  const evictors::Verification& arrival();

  // --- time
  /// True once `deadline` has passed; just after a leader change only after a grace.
  bool expired(base::TimePoint deadline) const { return now_ >= effective(deadline); }
  bool deadline_expired() const { return status().deadline && expired(*status().deadline); }
  /// Had the deadline passed when the phase's rules began, before any of them moved it?
  bool began_late() const { return late_; }
  /// Be called at the latest then.
  void wake_at(base::TimePoint when);
  /// Be called at the latest when `deadline` is expired(). One that is already leads to its consequence now, or what
  /// holds that up wakes us: calling at once again would go in circles.
  void wake_at_deadline(base::TimePoint deadline) {
    if (!expired(deadline)) wake_at(effective(deadline));
  }
  Step wait() const { return Step::kSettled; }
  void set_deadline(std::optional<base::TimePoint> deadline) { draft().deadline = deadline; }
  void set_deadline_if_none(base::TimePoint deadline);
  /// Of a phase that has one: later by that much.
  void extend_deadline(base::Duration by);
  void restart_phase_clock() { draft().phase_entered_at = now_; }
  /// The next call is made then at the earliest; nullopt: at once.
  void set_next_call_at(std::optional<base::TimePoint> when) { draft().next_action_at = when; }

  // --- conditions and Events
  void set_condition(ConditionType type, api::ConditionStatus status, const ReasonText& reason,
                     std::string message = {});
  void forget_condition(ConditionType type);
  bool condition_has_reason(ConditionType type, Reason reason) const;
  bool is_true(ConditionType type) const { return api::is_true(status().conditions, type); }
  void record_event(EventReason reason, std::string message, EventOn on = EventOn::kEvacuation) {
    record(kube::Event::normal(reason, std::move(message)), on);
  }
  void record_warning(EventReason reason, std::string message, EventOn on = EventOn::kEvacuation) {
    record(kube::Event::warning(reason, std::move(message)), on);
  }

  // --- transitions: history, event, phase clock
  Step enter(api::EvacuationPhase phase, const ReasonText& reason, std::string message);
  /// Into a terminal phase.
  Step finish(api::EvacuationPhase phase, const ReasonText& reason, std::string message);
  void set_finished_if_not();

  // --- the attempt
  /// Counts it up, gives it a token, and forgets all that belongs to the last one. REQUIRES: pod().
  void start_attempt();
  void set_pod_group(const std::string& name) { draft().group = name; }
  void set_spec_hash(const std::string& hash) { draft().spec_hash = hash; }
  void set_signed_priority(std::int32_t priority) { draft().signed_priority = priority; }
  void set_target_node(const api::NodeName& node) { draft().target_node = node; }
  void set_evictor(std::string_view name, std::string_view adapter);
  void set_evictor_index(std::int32_t index) { draft().evictor_index = index; }
  void set_abort(Reason reason, api::EvacuationPhase next);
  bool attempts_left() const { return status().attempt < std::max(spec().retry.max_attempts, 1); }

  // --- what holds it up
  /// The only blocker. The clock of one that is known runs on.
  void set_blocker(api::Blocker blocker);
  void clear_blockers() { draft().blocked_by.clear(); }
  /// Nothing holds it up: no blockers, no count, no delay. status.reason tells the newest transition again.
  void clear_blocked();
  void set_blocked_count(std::int32_t count) { draft().blocked_count = count; }
  void start_blocked_clock();
  void stop_blocked_clock() { draft().blocked_since.reset(); }
  /// status.reason and status.message: what blocks the phase, in place of how it was entered.
  void show_block(Reason reason, const std::string& message);
  /// Back to the newest transition.
  void show_transition();

  // --- the remote side
  void set_heartbeat(const std::string& value);
  void start_heartbeat_clock();
  void set_progress(std::int32_t percent) { draft().progress = percent; }
  void set_expected_completion(std::optional<base::TimePoint> when) { draft().expected_completion_at = when; }
  void set_remote_failures(std::int32_t count) { draft().remote_failures = count; }
  void start_in_progress_clock();
  void start_queue_clock();
  /// The time in the queue does not count: the other clocks move on by it. Returns it.
  base::Duration stop_queue_clock();
  /// Into status.refs, sorted by name.
  void remember(const evictors::Refs& refs);

  // --- the call
  /// Writes the intent ahead (or keeps the unresolved one of the very same action, with the time of this sending) and
  /// asks for the call.
  Step act(evictors::Action action);
  bool intent_open() const { return status().intent && !status().intent->resolved; }
  void resolve_intent(IntentResult result);
  void resolve_intent(evictors::ResponseClass result);
  void set_last_response(api::LastResponse response) { draft().last_response = std::move(response); }

  // --- the outcome
  void set_outcome(api::OutcomeKind kind) { draft().outcome = api::EvacuationOutcome{kind, {}, {}}; }
  /// Keeps what is known of it.
  void set_outcome_kind(api::OutcomeKind kind);
  void set_outcome_if_none(api::OutcomeKind kind);
  void forget_outcome() { draft().outcome.reset(); }
  /// REQUIRES for both: there is an outcome.
  void set_pod_deletion_timestamp(std::optional<base::TimePoint> when) {
    draft().outcome->pod_deletion_timestamp = when;
  }
  void set_placement(api::PlacedPod pod) { draft().placement = std::move(pod); }
  void set_replacement(api::EvacuationReplacement pod) { draft().outcome->replacement = std::move(pod); }
  void count_grant_without_delete() { ++draft().granted_without_delete; }

  // --- the end
  /// spec.cancel, or the object is being deleted.
  bool cancelled() const { return spec().cancel.requested || evacuation_.meta.is_terminating(); }
  Reason cancel_reason() const;
  std::string cancel_message() const;
  /// Why the attempt ends now, whatever it has come to: a cancel, or a spec that cannot be read any more.
  struct Ending {
    api::EvacuationPhase phase;
    Reason reason;
    std::string message;
  };
  std::optional<Ending> must_end() const;

  // --- what the shell is asked for
  bool has_finalizer() const;
  /// Of the chosen evictor; true while none is chosen.
  bool leaves_marks() const;
  void request_slot(bool needs_capacity);
  void fill_spec(SpecFill fill) { out_.fill = std::move(fill); }
  void add_finalizer() { out_.add_finalizer = true; }
  void remove_finalizer() { out_.remove_finalizer = true; }
  void remove_object() { out_.remove_object = true; }
  void report_dead_evictor() { out_.dead = status().evictor; }
  void look_again() { out_.look_again = true; }

  /// The rules of a phase begin: the remote side has not been asked yet.
  void begin_step();
  Decision finish_decision() &&;

 private:
  api::EvacuationStatus& draft() { return evacuation_.status; }
  base::TimePoint effective(base::TimePoint deadline) const;
  void record(kube::Event event, EventOn on);
  void keep_news_only();
  void record_transition(api::EvacuationPhase phase, const ReasonText& reason, const std::string& message);
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

// --- rules. A phase is a list of them, asked from top to bottom: the first that answers decides.

using Rule = std::optional<Step> (*)(StatusBuilder&);

/// The answer of the first rule that has one; else the Evacuation waits.
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

// --- ways from one phase to another
/// T3, T25: from here on the slot is visible to every later leader.
Step begin_attempt(StatusBuilder& builder);
/// Into InProgress, with its deadlines.
Step enter_in_progress(StatusBuilder& builder, Reason reason, std::string message);
/// Into Evicting, from which there is no way back.
Step enter_evicting(StatusBuilder& builder, api::OutcomeKind kind, Reason reason, std::string message);
/// Into Verifying: the pod has left.
Step enter_verifying(StatusBuilder& builder, api::OutcomeKind kind);
/// Ends the attempt: undoes what is remote (Aborting), then on to `next`: Cancelled, Failed or Backoff.
Step leave_attempt(StatusBuilder& builder, api::EvacuationPhase next, Reason reason, std::string message);
/// leave_attempt() towards Backoff, or Failed when no attempt is left.
Step retry_or_fail(StatusBuilder& builder, Reason reason, std::string message);
/// An abort that is over, or was not needed: on to `next`.
Step go_on_to(StatusBuilder& builder, api::EvacuationPhase next, const ReasonText& reason, std::string message);
Step enter_backoff(StatusBuilder& builder, const ReasonText& reason, std::string message);

// --- rules that several phases ask
/// T23: a cancel, or a spec that cannot be read any more, ends the attempt.
std::optional<Step> end_attempt_if_told(StatusBuilder& builder);
/// T37: its end would cost the pod's data, or a service may not be called for it. The first ends what has not begun.
std::optional<Step> refuse_request(StatusBuilder& builder);
std::optional<Step> end_refused_attempt(StatusBuilder& builder);
/// This build does not have the evictor that was chosen.
std::optional<Step> fail_without_evictor(StatusBuilder& builder);
/// T29: past the point of no return a cancel is refused, once. Never answers.
std::optional<Step> refuse_late_cancel(StatusBuilder& builder);
/// Waits for a person, while spec.suspend says so.
std::optional<Step> wait_while_suspended(StatusBuilder& builder);
/// T1, T25c: another unfinished Evacuation moves the same pod.
std::optional<Step> reject_duplicate(StatusBuilder& builder);
/// T2, T25b: the plan that it belongs to counted on capacity that is gone.
std::optional<Step> end_without_destination(StatusBuilder& builder);
/// The slot question of Pending and Backoff; on a granted one the attempt begins.
std::optional<Step> begin_with_slot(StatusBuilder& builder);
/// T4: chooses the evictor of the attempt. Answers while none can be had.
std::optional<Step> choose_evictor(StatusBuilder& builder);
/// T13: the attempt has been blocked for too long.
std::optional<Step> give_up_when_blocked(StatusBuilder& builder);
/// T36: the attempt has stood still for too long, and others wait for its slot.
std::optional<Step> return_slot_without_progress(StatusBuilder& builder);
/// T39: an attempt that goes on without a slot (T38) waits for one before `action` makes the pod leave.
std::optional<Step> regain_slot(StatusBuilder& builder, const evictors::Action& action);
/// T39: it does not wait for a slot any more. Never answers.
void stop_waiting_for_slot(StatusBuilder& builder);
/// T38: the pod has been terminating for too long, and others wait for the slot. Never answers.
std::optional<Step> stop_counting_departure(StatusBuilder& builder);
/// T16, T18–T20: takes over what the remote side shows.
std::optional<Step> follow_remote(StatusBuilder& builder, const evictors::Observation& remote);
/// T22: ack, heartbeat, queue and total deadlines; wakes for the next of them.
std::optional<Step> check_remote_deadlines(StatusBuilder& builder);
/// Pending, before a slot is asked for: waits while the pod's PodGroup cannot begin as a whole.
std::optional<Step> wait_for_pod_group(StatusBuilder& builder);
/// T6: waits until all of the PodGroup are ready, and for those that leave before it. Fails the attempt when one of
/// them stays.
std::optional<Step> wait_at_pod_group_gate(StatusBuilder& builder);

// --- shared parts
/// How an Evacuation whose pod left this way ends.
Reason reason_of(api::OutcomeKind kind);
/// The delay after a call that was refused is not over; wakes up when it is.
bool next_call_is_early(StatusBuilder& builder);
/// A call whose answer was lost may still be carried out by the server until its timeout is over.
bool outcome_open(const StatusBuilder& builder);
Step wait_for_outcome(StatusBuilder& builder);
/// ": <what holds it up>", as last heard; empty when nobody said anything.
std::string held_up_by(const api::EvacuationStatus& status);
/// When the current request was written.
base::TimePoint asked_at(const StatusBuilder& builder);
/// T22, by spec.onTimeout.
Step time_out(StatusBuilder& builder, Reason reason, std::string message);
/// Condition Progressing: what the evictor waits for, if it says so.
void show_wait(StatusBuilder& builder, const evictors::EvictionStep& plan);
/// ": <what it waits for>", for the message of a timeout; empty when the evictor did not say.
std::string waited_for(const StatusBuilder& builder);
/// T12: since when it is blocked, by whom, when to try again.
void record_blocked(StatusBuilder& builder, const evictors::Classification& verdict);
api::Blocker make_blocker(BlockerKind kind, std::string name, std::string message);

/// What the chain of evictors comes to.
struct ChosenEvictor {
  std::string name;
  std::int32_t index = 0;
  evictors::Probe probe;
};
struct NoEvictor {
  std::string why;
  std::optional<base::TimePoint> ask_again;  ///< one of them may be able to then
};
using EvictorSearch = std::variant<ChosenEvictor, NoEvictor>;
/// The first evictor of the chain from `from` on that can, and may, move the pod.
EvictorSearch find_evictor(const StatusBuilder& builder, std::int32_t from);
/// The first evictor of the chain that may move the pod, as far as is known before anything else was read.
const evictors::Evictor* likely_evictor(const StatusBuilder& builder);

/// What the answer to `action` means for the Evacuation.
void take_answer(StatusBuilder& builder, const evictors::Action& action, const evictors::CallResult& answer,
                 const evictors::Classification& verdict);

}  // namespace controllers::evacuation
