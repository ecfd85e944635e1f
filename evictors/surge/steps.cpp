#include "evictors/surge/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "kube/escape.hpp"
#include "kube/request.hpp"

namespace evictors::surge {
namespace {

using api::Json;

/// Lower than any sensible value, so that the ReplicaSet deletes this pod first.
constexpr const char* kSurplusCost = "-1000000";

/// Returns a patch guarded by UID and resourceVersion of the workload.
Action workload_patch(const Workload& workload, ActionRole role, std::string_view name, Json annotations, Json spec) {
  Json patch = {{"metadata",
                 {{"uid", workload.meta.uid},
                  {"resourceVersion", workload.meta.resource_version},
                  {"annotations", std::move(annotations)}}}};
  if (!spec.empty()) patch["spec"] = std::move(spec);
  return make_action(role, name,
                     kube::patch_request(workload.type, workload.meta.key(), kube::PatchType::kMerge, patch),
                     fmt::format("replicas={}", workload.replicas));
}

Json restarted_for(const Json& value) {
  return {{"template", {{"metadata", {{"annotations", {{kRestartedFor, value}}}}}}}};
}

/// Restores the template exactly, because an empty annotations map would make a different template.
Json restarted_before(const Workload& workload, const Mark& mark) {
  const bool others = workload.pod_template.contains(Json::json_pointer("/metadata/annotations"));
  if (!mark.previous.empty()) return restarted_for(mark.previous);
  if (others) return restarted_for(nullptr);
  return {{"template", {{"metadata", {{"annotations", nullptr}}}}}};
}

Mark new_mark(const EvictorContext& context, const SurgeState& view, Mode mode) {
  Mark mark;
  mark.token = context.token();
  mark.evacuation = context.evacuation.meta.name;
  mark.mode = mode;
  mark.from = view.workload.replicas;
  mark.to = mode == Mode::kExtraReplica ? mark.from + 1 : mark.from;
  mark.previous = view.workload.restarted_for;
  for (const api::Pod& pod : view.pods) mark.before.insert(pod.meta.uid.substr(0, 8));
  return mark;
}

/// Restores the previous replica count unless another client has set a different one, which takes precedence.
Action end_extra_replica(const SurgeState& view, const Mark& mark, ActionRole role, std::string_view name) {
  const bool still_ours = view.workload.replicas == mark.to;
  return workload_patch(view.workload, role, name, {{kMark, nullptr}},
                        still_ours ? Json{{"replicas", mark.from}} : Json::object());
}

/// Restores the old template, so that the old ReplicaSet with the leaving pod becomes the current one again. Keeps the
/// template if another client has changed it, or if the pod is already gone.
Action end_restart(const SurgeState& view, const Mark& mark, bool revert, ActionRole role, std::string_view name) {
  const auto& workload = view.workload;
  const bool still_ours = workload.restarted_for == mark.token && !view.old_template.is_null() &&
                          view.old_template == workload.pod_template;
  return workload_patch(workload, role, name, {{kMark, nullptr}},
                        revert && still_ours ? restarted_before(workload, mark) : Json::object());
}

/// Returns the surplus pod to mark. A ready surplus pod needs the mark, because scaling down might delete another pod.
const api::Pod* surplus_to_mark(const EvictorContext& context, const SurgeState& view, const Mark& mark,
                                std::string_view keep) {
  const api::Pod* chosen = nullptr;
  const auto& source = context.evacuation.spec.node_name;
  const auto rank = [&](const api::Pod& pod) {
    return std::tuple(source.empty() || pod.node_name != source, base::TimePoint{} - pod.meta.creation_timestamp);
  };
  for (const api::Pod& pod : view.pods) {
    if (!is_new(mark, pod) || pod.uid() == context.evacuation.spec.pod_ref.uid || pod.meta.uid == keep) continue;
    if (!pod.is_ready()) return nullptr;  // an unready pod is deleted first anyway
    if (!chosen || rank(pod) < rank(*chosen)) chosen = &pod;
  }
  const bool marked = chosen && chosen->meta.annotations.value(kDeletionCost) == kSurplusCost;
  return marked ? nullptr : chosen;
}

Action mark_surplus(const api::Pod& pod, ActionRole role) {
  const Json patch = {{"metadata",
                       {{"uid", pod.meta.uid},
                        {"resourceVersion", pod.meta.resource_version},
                        {"annotations", {{kDeletionCost, kSurplusCost}}}}}};
  return make_action(role, kMarkSurplus,
                     kube::patch_request(kube::kPods, pod.meta.key(), kube::PatchType::kMerge, patch));
}

}  // namespace

Mode mode_of(const EvictorContext& context) {
  return parse_mode(context.evacuation.status.adapter).value_or(Mode::kExtraReplica);
}

bool is_ours(const EvictorContext& context, const SurgeState& view) {
  return view.has(ReadResult::kYes) && view.workload.mark && view.workload.mark->token == context.token();
}

bool was_begun(const EvictorContext& context) {
  return !context.ref(kRefMarked).empty() || context.intent(kBegin) || context.intent(kEnd) ||
         context.intent(kMarkSurplus);
}

Action begin_action(const EvictorContext& context, const SurgeState& view, ActionRole role) {
  const Mark mark = new_mark(context, view, mode_of(context));
  Json spec = mark.mode == Mode::kExtraReplica ? Json{{"replicas", mark.to}} : restarted_for(mark.token);
  Action action = workload_patch(view.workload, role, kBegin, {{kMark, encode(mark)}}, std::move(spec));
  if (context.dry_run()) kube::append_query(action.request.query, "dryRun", "All");
  return action;
}

Action end_action(const EvictorContext& context, const SurgeState& view, ActionRole role, std::string_view keep) {
  const Mark& mark = *view.workload.mark;
  const bool undoing = keep.empty() && context.pod && !context.pod->meta.is_terminating();
  if (mark.mode == Mode::kRollingRestart) return end_restart(view, mark, undoing, role, kEnd);
  const bool scales_down = view.workload.replicas == mark.to && mark.to > mark.from;
  if (scales_down && view.pods_known) {
    if (const api::Pod* surplus = surplus_to_mark(context, view, mark, keep)) return mark_surplus(*surplus, role);
  }
  return end_extra_replica(view, mark, role, kEnd);
}

std::string missing(const EvictorContext& context, const SurgeState& view) {
  const Workload& workload = view.workload;
  const Mark& mark = *workload.mark;
  if (mark.mode == Mode::kRollingRestart)
    return fmt::format("the rolling restart of {}: its owner deletes the pod", workload.title());
  if (!view.pods_known) return fmt::format("the pods of {} to be read", workload.title());
  if (workload.paused) return fmt::format("{} to be resumed: it is paused", workload.title());
  const auto found = replacement_in(view, mark, context.evacuation.spec.pod_ref.uid, context.evacuation.spec.node_name);
  if (!found.best) return fmt::format("{} to create the surge pod", workload.title());
  if (!found.best->is_ready()) {
    const std::string why = unschedulable_because(*found.best);
    return fmt::format("pod {} to be ready{}{}", found.best->meta.name, why.empty() ? "" : ": ", why);
  }
  if (found.ready_others < mark.from)
    return fmt::format("{} ready pods besides the leaving one; there are {}", mark.from, found.ready_others);
  if (!workload.settled()) return fmt::format("the rollout of {} to end", workload.title());
  const bool counts = context.pod->is_ready();
  if (workload.min_ready_seconds > 0 && workload.available_replicas < mark.from + (counts ? 1 : 0))
    return fmt::format("pod {} to be ready for {} s (minReadySeconds)", found.best->meta.name,
                       workload.min_ready_seconds);
  return {};
}

std::string why_not_now(const SurgeState& view) {
  const Workload& workload = view.workload;
  if (workload.paused) return fmt::format("{} to be resumed: it is paused", workload.title());
  if (!workload.settled()) return fmt::format("the rollout or scaling of {} to end", workload.title());
  if (!view.pods_known) return fmt::format("the pods of {} to be read", workload.title());
  return {};
}

std::optional<RemoteFailure> failure_of(const EvictorContext& context, const SurgeState& view) {
  if (!was_begun(context) || context.phase() == EvacuationPhase::kPreparing) return std::nullopt;
  if (view.has(ReadResult::kGone)) return RemoteFailure{"WorkloadGone", "the pod's workload was deleted"};
  if (!view.has(ReadResult::kYes)) return std::nullopt;
  const Workload& workload = view.workload;
  if (!is_ours(context, view)) {
    return RemoteFailure{"MarkRemoved",
                         fmt::format("annotation {} was removed from {} by another client", kMark, workload.title())};
  }
  const Mark& mark = *workload.mark;
  if (mark.mode == Mode::kExtraReplica && workload.replicas < mark.to) {
    return RemoteFailure{"ScaledMeanwhile",
                         fmt::format("{} was scaled to {} by another client, and keeps that number of replicas",
                                     workload.title(), workload.replicas)};
  }
  const auto found = replacement_in(view, mark, context.evacuation.spec.pod_ref.uid, context.evacuation.spec.node_name);
  const bool only_there = found.misplaced && !found.best;
  const bool one_counts = mark.mode == Mode::kExtraReplica || mark.from == 1;
  if (!only_there || !one_counts) return std::nullopt;
  return RemoteFailure{"LandedOnSourceNode",
                       fmt::format("pod {} was scheduled to node {}, which this pod is to leave; cordon the node first",
                                   found.misplaced->meta.name, found.misplaced->node_name.value),
                       true};
}

const api::Pod* find_replacement(const EvictorContext& context, const SurgeState& view) {
  const api::Pod* best = nullptr;
  const auto rank = [&](const api::Pod& pod) {
    const bool known = pod.meta.uid == context.ref(kRefReplacement);
    const bool back = pod.node_name == context.evacuation.spec.node_name;
    return std::tuple(!known, back, base::TimePoint{} - pod.meta.creation_timestamp, std::string_view(pod.meta.name));
  };
  for (const api::Pod& pod : view.pods) {
    if (!pod.is_ready() || pod.uid() == context.evacuation.spec.pod_ref.uid) continue;
    if (!best || rank(pod) < rank(*best)) best = &pod;
  }
  return best;
}

Verification verification_of(const EvictorContext& context, const SurgeState& view) {
  const auto before = std::atoi(std::string(context.ref(kRefReplicas)).c_str());
  const std::int32_t wanted = std::min(view.workload.replicas, before);
  const auto ready = std::ranges::count_if(view.pods, &api::Pod::is_ready);
  Verification verification;
  verification.state = Verification::State::kPending;
  verification.message = fmt::format("{} of {} pods of {} are ready", ready, wanted, view.workload.title());
  if (!view.pods_known || ready < wanted) return verification;
  const api::Pod* pod = find_replacement(context, view);
  if (!pod) return {.state = Verification::State::kNotExpected, .message = view.workload.title() + " is scaled to 0"};
  verification.state = Verification::State::kArrived;
  verification.message = fmt::format("{} on node {}", pod->meta.name, pod->node_name.value);
  const auto& known = context.evacuation.status.outcome;
  const bool same = known && known->replacement && known->replacement->uid == pod->meta.uid;
  verification.replacement = api::EvacuationReplacement{
      pod->meta.name, pod->meta.uid, pod->node_name, same ? known->replacement->ready_at : std::optional(context.now)};
  return verification;
}

Action release_action(const SurgeState& view) {
  const Mark& mark = *view.workload.mark;
  if (mark.mode == Mode::kExtraReplica) return end_extra_replica(view, mark, ActionRole::kPrepare, kReleaseOrphan);
  return end_restart(view, mark, false, ActionRole::kPrepare, kReleaseOrphan);
}

}  // namespace evictors::surge
