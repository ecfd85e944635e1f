/// Sends the call of one reconcile and records the answer.

#include <algorithm>

#include "controllers/evacuation/reconcile_run.hpp"
#include "evictors/eviction_call.hpp"
#include "evictors/timeouts.hpp"
#include "kube/classify.hpp"

namespace controllers::evacuation {
namespace {

using api::EvacuationPhase;

/// Maximum number of attempts to record an answer when other clients change the object.
constexpr int kConflictRetries = 4;
/// Minimum remaining time to start a call.
constexpr base::milliseconds kMinCall{1000};

}  // namespace

base::Result<Continue> ReconcileRun::call(evictors::Action action) {
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

/// Records the intent before its call, whatever happened to the preceding write. A call without a record would look
/// like one of an intruder.
void ReconcileRun::record_intent() {
  const auto& intent = state_.seen.evacuation.status.intent;
  if (intent == recorded_intent_) return;
  api::Evacuation before = state_.seen.evacuation;
  before.status.intent.reset();
  deps_.audit.on_status(before, state_.seen.evacuation, deps_.clock.now());
  recorded_intent_ = intent;
}

/// Replaces a 404 that does not name the object with an error, because it proves nothing about the object. Exempt are
/// services, and POST, where the evictor interprets the 404 and a live read follows.
evictors::CallResult ReconcileRun::send_action(const evictors::Action& action) {
  auto answer = send_limited(action);
  const bool is_judged = !action.service.empty() || action.request.method == "POST";
  auto doubt = answer && !is_judged ? kube::doubtful_absence(action.request, *answer) : std::nullopt;
  if (doubt) return *std::move(doubt);
  return answer;
}

/// Limits concurrent evictions to the configured number, independent of the number of workers.
evictors::CallResult ReconcileRun::send_limited(const evictors::Action& action) {
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

base::Result<base::milliseconds> ReconcileRun::time_for_call(base::milliseconds wanted) const {
  if (auto leader = check_leader(); !leader) return leader.error();
  const auto& intent = state_.seen.evacuation.status.intent;
  if (!intent) return base::unavailable("the server did not store the intent: the call is not sent");
  const base::milliseconds most = std::max<base::milliseconds>(evictors::kCallTimeout, wanted);
  const base::Duration left = intent->time + most - deps_.clock.now();
  if (left >= kMinCall) return std::chrono::floor<base::milliseconds>(left);
  return base::Error{base::ErrorCode::kTimeout, "the rate limit delayed the call for too long: it was not sent"};
}

/// Records the answer, on top of concurrent writes of other clients if necessary, so that it is not lost.
base::Result<Continue> ReconcileRun::record_answer(const evictors::Action& action, const evictors::CallResult& answer) {
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
bool ReconcileRun::may_store_later(const Decision& answered, const evictors::Action& action) const {
  const evictors::Evictor* evictor = deps_.evictors.find(answered.status.evictor);
  return action.name == evictors::kPostEviction && evictor && !evictor->traits().leaves_marks &&
         answered.status.phase == EvacuationPhase::kEvicting && !state_.seen.evacuation.spec.cancel.requested;
}

}  // namespace controllers::evacuation
