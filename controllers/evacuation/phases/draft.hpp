#pragma once

/// The working copy that the phase rules edit. Internal to this folder.

#include <optional>
#include <string>
#include <string_view>

#include "api/vocabulary/blockers.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/events.hpp"
#include "api/vocabulary/reasons.hpp"
#include "controllers/evacuation/phases/decide.hpp"
#include "evictors/timeouts.hpp"

namespace controllers {

/// Whether the rules of the (possibly new) phase have to be asked again.
enum class Step { kAgain, kSettled };

using api::BlockerKind;
using api::ConditionType;
using api::EventReason;
using api::Reason;

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

/// A waiting Evacuation looks at who blocks it this often, even when nothing wakes it.
inline constexpr base::seconds kRefreshWaiting{60};
/// Neither a wake nor a change of evictor may bring two calls about one pod closer together than this (I15).
inline constexpr base::milliseconds kMinimalGap{200};

/// status.adapter of an attempt that removes a pod which had ended before.
inline constexpr std::string_view kTerminalPod = "terminal-pod";

/// Start and end of an Evacuation are Events on its pod, too, so that the pod's owner sees them.
enum class EventOn { kEvacuation, kEvacuationAndPod };

class Draft {
 public:
  Draft(const Observed& seen, const evictors::EvictorRegistry& registry, base::TimePoint now);

  const Observed& seen() const { return seen_; }
  base::TimePoint now() const { return now_; }
  const api::EvacuationSpec& spec() const { return evacuation_.spec; }
  const api::Evacuation& evacuation() const { return evacuation_; }
  api::EvacuationStatus& status() { return evacuation_.status; }
  const api::EvacuationStatus& status() const { return evacuation_.status; }
  api::EvacuationPhase phase() const { return evacuation_.status.phase; }
  const evictors::Timeouts& timeouts() const { return timeouts_; }
  Decision& out() { return out_; }

  // --- the pod
  /// The pod of this Evacuation: by UID, never a successor of the same name. nullptr: gone.
  const api::Pod* pod() const;
  bool pod_left() const { return !pod() || (pod()->is_terminal() && !removes_terminal_pod()); }
  /// A policy nominated a pod that had ended by then: what is to leave is its object, by a plain eviction. (An ended
  /// pod that a person names has left already, and so has one that ends after it was nominated: T0a.)
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

  // --- time
  /// True once `deadline` has passed; just after a leader change only after a grace.
  bool expired(base::TimePoint deadline) const { return now_ >= effective(deadline); }
  /// Be called at the latest then.
  void wake_at(base::TimePoint when);
  /// Be called at the latest when `deadline` is expired(). One that is already leads to its consequence now, or what
  /// holds that up wakes us: calling at once again would go in circles.
  void wake_at_deadline(base::TimePoint deadline) {
    if (!expired(deadline)) wake_at(effective(deadline));
  }
  Step wait() const { return Step::kSettled; }

  // --- what is recorded
  void set_condition(ConditionType type, api::ConditionStatus status, const ReasonText& reason,
                     std::string message = {});
  void forget_condition(ConditionType type);
  bool condition_has_reason(ConditionType type, Reason reason) const;
  void record_event(EventReason reason, std::string message, EventOn on = EventOn::kEvacuation) {
    record({api::EventKind::kNormal, reason, std::move(message), on == EventOn::kEvacuationAndPod});
  }
  void record_warning(EventReason reason, std::string message, EventOn on = EventOn::kEvacuation) {
    record({api::EventKind::kWarning, reason, std::move(message), on == EventOn::kEvacuationAndPod});
  }

  // --- transitions: history, event, phase clock
  Step enter(api::EvacuationPhase phase, const ReasonText& reason, std::string message);
  /// Into a terminal phase.
  Step finish(api::EvacuationPhase phase, const ReasonText& reason, std::string message);

  // --- acting
  /// Writes the intent ahead (or keeps the unresolved one of the very same action) and asks for the call.
  Step act(evictors::Action action);
  bool intent_open() const { return status().intent && !status().intent->resolved; }
  void resolve_intent(std::string_view result);
  /// Into status.refs, sorted by name.
  void remember(const evictors::Refs& refs);

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
  bool has_finalizer() const;
  bool attempts_left() const { return status().attempt < std::max(spec().retry.max_attempts, 1); }

  Decision finish_decision() &&;

