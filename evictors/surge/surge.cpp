#include "evictors/surge/surge.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "evictors/classify.hpp"
#include "evictors/eviction_call.hpp"
#include "evictors/surge/probe.hpp"
#include "evictors/surge/steps.hpp"
#include "evictors/timeouts.hpp"

namespace evictors {
namespace surge {
namespace {

using api::EvacuationPhase;

Plan wait_for(std::string why) { return {Next::kWait, {}, "waits for " + std::move(why)}; }
Plan act_on(Action action) { return {Next::kAct, std::move(action), {}}; }

/// Another surge's mark is on the workload.
Plan plan_beside_another(const Context& context, const View& view) {
  const auto& mark = view.workload.mark;
  if (!mark) {
    return wait_for(fmt::format("annotation {} of {}, which cannot be read, to be removed by a person", kMark,
                                view.workload.title()));
  }
  if (!holder_ended(context, *mark))
    return wait_for(fmt::format("Evacuation {}, which surges {}", mark->evacuation, view.workload.title()));
  return act_on(release_action(view));
}

Plan plan_preparing(const Context& context, const View& view) {
  if (is_ours(context, view)) return {Next::kProceed, {}, {}};
  if (!view.has(Found::kYes)) return wait_for("the pod's workload to be readable: " + view.problem);
  if (view.workload.marked) return plan_beside_another(context, view);
  if (std::string why = not_now(view); !why.empty()) return wait_for(std::move(why));
  return act_on(begin_action(context, view, ActionRole::kPrepare));
}

void observe_replacement(const Context& context, const View& view, Observation& seen) {
  const Mark& mark = *view.workload.mark;
  const auto found = replacement_in(view, mark, context.evacuation.spec.pod_ref.uid, context.evacuation.spec.node_name);
  seen.progress = 10;
  if (!found.best) return;
  seen.target = found.best->node_name;
  seen.progress = found.best->is_ready() ? 90 : found.best->node_name.empty() ? 25 : 50;
  if (found.best->is_ready()) seen.refs.emplace_back(kRefReplacement, found.best->meta.uid);
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
}  // namespace surge

using surge::View;

api::FieldErrors Surge::validate(const std::vector<std::pair<std::string, std::string>>& parameters,
                                 const api::FieldPath& path) const {
  api::FieldErrors errors =
      check_parameters(parameters, path, {surge::kParameterMode, surge::kParameterWhen, kRequestedBy});
  for (const auto& [name, value] : parameters) {
    if (name == surge::kParameterMode && !surge::in(value, {"Auto", "ExtraReplica", "RollingRestart"}))
      errors.push_back(
          {path.field(name).text(), fmt::format("must be Auto, ExtraReplica or RollingRestart, not {}", value)});
    if (name == surge::kParameterWhen && !surge::in(value, {"Outage", "Always"}))
      errors.push_back({path.field(name).text(), fmt::format("must be Outage or Always, not {}", value)});
  }
  return errors;
}

std::vector<Read> Surge::reads(const Context& context) const {
  const api::EvacuationPhase phase = context.evacuation.status.phase;
  const bool between = phase == api::EvacuationPhase::kPending || phase == api::EvacuationPhase::kBackoff;
  const bool chosen = context.evacuation.status.evictor == kName && !between;  // else the next attempt chooses again
  if (!context.pod && context.ref(surge::kRefName).empty()) return {};
  if (context.pod && context.pod->is_terminal() && !chosen) return {};
  return surge::wanted_reads(context, !chosen);
}

Probe Surge::probe(const Context& context) const {
  const View view = surge::view_of(context);
  Probe probe;
  if (context.evacuation.status.evictor == kName) {  // chosen before: what holds now is observe()'s business
    probe.adapter = context.evacuation.status.adapter;
  } else {
    const surge::Choice choice = surge::choose(context, view);
    probe.support = choice.mode ? Support::kSupported : Support::kUnsupported;
    if (choice.unknown) {  // a blip must not lead to a plain eviction
      probe.support = Support::kUnavailable;
      probe.until = context.now + poll_interval(context);
      probe.hold = true;
    }
    if (choice.mode) probe.adapter = to_string(*choice.mode);
    probe.reason = choice.why_not;
  }
  probe.total = surge::total_of(context, view);
  return probe;
}

bool Surge::needs_capacity(const Context& context) const {
  const api::OwnerReference* owner = context.pod->meta.controller();
  if (!owner || owner->kind != "ReplicaSet") return false;
  const surge::Choice choice = surge::choose(context, surge::view_of(context));
  return choice.mode || choice.unknown;
}

Plan Surge::plan(const Context& context) const {
  const View view = surge::view_of(context);
  if (context.evacuation.spec.dry_run) {
    if (context.evacuation.status.phase == api::EvacuationPhase::kPreparing) return {Next::kProceed, {}, {}};
    if (!view.has(surge::Found::kYes)) return surge::wait_for("the pod's workload to be readable: " + view.problem);
    return surge::act_on(surge::begin_action(context, view, ActionRole::kRequest));
  }
  if (context.evacuation.status.phase == api::EvacuationPhase::kPreparing) return surge::plan_preparing(context, view);
  if (!surge::is_ours(context, view)) return surge::wait_for("the pod's workload to be readable: " + view.problem);
  std::string why = surge::missing(context, view);
  return why.empty() ? surge::act_on(post_eviction(context)) : surge::wait_for(std::move(why));
}

Observation Surge::observe(const Context& context) const {
  Observation seen;
  if (context.evacuation.spec.dry_run) return seen;
  const View view = surge::view_of(context);
  seen.failed = surge::what_failed(context, view);
  if (!view.has(surge::Found::kYes)) return seen;
  const surge::Workload& workload = view.workload;
  seen.refs = {{std::string(surge::kRefKind), std::string(workload.type.kind)},
               {std::string(surge::kRefName), workload.meta.name},
               {std::string(surge::kRefUid), workload.meta.uid}};
  if (!surge::is_ours(context, view)) return seen;
  seen.requested = true;
  seen.acknowledged = workload.observed_generation >= workload.meta.generation;
  seen.refs.emplace_back(surge::kRefReplicas, std::to_string(workload.mark->from));
  seen.refs.emplace_back(surge::kRefMarked, "true");
  surge::observe_replacement(context, view, seen);
  seen.ready = !seen.failed && surge::missing(context, view).empty();
  return seen;
}

Verdict Surge::classify(const Context& context, const Action& action, const Answer& answer) const {
  if (action.name == kPostEviction) return classify_eviction(answer);
  Verdict verdict = classify_patch(answer);
  if (verdict.answer == ResponseClass::kForbidden)
    verdict.message += " (config/surge has the optional role of this evictor)";
  if (action.name != surge::kBegin || verdict.answer != ResponseClass::kApplied) return verdict;
  if (context.evacuation.spec.dry_run) {
    verdict.answer = ResponseClass::kAcceptedInBackground;  // the end of a dry run
    return verdict;
  }
  verdict.refs.emplace_back(surge::kRefMarked, "true");
  return verdict;
}

std::optional<Action> Surge::departing(const Context& context) const {
  const View view = surge::view_of(context);
  if (!surge::is_ours(context, view) || view.workload.mark->mode != surge::Mode::kExtraReplica) return std::nullopt;
  return surge::end_action(context, view, ActionRole::kCleanUp, context.ref(surge::kRefReplacement));
}

Arrival Surge::verify(const Context& context) const {
  if (context.ref(surge::kRefName).empty()) return {};
  const View view = surge::view_of(context);
  Arrival arrival;
  if (view.has(surge::Found::kGone)) {
    arrival.state = Arrival::State::kNotExpected;
    arrival.message = "the pod's workload was deleted";
    return arrival;
  }
  if (!view.has(surge::Found::kYes)) {
    arrival.state = Arrival::State::kPending;
    arrival.message = view.problem;
    arrival.unfinished = true;
    return arrival;
  }
  arrival = surge::arrival_of(context, view);
  if (!surge::is_ours(context, view)) return arrival;
  const api::Pod* keep = surge::took_over(context, view);
  arrival.action = surge::end_action(context, view, ActionRole::kCleanUp, keep ? std::string_view(keep->meta.uid) : "");
  arrival.unfinished = true;
  return arrival;
}

std::vector<Action> Surge::undo(const Context& context) const {
  const View view = surge::view_of(context);
  if (context.evacuation.spec.dry_run || !surge::is_ours(context, view)) return {};
  return {surge::end_action(context, view, ActionRole::kUndo, {})};
}

Rollback Surge::undone(const Context& context) const {
  if (context.evacuation.spec.dry_run) return Rollback::kNothingToDo;
  const View view = surge::view_of(context);
  if (surge::is_ours(context, view)) return Rollback::kPending;
  const bool begun = surge::was_begun(context);
  if (!begun) return Rollback::kNothingToDo;
  if (view.has(surge::Found::kUnreadable) || view.has(surge::Found::kNotRead))
    return view.hopeless ? Rollback::kComplete : Rollback::kPending;
  // A patch whose answer was lost may still be on its way.
  const auto& intent = context.evacuation.status.intent;
  const bool on_its_way =
      surge::intent_was(context, surge::kBegin) && !intent->resolved && context.now < intent->time + kCallTimeout;
  return on_its_way ? Rollback::kPending : Rollback::kComplete;
}

std::vector<Action> Surge::cleanup(const Context& context) const {
  const View view = surge::view_of(context);
  if (context.evacuation.spec.dry_run || !surge::is_ours(context, view)) return {};
  return {surge::end_action(context, view, ActionRole::kCleanUp, {})};
}

}  // namespace evictors
