#include <algorithm>

#include "controllers/evacuation/phases/status_builder.hpp"

/// Succeeded, Failed, Cancelled: cleanup and removal of a finished Evacuation.
namespace controllers::evacuation {
namespace {

constexpr base::seconds kDefaultTtl{3600};
/// Interval and maximum duration of retries of reads. The maximum is needed because abortSeconds of the spec may be a
/// week.
constexpr base::seconds kRefreshInterval{10};
constexpr base::seconds kLookAtMost{600};

base::TimePoint clean_up_until(const StatusBuilder& builder) {
  return builder.status().finished_at.value_or(builder.now()) + builder.timeouts().abort;
}

/// Removes our marks from a pod that stayed, or leftovers of a pod that is gone. Stops after a time limit, so that the
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

/// Whether something of ours may be left that cannot be observed at the moment.
bool awaits_cleanup(const StatusBuilder& builder) {
  const evictors::Evictor* evictor = builder.evictor();
  return evictor && !builder.expired(look_until(builder)) && evictor->awaits_cleanup(builder.context());
}

/// A finished Evacuation keeps its pod from being nominated and takes memory, so the time to live of manual ones is
/// limited.
base::Duration time_to_live(const StatusBuilder& builder) {
  const base::Duration asked = builder.spec().ttl_after_finished.value_or(kDefaultTtl);
  if (api::origin_is_verified(builder.evacuation())) return asked;
  return std::min(asked, builder.seen().rules.manual_ttl);
}

// --- rules

/// Stores the verdict first; later steps depend on it.
std::optional<Step> store_verdict_first(StatusBuilder& builder) {
  if (!api::is_terminal(builder.seen().evacuation.status.phase)) return builder.wait();
  builder.set_finished_if_not();
  return std::nullopt;
}

/// Removes the marks from a pod that stayed before the finalizer is removed.
std::optional<Step> clean_up(StatusBuilder& builder) {
  if (!builder.has_finalizer()) return std::nullopt;
  auto action = last_cleanup(builder);
  if (!action && !awaits_cleanup(builder)) return std::nullopt;
  if (!action) {
    builder.wake_at(builder.now() + kRefreshInterval);
    builder.wake_at_deadline(look_until(builder));
    return builder.wait();
  }
  if (!next_call_is_early(builder)) return builder.act(std::move(*action));
  builder.wake_at_deadline(clean_up_until(builder));
  return builder.wait();
}

/// T35: the pod needs no further work.
std::optional<Step> release_object(StatusBuilder& builder) {
  if (!builder.has_finalizer()) return std::nullopt;
  builder.resolve_intent(IntentResult::kSuperseded);
  builder.remove_finalizer();
  return builder.wait();
}

/// T35: the time to live has passed.
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
    store_verdict_first, clean_up,
    release_object,    // T35
    remove_after_ttl,  // T35
};

}  // namespace

Step decide_finished(StatusBuilder& builder) { return first_answer(kFinishedRules, builder); }

}  // namespace controllers::evacuation
