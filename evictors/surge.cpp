#include "evictors/surge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "evictors/classify.hpp"
#include "evictors/eviction_call.hpp"
#include "evictors/surge_probe.hpp"
#include "evictors/surge_view.hpp"
#include "evictors/timeouts.hpp"
#include "kube/escape.hpp"
#include "kube/request.hpp"

namespace evictors {
namespace {

using api::EvacuationPhase;
using api::Json;
using surge::Found;
using surge::Mark;
using surge::Mode;
using surge::View;

constexpr std::string_view kBegin = "BeginSurge";
constexpr std::string_view kEndSurge = "EndSurge";
constexpr std::string_view kReleaseOrphan = "ReleaseOrphanedSurge";
constexpr std::string_view kMarkSurplus = "MarkSurplusPod";
/// Lower than any sane owner's: the ReplicaSet takes this pod first.
constexpr const char* kSurplusCost = "-1000000";

const std::string& surge_token(const Context& context) { return context.evacuation.status.token; }

Mode mode_of(const Context& context) {
  return surge::parse_mode(context.evacuation.status.adapter).value_or(Mode::kExtraReplica);
}

bool is_ours(const Context& context, const View& view) {
  return view.has(Found::kYes) && view.workload.mark && view.workload.mark->token == surge_token(context);
}

bool intent_was(const Context& context, std::string_view action) {
  const auto& intent = context.evacuation.status.intent;
  return intent && intent->token == surge_token(context) && intent->action == action;
}

/// Was the surge begun, as far as we know?
bool was_begun(const Context& context) {
  return !context.ref(surge::kRefMarked).empty() || intent_was(context, kBegin) || intent_was(context, kEndSurge) ||
         intent_was(context, kMarkSurplus);
}

/// A patch of exactly this state of this very workload.
Action workload_patch(const surge::Workload& workload, ActionRole role, std::string_view name, Json annotations,
                      Json spec) {
  Json patch = {{"metadata",
                 {{"uid", workload.meta.uid},
                  {"resourceVersion", workload.meta.resource_version},
                  {"annotations", std::move(annotations)}}}};
  if (!spec.empty()) patch["spec"] = std::move(spec);
  Action action;
  action.role = role;
  action.name = name;
  action.request = kube::patch_request(workload.type, workload.meta.key(), kube::PatchType::kMerge, patch);
  action.pre_state = fmt::format("replicas={}", workload.replicas);
  return action;
}

Json restarted_for(const Json& value) {
  return {{"template", {{"metadata", {{"annotations", {{surge::kRestartedFor, value}}}}}}}};
}

Mark new_mark(const Context& context, const View& view, Mode mode) {
  Mark mark;
  mark.token = surge_token(context);
  mark.evacuation = context.evacuation.meta.name;
  mark.mode = mode;
  mark.from = view.workload.replicas;
  mark.to = mode == Mode::kExtraReplica ? mark.from + 1 : mark.from;
  mark.previous = view.workload.restarted_for;
  for (const api::Pod& pod : view.pods) mark.before.insert(pod.meta.uid.substr(0, 8));
  return mark;
}

Action begin_action(const Context& context, const View& view, ActionRole role) {
  const Mark mark = new_mark(context, view, mode_of(context));
  Json spec = mark.mode == Mode::kExtraReplica ? Json{{"replicas", mark.to}} : restarted_for(mark.token);
  Action action = workload_patch(view.workload, role, kBegin, {{surge::kMark, encode(mark)}}, std::move(spec));
  if (context.evacuation.spec.dry_run) kube::append_query(action.request.query, "dryRun", "All");
  return action;
}

/// Puts the number back that we found, unless somebody has set another one meanwhile: theirs wins.
Action end_extra_replica(const View& view, const Mark& mark, ActionRole role, std::string_view name) {
  const bool still_ours = view.workload.replicas == mark.to;
  return workload_patch(view.workload, role, name, {{surge::kMark, nullptr}},
                        still_ours ? Json{{"replicas", mark.from}} : Json::object());
}

/// Back to the old template, so that the old ReplicaSet with the leaving pod is the wanted one again; unless somebody
/// has changed the template meanwhile, or the pod is already gone.
Action end_restart(const View& view, const Mark& mark, bool revert, ActionRole role, std::string_view name) {
  const auto& workload = view.workload;
  const bool still_ours = workload.restarted_for == mark.token && !view.old_template.is_null() &&
                          view.old_template == workload.pod_template;
  const Json previous = mark.previous.empty() ? Json(nullptr) : Json(mark.previous);
  return workload_patch(workload, role, name, {{surge::kMark, nullptr}},
                        revert && still_ours ? restarted_for(previous) : Json::object());
}

/// The surplus pod that a smaller number would not surely take: it is ready, like the others.
const api::Pod* surplus_to_mark(const Context& context, const View& view, const Mark& mark, std::string_view keep) {
  const api::Pod* chosen = nullptr;
  const auto& source = context.evacuation.spec.node_name;
  const auto rank = [&](const api::Pod& pod) {
    return std::tuple(source.empty() || pod.node_name != source, base::TimePoint{} - pod.meta.creation_timestamp);
  };
  for (const api::Pod& pod : view.pods) {
    if (!is_new(mark, pod) || pod.uid() == context.evacuation.spec.pod_ref.uid || pod.meta.uid == keep) continue;
    if (!pod.is_ready()) return nullptr;  // an unready one goes first anyway
    if (!chosen || rank(pod) < rank(*chosen)) chosen = &pod;
  }
  const bool marked = chosen && chosen->meta.annotations.value(surge::kDeletionCost) == kSurplusCost;
  return marked ? nullptr : chosen;
}

Action mark_surplus(const api::Pod& pod, ActionRole role) {
  const Json patch = {{"metadata",
                       {{"uid", pod.meta.uid},
                        {"resourceVersion", pod.meta.resource_version},
                        {"annotations", {{surge::kDeletionCost, kSurplusCost}}}}}};
  Action action;
  action.role = role;
  action.name = kMarkSurplus;
  action.request = kube::patch_request(kube::kPods, pod.meta.key(), kube::PatchType::kMerge, patch);
  return action;
}

/// The next call on the way back to the workload as it was. REQUIRES: our mark is there. `keep`: uid of the pod that
/// took over; empty: the surge is taken back, all that it made goes.
Action end_action(const Context& context, const View& view, ActionRole role, std::string_view keep) {
  const Mark& mark = *view.workload.mark;
  const bool undoing = keep.empty() && context.pod && !context.pod->meta.is_terminating();
  if (mark.mode == Mode::kRollingRestart) return end_restart(view, mark, undoing, role, kEndSurge);
  const bool scales_down = view.workload.replicas == mark.to && mark.to > mark.from;
  if (scales_down && view.pods_known) {
    if (const api::Pod* surplus = surplus_to_mark(context, view, mark, keep)) return mark_surplus(*surplus, role);
  }
  return end_extra_replica(view, mark, role, kEndSurge);
}

// --- waiting for the replacement

/// What still has to happen before the pod may be evicted; empty: nothing.
std::string missing(const Context& context, const View& view) {
  const surge::Workload& workload = view.workload;
  const Mark& mark = *workload.mark;
  if (mark.mode == Mode::kRollingRestart)
    return fmt::format("the rolling restart of {}: its owner ends the pod", workload.title());
  if (!view.pods_known) return fmt::format("the pods of {} to be read", workload.title());
  if (workload.paused) return fmt::format("{} to be resumed: it is paused", workload.title());
  const auto found = replacement_in(view, mark, context.evacuation.spec.pod_ref.uid, context.evacuation.spec.node_name);
  if (!found.best) return fmt::format("{} to make the extra pod", workload.title());
  if (!found.best->is_ready()) {
    const std::string why = unschedulable_because(*found.best);
    return fmt::format("pod {} to be ready{}{}", found.best->meta.name, why.empty() ? "" : ": ", why);
  }
  if (found.ready_others < mark.from)
    return fmt::format("{} ready pods beside the leaving one; there are {}", mark.from, found.ready_others);
  if (!workload.settled()) return fmt::format("the rollout of {} to end", workload.title());
  const bool counts = context.pod->is_ready();
  if (workload.min_ready_seconds > 0 && workload.available_replicas < mark.from + (counts ? 1 : 0))
    return fmt::format("pod {} to be ready for {} s (minReadySeconds)", found.best->meta.name,
                       workload.min_ready_seconds);
  return {};
}

/// Why this is not the moment to begin; empty: it is.
std::string not_now(const View& view) {
  const surge::Workload& workload = view.workload;
  if (workload.paused) return fmt::format("{} to be resumed: it is paused", workload.title());
  if (!workload.settled()) return fmt::format("the rollout or scaling of {} to end", workload.title());
  if (!view.pods_known) return fmt::format("the pods of {} to be read", workload.title());
  return {};
}

Plan wait_for(std::string why) { return {Next::kWait, {}, "waits for " + std::move(why)}; }
Plan act_on(Action action) { return {Next::kAct, std::move(action), {}}; }

/// Another surge's mark is on the workload.
Plan plan_beside_another(const Context& context, const View& view) {
  const auto& mark = view.workload.mark;
  if (!mark) {
    return wait_for(fmt::format("annotation {} of {}, which cannot be read, to be removed by a person", surge::kMark,
                                view.workload.title()));
  }
  if (!holder_ended(context, *mark))
    return wait_for(fmt::format("Evacuation {}, which surges {}", mark->evacuation, view.workload.title()));
  return act_on(mark->mode == Mode::kExtraReplica
                    ? end_extra_replica(view, *mark, ActionRole::kPrepare, kReleaseOrphan)
                    : end_restart(view, *mark, false, ActionRole::kPrepare, kReleaseOrphan));
}

Plan plan_preparing(const Context& context, const View& view) {
  if (is_ours(context, view)) return {Next::kProceed, {}, {}};
  if (!view.has(Found::kYes)) return wait_for("the pod's workload to be readable: " + view.problem);
  if (view.workload.marked) return plan_beside_another(context, view);
  if (std::string why = not_now(view); !why.empty()) return wait_for(std::move(why));
  return act_on(begin_action(context, view, ActionRole::kPrepare));
}

RemoteFailure surge_failed(std::string reason, std::string message, bool retryable) {
  RemoteFailure failure;
  failure.reason = std::move(reason);
  failure.message = std::move(message);
  failure.retryable = retryable;
  return failure;
}

std::optional<RemoteFailure> what_failed(const Context& context, const View& view) {
  if (!was_begun(context) || context.evacuation.status.phase == EvacuationPhase::kPreparing) return std::nullopt;
  if (view.has(Found::kGone)) return surge_failed("WorkloadGone", "the pod's workload was deleted", false);
  if (!view.has(Found::kYes)) return std::nullopt;
  const surge::Workload& workload = view.workload;
  if (!is_ours(context, view)) {
    return surge_failed("MarkRemoved",
                        fmt::format("somebody removed annotation {} from {}", surge::kMark, workload.title()), false);
  }
  const Mark& mark = *workload.mark;
  if (mark.mode == Mode::kExtraReplica && workload.replicas < mark.to) {
    return surge_failed(
        "ScaledMeanwhile",
        fmt::format("somebody scaled {} to {}, and that number stays", workload.title(), workload.replicas), false);
  }
  const auto found = replacement_in(view, mark, context.evacuation.spec.pod_ref.uid, context.evacuation.spec.node_name);
  const bool only_there = found.misplaced && !found.best;
  const bool one_counts = mark.mode == Mode::kExtraReplica || mark.from == 1;
  if (!only_there || !one_counts) return std::nullopt;
  return surge_failed("LandedOnSourceNode",
                      fmt::format("pod {} was put on node {}, which this pod is to leave; cordon the node first",
                                  found.misplaced->meta.name, found.misplaced->node_name.value),
                      true);
}

void observe_replacement(const Context& context, const View& view, Observation& seen) {
  const Mark& mark = *view.workload.mark;
  const auto found = replacement_in(view, mark, context.evacuation.spec.pod_ref.uid, context.evacuation.spec.node_name);
  seen.progress = 10;
  if (!found.best) return;
  seen.target = found.best->node_name;
  seen.progress = found.best->is_ready() ? 90 : found.best->node_name.empty() ? 25 : 50;
  if (found.best->is_ready()) seen.refs.emplace_back(surge::kRefReplacement, found.best->meta.uid);
}

// --- after the pod left

const api::Pod* took_over(const Context& context, const View& view) {
  const api::Pod* best = nullptr;
  const auto rank = [&](const api::Pod& pod) {
    const bool known = pod.meta.uid == context.ref(surge::kRefReplacement);
    const bool back = pod.node_name == context.evacuation.spec.node_name;
    return std::tuple(!known, back, base::TimePoint{} - pod.meta.creation_timestamp, std::string_view(pod.meta.name));
  };
  for (const api::Pod& pod : view.pods) {
    if (!pod.is_ready() || pod.uid() == context.evacuation.spec.pod_ref.uid) continue;
    if (!best || rank(pod) < rank(*best)) best = &pod;
  }
  return best;
}

Arrival arrival_of(const Context& context, const View& view) {
  Arrival arrival;
  const auto before = std::atoi(std::string(context.ref(surge::kRefReplicas)).c_str());
  const std::int32_t wanted = std::min(view.workload.replicas, before);
  const auto ready = std::count_if(view.pods.begin(), view.pods.end(), [](const api::Pod& p) { return p.is_ready(); });
  arrival.state = Arrival::State::kPending;
  arrival.message = fmt::format("{} of {} pods of {} are ready", ready, wanted, view.workload.title());
  if (!view.pods_known || ready < wanted) return arrival;
  const api::Pod* pod = took_over(context, view);
  if (!pod) {
    arrival.state = Arrival::State::kNotExpected;
    arrival.message = view.workload.title() + " is scaled to 0";
    return arrival;
  }
  arrival.state = Arrival::State::kArrived;
  arrival.message = fmt::format("{} on node {}", pod->meta.name, pod->node_name.value);
  const auto& known = context.evacuation.status.outcome;
  const bool same = known && known->replacement && known->replacement->uid == pod->meta.uid;
  arrival.replacement = api::EvacuationReplacement{pod->meta.name, pod->meta.uid, pod->node_name,
                                                   same ? known->replacement->ready_at : std::optional(context.now)};
  return arrival;
}

base::seconds total_of(const Context& context, const View& view) {
  const auto most = context.evacuation.spec.timeouts.total;
  base::seconds patience = view.workload.progress_deadline;
  if (mode_of(context) == Mode::kRollingRestart) patience *= std::clamp(view.workload.replicas, 1, 10);
  return most ? *most : patience;
}

bool in(std::string_view value, std::initializer_list<std::string_view> known) {
  return std::find(known.begin(), known.end(), value) != known.end();
}

}  // namespace

api::FieldErrors Surge::validate(const std::vector<std::pair<std::string, std::string>>& parameters,
                                 const api::FieldPath& path) const {
  api::FieldErrors errors =
      check_parameters(parameters, path, {surge::kParameterMode, surge::kParameterWhen, kRequestedBy});
  for (const auto& [name, value] : parameters) {
    if (name == surge::kParameterMode && !in(value, {"Auto", "ExtraReplica", "RollingRestart"}))
      errors.push_back(
          {path.field(name).text(), fmt::format("must be Auto, ExtraReplica or RollingRestart, not {}", value)});
    if (name == surge::kParameterWhen && !in(value, {"Outage", "Always"}))
      errors.push_back({path.field(name).text(), fmt::format("must be Outage or Always, not {}", value)});
  }
  return errors;
}

std::vector<Read> Surge::reads(const Context& context) const {
  const bool chosen = context.evacuation.status.evictor == kName;
  if (!context.pod && context.ref(surge::kRefName).empty()) return {};
  if (context.pod && context.pod->is_terminal() && !chosen) return {};
  return surge::wanted_reads(context, !chosen);
}

Probe Surge::probe(const Context& context) const {
  const View view = view_of(context);
  Probe probe;
  if (context.evacuation.status.evictor == kName) {  // chosen before: what holds now is observe()'s business
    probe.adapter = context.evacuation.status.adapter;
  } else {
    const surge::Choice choice = choose(context, view);
    probe.support = choice.mode ? Support::kSupported : Support::kUnsupported;
    if (choice.mode) probe.adapter = to_string(*choice.mode);
    probe.reason = choice.why_not;
  }
  probe.total = total_of(context, view);
  return probe;
}

Plan Surge::plan(const Context& context) const {
  const View view = view_of(context);
  if (context.evacuation.spec.dry_run) {
    if (context.evacuation.status.phase == EvacuationPhase::kPreparing) return {Next::kProceed, {}, {}};
    if (!view.has(Found::kYes)) return wait_for("the pod's workload to be readable: " + view.problem);
    return act_on(begin_action(context, view, ActionRole::kRequest));
  }
  if (context.evacuation.status.phase == EvacuationPhase::kPreparing) return plan_preparing(context, view);
  if (!is_ours(context, view)) return wait_for("the pod's workload to be readable: " + view.problem);
  std::string why = missing(context, view);
  return why.empty() ? act_on(post_eviction(context)) : wait_for(std::move(why));
}

Observation Surge::observe(const Context& context) const {
  Observation seen;
  if (context.evacuation.spec.dry_run) return seen;
  const View view = view_of(context);
  seen.failed = what_failed(context, view);
  if (!view.has(Found::kYes)) return seen;
  const surge::Workload& workload = view.workload;
  seen.refs = {{std::string(surge::kRefKind), std::string(workload.type.kind)},
               {std::string(surge::kRefName), workload.meta.name},
               {std::string(surge::kRefUid), workload.meta.uid}};
  if (!is_ours(context, view)) return seen;
  seen.requested = true;
  seen.acknowledged = workload.observed_generation >= workload.meta.generation;
  seen.refs.emplace_back(surge::kRefReplicas, std::to_string(workload.mark->from));
  seen.refs.emplace_back(surge::kRefMarked, "true");
  observe_replacement(context, view, seen);
  seen.ready = !seen.failed && missing(context, view).empty();
  return seen;
}

Verdict Surge::classify(const Context& context, const Action& action, const Answer& answer) const {
  if (action.name == kPostEviction) return classify_eviction(answer);
  Verdict verdict = classify_patch(answer);
  if (verdict.answer == ResponseClass::kForbidden)
    verdict.message += " (config/surge has the optional role of this evictor)";
  if (action.name != kBegin || verdict.answer != ResponseClass::kApplied) return verdict;
  if (context.evacuation.spec.dry_run) {
    verdict.answer = ResponseClass::kAcceptedInBackground;  // the end of a dry run
    return verdict;
  }
  verdict.refs.emplace_back(surge::kRefMarked, "true");
  return verdict;
}

std::optional<Action> Surge::departing(const Context& context) const {
  const View view = view_of(context);
  if (!is_ours(context, view) || view.workload.mark->mode != Mode::kExtraReplica) return std::nullopt;
  return end_action(context, view, ActionRole::kCleanUp, context.ref(surge::kRefReplacement));
}

Arrival Surge::verify(const Context& context) const {
  if (context.ref(surge::kRefName).empty()) return {};
  const View view = view_of(context);
  Arrival arrival;
  if (view.has(Found::kGone)) {
    arrival.state = Arrival::State::kNotExpected;
    arrival.message = "the pod's workload was deleted";
    return arrival;
  }
  if (!view.has(Found::kYes)) {
    arrival.state = Arrival::State::kPending;
    arrival.message = view.problem;
    arrival.unfinished = true;
    return arrival;
  }
  arrival = arrival_of(context, view);
  if (!is_ours(context, view)) return arrival;
  const api::Pod* keep = took_over(context, view);
  arrival.action = end_action(context, view, ActionRole::kCleanUp, keep ? std::string_view(keep->meta.uid) : "");
  arrival.unfinished = true;
  return arrival;
}

std::vector<Action> Surge::undo(const Context& context) const {
  const View view = view_of(context);
  if (context.evacuation.spec.dry_run || !is_ours(context, view)) return {};
  return {end_action(context, view, ActionRole::kUndo, {})};
}

Rollback Surge::undone(const Context& context) const {
  if (context.evacuation.spec.dry_run) return Rollback::kNothingToDo;
  const View view = view_of(context);
  if (is_ours(context, view)) return Rollback::kPending;
  const bool begun = was_begun(context);
  if (!begun) return Rollback::kNothingToDo;
  if (view.has(Found::kUnreadable) || view.has(Found::kNotRead))
    return view.hopeless ? Rollback::kComplete : Rollback::kPending;
  // A patch whose answer was lost may still be on its way.
  const auto& intent = context.evacuation.status.intent;
  const bool on_its_way = intent_was(context, kBegin) && !intent->resolved && context.now < intent->time + kCallTimeout;
  return on_its_way ? Rollback::kPending : Rollback::kComplete;
}

std::vector<Action> Surge::cleanup(const Context& context) const {
  const View view = view_of(context);
  if (context.evacuation.spec.dry_run || !is_ours(context, view)) return {};
  return {end_action(context, view, ActionRole::kCleanUp, {})};
}

}  // namespace evictors
