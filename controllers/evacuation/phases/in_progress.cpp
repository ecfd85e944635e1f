#include <fmt/format.h>

#include <algorithm>

#include "controllers/evacuation/phases/status_builder.hpp"
#include "evictors/eviction_call.hpp"

/// InProgress: another component moves the pod.
namespace controllers::evacuation {
namespace {

/// Total timeout from the spec, otherwise from the remote side, otherwise the default; scaled to three times the
/// longest earlier evacuation of the workload if that is more.
base::seconds total_timeout(const StatusBuilder& builder) {
  constexpr std::chrono::hours kMax{24};
  if (!builder.evictor() || !builder.pod()) return builder.timeouts().total;
  if (const auto asked = builder.evictor()->probe(builder.context()).total) return *asked;
  const auto& past = builder.seen().past_durations;
  if (builder.spec().timeouts.total || past.empty()) return builder.timeouts().total;
  const auto scaled = std::chrono::duration_cast<base::seconds>(3 * past.back());
  return std::clamp<base::seconds>(scaled, builder.timeouts().total, kMax);
}

// --- rules

/// T22: acknowledgement, heartbeat, queue and total timeouts.
std::optional<Step> watch_deadlines(StatusBuilder& builder) {
  show_wait(builder, builder.plan());
  return check_remote_deadlines(builder);
}

/// T17, T39: the owner has declared the pod ready to evict.
std::optional<Step> go_on_to_eviction(StatusBuilder& builder) {
  if (builder.plan().next != evictors::NextMove::kAct) {
    stop_waiting_for_slot(builder);
    return std::nullopt;
  }
  if (auto waits = regain_slot(builder, *builder.plan().action)) return waits;
  const auto deadline = builder.status().deadline;
  const auto next_call = builder.status().next_action_at;
  const bool evicts = builder.plan().action->name == evictors::kPostEviction;
  builder.enter(EvacuationPhase::kRequesting, Reason::kReadyToEvict,
                evicts ? "the pod may be evicted now" : fmt::format("next call: {}", builder.plan().action->name));
  builder.set_deadline(deadline);
  builder.set_next_call_at(next_call);
  return Step::kAgain;
}

constexpr std::array<Rule, 7> kInProgressRules = {
    fail_without_evictor,
    end_attempt_if_required,       // T23
    end_refused_attempt,           // T37
    follow_observed,               // T16, T18–T21: heartbeats, progress, failures
    watch_deadlines,               // T22
    return_slot_without_progress,  // T36
    go_on_to_eviction,             // T17, T39
};

}  // namespace

Step decide_in_progress(StatusBuilder& builder) { return first_answer(kInProgressRules, builder); }

Step enter_in_progress(StatusBuilder& builder, Reason reason, std::string message) {
  const auto next_call = builder.status().next_action_at;
  builder.enter(EvacuationPhase::kInProgress, reason, std::move(message));
  builder.set_next_call_at(next_call);  // an owner that changes its mind must not cause an earlier call (I15)
  builder.start_in_progress_clock();
  // Fixed at the first entry: later changes of the pod's annotations do not move the total timeout.
  builder.set_deadline(*builder.status().in_progress_since + total_timeout(builder));
  builder.start_heartbeat_clock();
  builder.set_true_condition(ConditionType::kProgressing, Reason::kHeartbeat);
  return Step::kAgain;
}

}  // namespace controllers::evacuation
