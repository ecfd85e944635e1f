#include <algorithm>

#include "controllers/evacuation/phases/status_builder.hpp"

/// Succeeded, Failed, Cancelled: what is left to do for an Evacuation that has ended.
namespace controllers::evacuation {
namespace {

constexpr base::seconds kDefaultTtl{3600};
/// What could not be read is read again, for a while: whoever asked may have given abortSeconds a week.
constexpr base::seconds kLookAgain{10};
constexpr base::seconds kLookAtMost{600};

base::TimePoint clean_up_until(const StatusBuilder& builder) {
  return builder.status().finished_at.value_or(builder.now()) + builder.timeouts().abort;
}

/// Our marks on a pod that stayed, and what is left beside one that is gone; given up after a while so that the
/// finalizer never holds the object indefinitely.
std::optional<evictors::Action> last_cleanup(const StatusBuilder& builder) {
  const evictors::Evictor* evictor = builder.evictor();
  if (!evictor || builder.expired(clean_up_until(builder))) return std::nullopt;
  auto actions = builder.pod() ? evictor->cleanup(builder.context()) : evictor->leftovers(builder.context());
  return actions.empty() ? std::nullopt : std::optional(std::move(actions.front()));
}

base::TimePoint look_until(const StatusBuilder& builder) {
  return std::min(clean_up_until(builder), builder.status().finished_at.value_or(builder.now()) + kLookAtMost);
}

/// Something of ours may be left, and cannot be seen just now.
bool awaits_cleanup(const StatusBuilder& builder) {
  const evictors::Evictor* evictor = builder.evictor();
  return evictor && !builder.expired(look_until(builder)) && evictor->awaits_cleanup(builder.context());
}

/// A finished one keeps its pod from being nominated again, and takes up memory: nobody keeps it for a year.
base::Duration time_to_live(const StatusBuilder& builder) {
  const base::Duration asked = builder.spec().ttl_after_finished.value_or(kDefaultTtl);
  if (api::origin_is_verified(builder.evacuation())) return asked;
  return std::min(asked, builder.seen().rules.manual_ttl);
}

// --- rules

/// First the verdict is stored; what comes after it must not happen without it.
std::optional<Step> store_verdict_first(StatusBuilder& builder) {
  if (!api::is_terminal(builder.seen().evacuation.status.phase)) return builder.wait();
  builder.set_finished_if_not();
  return std::nullopt;
}

/// The marks on a pod that stayed go before the finalizer does.
std::optional<Step> clean_up(StatusBuilder& builder) {
  if (!builder.has_finalizer()) return std::nullopt;
  auto action = last_cleanup(builder);
  if (!action && !awaits_cleanup(builder)) return std::nullopt;
  if (!action) {
    builder.wake_at(builder.now() + kLookAgain);
    builder.wake_at_deadline(look_until(builder));
    return builder.wait();
  }
  if (!next_call_is_early(builder)) return builder.act(std::move(*action));
  builder.wake_at_deadline(clean_up_until(builder));
  return builder.wait();
}

/// T35: nothing more is to be done for the pod.
std::optional<Step> release_object(StatusBuilder& builder) {
  if (!builder.has_finalizer()) return std::nullopt;
  builder.resolve_intent(IntentResult::kSuperseded);
  builder.remove_finalizer();
  return builder.wait();
}

/// T35: its time to live is over.
std::optional<Step> remove_after_ttl(StatusBuilder& builder) {
  if (builder.evacuation().meta.is_terminating()) return builder.wait();
  const base::TimePoint due = *builder.status().finished_at + time_to_live(builder);
  if (due <= builder.now()) {
    builder.remove_object();
  } else {
    builder.wake_at(due);
  }
  return builder.wait();
}

constexpr std::array<Rule, 4> kFinishedRules = {
    store_verdict_first,  // nothing follows before the result is stored
    clean_up,             // marks on a pod that stayed
    release_object,       // T35
    remove_after_ttl,     // T35
};

}  // namespace

Step decide_finished(StatusBuilder& builder) { return first_answer(kFinishedRules, builder); }

}  // namespace controllers::evacuation
