#include "evictors/surge/surge.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "evictors/classify.hpp"
#include "evictors/eviction_call.hpp"
#include "evictors/surge/steps.hpp"
#include "evictors/timeouts.hpp"

namespace evictors::surge {
namespace {

EvictionStep wait_for(std::string why) { return {NextMove::kWait, {}, "waits for " + std::move(why)}; }
EvictionStep act_on(Action action) { return {NextMove::kAct, std::move(action), {}}; }

/// Plans for a workload that has the mark of another surge.
EvictionStep plan_beside_another(const EvictorContext& context, const SurgeState& view) {
  const auto& mark = view.workload.mark;
  if (!mark) {
    return wait_for(
        fmt::format("annotation {} of {}, which cannot be read, to be removed manually", kMark, view.workload.title()));
  }
  if (!holder_ended(context, *mark))
    return wait_for(fmt::format("Evacuation {}, which surges {}", mark->evacuation, view.workload.title()));
  return act_on(release_action(view));
}

EvictionStep plan_preparing(const EvictorContext& context, const SurgeState& view) {
  if (is_ours(context, view)) return {NextMove::kProceed, {}, {}};
  if (!view.has(ReadResult::kYes)) return wait_for("the pod's workload to be readable: " + view.problem);
  if (view.workload.marked) return plan_beside_another(context, view);
  if (std::string why = why_not_now(view); !why.empty()) return wait_for(std::move(why));
  return act_on(begin_action(context, view, ActionRole::kPrepare));
}

void observe_replacement(const EvictorContext& context, const SurgeState& view, Observation& seen) {
  const Mark& mark = *view.workload.mark;
  const auto found = replacement_in(view, mark, context.evacuation.spec.pod_ref.uid, context.evacuation.spec.node_name);
  seen.progress = 10;
  if (!found.best) return;
  seen.target = found.best->node_name;
  seen.progress = found.best->is_ready() ? 90 : found.best->node_name.empty() ? 25 : 50;
  if (found.best->is_ready()) seen.refs.emplace_back(kRefReplacement, found.best->meta.uid);
}

base::seconds total_of(const EvictorContext& context, const SurgeState& view) {
  base::seconds patience = view.workload.progress_deadline;
  if (mode_of(context) == Mode::kRollingRestart) patience *= std::clamp(view.workload.replicas, 1, 10);
  return context.evacuation.spec.timeouts.total.value_or(patience);
}

}  // namespace

api::FieldErrors SurgeEvictor::validate(const Parameters& parameters, const api::FieldPath& path) const {
  api::FieldErrors errors = check_parameters(parameters, path, {kParameterMode, kParameterWhen, kRequestedBy});
  for (const auto& each : parameters) {
    check_value(each, kParameterMode, {"Auto", "ExtraReplica", "RollingRestart"}, path, errors);
    check_value(each, kParameterWhen, {"Outage", "Always"}, path, errors);
  }
  return errors;
}

std::vector<Read> SurgeEvictor::reads(const EvictorContext& context) const {
  const bool between = api::is_between_attempts(context.phase());
  const bool chosen = context.evacuation.status.evictor == kName && !between;  // the next attempt chooses again
  if (!context.pod && context.ref(kRefName).empty()) return {};
  if (context.pod && context.pod->is_terminal() && !chosen) return {};
  return wanted_reads(context, !chosen);
}

Probe SurgeEvictor::probe(const EvictorContext& context) const {
  const SurgeState view = read_state(context);
  Probe probe;
  if (context.evacuation.status.evictor == kName) {  // chosen before: observe() checks the current state
    probe.adapter = context.evacuation.status.adapter;
  } else {
    const Choice choice = choose(context, view);
    probe.support = choice.mode ? Support::kSupported : Support::kUnsupported;
    if (choice.unknown) {  // a temporary read error must not lead to a plain eviction
      probe.support = Support::kUnavailable;
      probe.until = context.now + DocumentReader::poll_interval(context);
      probe.hold = true;
    }
    if (choice.mode) probe.adapter = to_string(*choice.mode);
    probe.reason = choice.why_not;
  }
  probe.total = total_of(context, view);
  return probe;
}

bool SurgeEvictor::needs_capacity(const EvictorContext& context) const {
  const api::OwnerReference* owner = context.pod->meta.controller();
  if (!owner || owner->kind != "ReplicaSet") return false;
  const Choice choice = choose(context, read_state(context));
  return choice.mode || choice.unknown;
}

EvictionStep SurgeEvictor::plan(const EvictorContext& context) const {
  const SurgeState view = read_state(context);
  if (context.dry_run()) {
    if (context.phase() == EvacuationPhase::kPreparing) return {NextMove::kProceed, {}, {}};
    if (!view.has(ReadResult::kYes)) return wait_for("the pod's workload to be readable: " + view.problem);
    return act_on(begin_action(context, view, ActionRole::kRequest));
  }
  if (context.phase() == EvacuationPhase::kPreparing) return plan_preparing(context, view);
  if (!is_ours(context, view)) return wait_for("the pod's workload to be readable: " + view.problem);
  std::string why = missing(context, view);
  return why.empty() ? act_on(post_eviction(context)) : wait_for(std::move(why));
}

Observation SurgeEvictor::observe(const EvictorContext& context) const {
  Observation seen;
  if (context.dry_run()) return seen;
  const SurgeState view = read_state(context);
  seen.failed = failure_of(context, view);
  if (!view.has(ReadResult::kYes)) return seen;
  const Workload& workload = view.workload;
  seen.refs = {{std::string(kRefKind), std::string(workload.type.kind)},
               {std::string(kRefName), workload.meta.name},
               {std::string(kRefUid), workload.meta.uid}};
  if (!is_ours(context, view)) return seen;
  seen.requested = true;
  seen.acknowledged = workload.observed_generation >= workload.meta.generation;
  seen.refs.emplace_back(kRefReplicas, std::to_string(workload.mark->from));
  seen.refs.emplace_back(kRefMarked, "true");
  observe_replacement(context, view, seen);
  seen.ready = !seen.failed && missing(context, view).empty();
  return seen;
}

Classification SurgeEvictor::classify(const EvictorContext& context, const Action& action,
                                      const CallResult& answer) const {
  if (action.name == kPostEviction) return classify_eviction(answer);
  Classification meaning = classify_patch(answer);
  if (meaning.answer == ResponseClass::kForbidden)
    meaning.message += " (config/surge contains the optional role of this evictor)";
  if (action.name != kBegin || meaning.answer != ResponseClass::kApplied) return meaning;
  if (context.dry_run()) {
    meaning.answer = ResponseClass::kAcceptedInBackground;  // ends a dry run
    return meaning;
  }
  meaning.refs.emplace_back(kRefMarked, "true");
  return meaning;
}

std::optional<Action> SurgeEvictor::departing(const EvictorContext& context) const {
  const SurgeState view = read_state(context);
  if (!is_ours(context, view) || view.workload.mark->mode != Mode::kExtraReplica) return std::nullopt;
  return end_action(context, view, ActionRole::kCleanUp, context.ref(kRefReplacement));
}

Verification SurgeEvictor::verify(const EvictorContext& context) const {
  if (context.ref(kRefName).empty()) return {};
  const SurgeState view = read_state(context);
  if (view.has(ReadResult::kGone))
    return {.state = Verification::State::kNotExpected, .message = "the pod's workload was deleted"};
  if (!view.has(ReadResult::kYes))
    return {.state = Verification::State::kPending, .message = view.problem, .unfinished = true};
  Verification verification = verification_of(context, view);
  if (!is_ours(context, view)) return verification;
  const api::Pod* keep = find_replacement(context, view);
  verification.action = end_action(context, view, ActionRole::kCleanUp, keep ? std::string_view(keep->meta.uid) : "");
  verification.unfinished = true;
  return verification;
}

std::vector<Action> SurgeEvictor::undo(const EvictorContext& context) const {
  const SurgeState view = read_state(context);
  if (context.dry_run() || !is_ours(context, view)) return {};
  return {end_action(context, view, ActionRole::kUndo, {})};
}

Rollback SurgeEvictor::undone(const EvictorContext& context) const {
  if (context.dry_run()) return Rollback::kNothingToDo;
  const SurgeState view = read_state(context);
  if (is_ours(context, view)) return Rollback::kPending;
  if (!was_begun(context)) return Rollback::kNothingToDo;
  if (view.has(ReadResult::kUnreadable) || view.has(ReadResult::kNotRead))
    return view.hopeless ? Rollback::kComplete : Rollback::kPending;
  // A patch whose answer was lost may still arrive.
  const api::EvacuationIntent* begin = context.intent(kBegin);
  const bool on_its_way = begin && !begin->resolved && context.now < begin->time + kCallTimeout;
  return on_its_way ? Rollback::kPending : Rollback::kComplete;
}

std::vector<Action> SurgeEvictor::cleanup(const EvictorContext& context) const {
  const SurgeState view = read_state(context);
  if (context.dry_run() || !is_ours(context, view)) return {};
  return {end_action(context, view, ActionRole::kCleanUp, {})};
}

}  // namespace evictors::surge