 private:
  base::TimePoint effective(base::TimePoint deadline) const;
  void record(EventNote note);
  void record_transition(api::EvacuationPhase phase, const ReasonText& reason, const std::string& message);
  void append_history(std::string_view from, std::string_view to, const ReasonText& reason, const std::string& message);

  const Observed& seen_;
  const evictors::EvictorRegistry& registry_;
  const base::TimePoint now_;
  api::Evacuation evacuation_;
  const evictors::Timeouts timeouts_;
  Decision out_;
  std::optional<base::TimePoint> wake_;
  bool event_recorded_ = false;  ///< since the last transition
};

// --- the rules by phase; each asks the next phase's rules again by returning kAgain
Step decide_pending(Draft& draft);
Step decide_backoff(Draft& draft);
Step decide_preparing(Draft& draft);
Step decide_requesting(Draft& draft);
Step decide_in_progress(Draft& draft);
Step decide_evicting(Draft& draft);
Step decide_verifying(Draft& draft);
Step decide_aborting(Draft& draft);
Step decide_terminal(Draft& draft);

// --- rules shared between phases
/// T0: what the pod itself shows, before any rule of the phase. nullopt: it is there and stays.
std::optional<Step> decide_departure(Draft& draft);
/// How an Evacuation whose pod left this way ends.
Reason reason_of(api::OutcomeKind kind);
/// Past the point of no return: a cancel that came too late is refused, once.
void refuse_late_cancel(Draft& draft);
/// Into Evicting, from which there is no way back.
Step enter_evicting(Draft& draft, api::OutcomeKind kind, Reason reason, std::string message);
/// The first evictor of the chain from status.evictorIndex on that can move the pod; nullopt and why not.
struct Resolution {
  std::string evictor;
  std::int32_t index = 0;
  evictors::Probe probe;
};
std::optional<Resolution> resolve_evictor(const Draft& draft, std::int32_t from, std::string* why_not,
                                          std::optional<base::TimePoint>* ask_again);
/// Into InProgress, with its deadlines.
Step enter_in_progress(Draft& draft, Reason reason, std::string message);
/// The delay after a call that was refused is not over; wakes up when it is.
bool next_call_is_early(Draft& draft);
/// Ends the attempt: undoes what is remote (Aborting), then on to `next`: Cancelled, Failed or Backoff.
Step leave_attempt(Draft& draft, api::EvacuationPhase next, Reason reason, std::string message);
/// leave_attempt() towards Backoff, or Failed when no attempt is left.
Step retry_or_fail(Draft& draft, Reason reason, std::string message);
/// A timeout of the remote side, by spec.onTimeout.
Step timed_out(Draft& draft, Reason reason, std::string message);
/// Takes over what the remote side shows; a step if that ends the attempt or changes the phase.
std::optional<Step> follow_remote(Draft& draft, const evictors::Observation& remote);
/// Ack, heartbeat and total deadlines; wakes for the next of them.
std::optional<Step> check_remote_deadlines(Draft& draft, const evictors::Observation& remote);
/// Tells what the evictor waits for, as condition Progressing.
void show_wait(Draft& draft, const evictors::Plan& plan);
/// ": <what it waits for>", for the message of a timeout; empty when the evictor did not say.
std::string waited_for(const Draft& draft);
/// T13: the attempt has been blocked for too long.
std::optional<Step> check_blocked(Draft& draft);
/// Records a blocked answer: since when, by whom, when to try again.
void record_blocked(Draft& draft, const evictors::Classification& verdict);
void clear_blocked(Draft& draft);
/// Pending, before a slot is asked for: waits while the pod's PodGroup cannot begin as a whole; nullopt: it can.
std::optional<Step> wait_for_pod_group(Draft& draft);
/// Preparing is over: waits until all of the PodGroup are that far, and for those that leave before it. Fails the
/// attempt when one of them stays. nullopt: go.
std::optional<Step> pass_pod_group_gate(Draft& draft);
/// Why it waits before a slot is asked for, as status.blockedBy; the clock of an old acquaintance runs on.
void block_by(Draft& draft, api::Blocker blocker);
api::Blocker waiting_blocker(BlockerKind kind, std::string name, std::string message);
/// The first evictor of the chain that may move the pod, as far as is known before anything else was read.
const evictors::Evictor* likely_evictor(const Draft& draft);
/// The slot question of Pending and Backoff; on a granted one the attempt begins.
Step ask_for_slot(Draft& draft);

}  // namespace controllers
