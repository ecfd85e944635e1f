/// Decides whether and how a pod can be surged.

#include <fmt/format.h>

#include <algorithm>

#include "evictors/surge/steps.hpp"

namespace evictors::surge {
namespace {

Choice no(std::string why) { return {std::nullopt, std::move(why), false}; }
Choice not_known(std::string why) { return {std::nullopt, std::move(why), true}; }

/// Returns true if a list that the choice depends on was answered. A refusal or 404 is an answer.
bool was_answered(const EvictorContext& context, std::string_view name) {
  const Document* document = context.document(name);
  return document && document->status >= 200 && document->status < 500 && document->status != 429;
}

/// Returns why an eviction would be an outage, empty if it would not.
std::string outage(const EvictorContext& context, const SurgeState& view, const std::optional<Budget>& budget) {
  const auto ready = std::count_if(view.pods.begin(), view.pods.end(), [&](const api::Pod& pod) {
    return pod.is_ready() && pod.meta.uid != context.pod->meta.uid;
  });
  if (ready == 0) return fmt::format("no other pod of {} is ready", view.workload.title());
  if (!budget) return {};
  return fmt::format("PodDisruptionBudget {} requires {} of {} pods", budget->name, budget->desired, budget->expected);
}

/// Returns what forbids Evacuator to change the workload's size or template.
std::string forbidden(const EvictorContext& context, const Workload& workload) {
  if (const auto* owner = workload.meta.controller()) {
    return fmt::format("{} is itself managed by {} {}, which would revert every change", workload.title(), owner->kind,
                       owner->name);
  }
  if (workload.meta.is_terminating()) return workload.title() + " is being deleted";
  if (workload.replicas == 0) return workload.title() + " is scaled to 0";
  if (workload.replicas > kMaxReplicas) {
    return fmt::format("{} has {} replicas; surges are for at most {}", workload.title(), workload.replicas,
                       kMaxReplicas);
  }
  if (workload.recreate) {
    return fmt::format("{} has strategy Recreate: its owner does not allow two pods at the same time",
                       workload.title());
  }
  const std::string volume = exclusive_volume(context);
  if (volume.empty()) return {};
  return fmt::format(
      "PersistentVolumeClaim {} can only be used from one node at a time: a second pod elsewhere would never start; "
      "use "
      "a handoff (evictor annotation)",
      volume);
}

std::string extra_replica_forbidden(const EvictorContext& context, const SurgeState& view,
                                    const std::optional<Budget>& budget) {
  const auto autoscaler = autoscaler_of(context, view.workload);
  if (!autoscaler)
    return "HorizontalPodAutoscalers cannot be read: apply config/surge, the optional role of this evictor";
  if (!autoscaler->empty()) {
    return fmt::format("the replicas of {} are managed by HorizontalPodAutoscaler {}", view.workload.title(),
                       *autoscaler);
  }
  if (budget && !budget->helped_by_one_more) {
    return fmt::format("PodDisruptionBudget {} would not allow an eviction even with one more replica", budget->name);
  }
  return {};
}

std::string restart_forbidden(const Workload& workload) {
  if (!workload.is_deployment()) return fmt::format("{} does not support rolling updates", workload.title());
  if (workload.max_surge > 0 && workload.max_unavailable == 0) return {};
  return fmt::format(
      "a rolling restart of {} would remove pods first (maxUnavailable {}, maxSurge {}): set "
      "strategy.rollingUpdate.maxUnavailable to 0 and maxSurge to 1 or more",
      workload.title(), workload.max_unavailable, workload.max_surge);
}

/// Chooses the least disruptive mode: an extra replica if possible, else a restart of a single replica.
Choice choose_automatically(const EvictorContext& context, const SurgeState& view,
                            const std::optional<Budget>& budget) {
  const std::string extra = extra_replica_forbidden(context, view, budget);
  if (extra.empty()) return {Mode::kExtraReplica, {}, false};
  const std::string restart = restart_forbidden(view.workload);
  if (!restart.empty()) return no(extra + "; " + restart);
  if (view.workload.replicas == 1) return {Mode::kRollingRestart, {}, false};
  return no(fmt::format("{}; set mode: RollingRestart if all {} pods may be restarted to move one", extra,
                        view.workload.replicas));
}

}  // namespace

Choice choose(const EvictorContext& context, const SurgeState& view) {
  if (view.hopeless) return no(view.problem);
  if (view.has(ReadResult::kGone)) return no("the pod's workload is gone");
  if (view.forbidden) return no(view.problem);
  if (!view.has(ReadResult::kYes))
    return not_known(view.problem.empty() ? "the pod's workload has not been read" : view.problem);
  if (!view.pods_known) return not_known(fmt::format("the pods of {} cannot be read", view.workload.title()));
  if (!was_answered(context, kReadAutoscalers)) return not_known("HorizontalPodAutoscalers cannot be read now");
  if (!was_answered(context, kReadBudgets)) return not_known("PodDisruptionBudgets cannot be read now");
  if (std::string why = forbidden(context, view.workload); !why.empty()) return no(std::move(why));
  const auto budget = blocking_budget(context);
  const bool always = context.parameter(kParameterWhen, "Outage") == "Always";
  if (!always && outage(context, view, budget).empty()) {
    return no(fmt::format("an eviction does not interrupt {}: list eviction-api after surge, or set when: Always",
                          view.workload.title()));
  }
  const auto wanted = parse_mode(context.parameter(kParameterMode, "Auto"));
  if (!wanted) return choose_automatically(context, view, budget);
  std::string why = *wanted == Mode::kExtraReplica ? extra_replica_forbidden(context, view, budget)
                                                   : restart_forbidden(view.workload);
  return why.empty() ? Choice{*wanted, {}, false} : no(std::move(why));
}

}  // namespace evictors::surge
