#include "controllers/evacuation/phases/status_builder.hpp"

/// Preparing: chooses the evictor, runs `pre` steps, and waits until the PodGroup is ready.
namespace controllers::evacuation {
namespace {

// --- rules

/// Starts timeouts.prepare with the phase. Never returns a step.
std::optional<Step> keep_deadline(StatusBuilder& builder) {
  builder.set_deadline_if_none(builder.now() + builder.timeouts().prepare);
  builder.wake_at_deadline(*builder.status().deadline);
  return std::nullopt;
}

/// T4: no evictor can move the pod. Waits until timeouts.prepare for one that is only unavailable.
std::optional<Step> choose_evictor_in_time(StatusBuilder& builder) {
  const auto answer = choose_evictor(builder);
  const bool waits = answer == Step::kSettled;
  if (answer && !waits) return answer;
  if (waits && !builder.began_late()) {
    const auto returned = return_slot_without_progress(builder);
    return returned ? returned : answer;
  }
  if (builder.evictor()) return std::nullopt;
  return retry_or_fail(builder, Reason::kNotEvictable, "no evictor became available within timeouts.prepare");
}

/// T6: `pre` is done, and the PodGroup, if any, is ready.
std::optional<Step> go_on_to_request(StatusBuilder& builder) {
  if (builder.plan().next != evictors::NextMove::kProceed) return std::nullopt;
  builder.resolve_intent(IntentResult::kObserved);
  if (const auto held = wait_at_pod_group_gate(builder)) return held;
  builder.stop_blocked_clock();  // it belonged to a finished hook; the request has its own clock
  return builder.enter(EvacuationPhase::kRequesting, Reason::kPrepared, "ready to request the eviction");
}

/// T22: preparing took too long.
std::optional<Step> time_out_preparing(StatusBuilder& builder) {
  show_wait(builder, builder.plan());
  if (!builder.began_late()) return std::nullopt;
  return time_out(builder, Reason::kProgressTimeout,
                  "the preparation took longer than timeouts.prepare" + waited_for(builder));
}

/// T5, T13: a `pre` step is due.
std::optional<Step> make_preparing_call(StatusBuilder& builder) {
  if (builder.plan().next != evictors::NextMove::kAct) return std::nullopt;
  const auto retry_at = builder.status().next_action_at;
  if (const auto ended = give_up_when_blocked(builder)) return ended;
  if (retry_at && *retry_at > builder.now()) {
    builder.wake_at(*retry_at);
    return builder.wait();
  }
  if (!builder.intent_open() && builder.status().blocked_count == 0) {
    builder.record_event(EventReason::kHandoffRequested, "asked the pod's owner to prepare");
  }
  return builder.act(*builder.plan().action);
}

/// T22: the owner is at work and has its own deadlines.
std::optional<Step> watch_owner(StatusBuilder& builder) {
  builder.resolve_intent(IntentResult::kObserved);
  return check_remote_deadlines(builder);
}

constexpr std::array<Rule, 10> kPreparingRules = {
    end_attempt_if_required,  // T23
    end_refused_attempt,      // T37
    keep_deadline,
    choose_evictor_in_time,        // T4
    follow_observed,               // T7: `pre` failed, or the remote side gave up
    go_on_to_request,              // T6
    time_out_preparing,            // T22
    return_slot_without_progress,  // T36
    make_preparing_call,           // T5, T13
    watch_owner,                   // T22
};

}  // namespace

Step decide_preparing(StatusBuilder& builder) { return first_answer(kPreparingRules, builder); }

}  // namespace controllers::evacuation
