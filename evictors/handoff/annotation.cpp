#include "evictors/handoff/annotation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/meta/well_known.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/reasons.hpp"
#include "evictors/classify.hpp"
#include "evictors/eviction_call.hpp"
#include "evictors/handoff/adapter.hpp"
#include "evictors/handoff/protocol.hpp"
#include "evictors/pod_patch.hpp"
#include "evictors/timeouts.hpp"

namespace evictors::handoff {
namespace {

namespace names = api::well_known;
using api::Json;

constexpr std::string_view kRequestPre = "RequestPre";
constexpr std::string_view kRequestMigrate = "RequestMigrate";
constexpr std::string_view kAbort = "Abort";
constexpr std::string_view kCleanUp = "CleanUp";
constexpr base::seconds kDefaultHandoffTimeout{1800};
/// Time after which an accepted eviction is given up if the pod never shows the in-progress annotation. Upstream
/// uses the same time.
constexpr base::seconds kAssumedInProgress{600};

bool acknowledgement_timed_out(const EvictorContext& context) {
  const auto* seen =
      api::find_condition(context.evacuation.status.conditions, api::ConditionType::kHandoffAcknowledged);
  return seen && seen->reason == api::Reason::kAcknowledgeTimeout;
}

base::seconds handoff_total(const EvictorContext& context, const Capability& capability) {
  const auto most = context.evacuation.spec.timeouts.total;
  if (!capability.timeout) return most.value_or(kDefaultHandoffTimeout);
  return most ? std::min(*most, *capability.timeout) : *capability.timeout;
}

Action request_action(const EvictorContext& context, const Capability& capability, std::string_view phase) {
  const base::TimePoint since = context.evacuation.status.in_progress_since.value_or(context.now);
  Json annotations = {{names::kHandoffRequest, context.token()},
                      {names::kHandoffRequestPhase, phase},
                      {names::kHandoffRequestDeadline, base::format_time(since + handoff_total(context, capability))},
                      {names::kHandoffRequestReason, handoff_reason(context.evacuation.spec)},
                      {names::kHandoffAbort, nullptr}};  // from an earlier attempt
  const bool pre = phase == "pre";
  return patch_pod_annotations(context, pre ? ActionRole::kPrepare : ActionRole::kRequest,
                               pre ? kRequestPre : kRequestMigrate, std::move(annotations));
}

EvictionStep final_call(const EvictorContext& context, const Capability& capability) {
  return capability.strict ? evict_as_seen(context) : evict_now(context);
}

EvictionStep plan_preparing(const EvictorContext& context, const Capability& capability) {
  if (context.dry_run() || !capability.pre || acknowledgement_timed_out(context)) return {NextMove::kProceed, {}};
  const Signs state = read_signs(*context.pod, context.token());
  if (!state.requested) return act_now(request_action(context, capability, "pre"));
  return {state.pre_done ? NextMove::kProceed : NextMove::kWait, {}};
}

bool in_background(const EvictorContext& context) {
  return wants_background(*context.pod) && context.pod->meta.annotations.contains(names::kEvictionInProgress);
}

/// Returns true if the owner took over the last eviction call of this attempt.
bool accepted_in_background(const EvictorContext& context) {
  const api::EvacuationIntent* intent = context.intent();
  return in_background(context) || (intent && intent->result == to_string(ResponseClass::kAcceptedInBackground));
}

EvictionStep plan_handoff(const EvictorContext& context, const Capability& capability) {
  if (context.phase() == EvacuationPhase::kPreparing) return plan_preparing(context, capability);
  if (accepted_in_background(context)) return {NextMove::kWait, {}};
  const Signs state = read_signs(*context.pod, context.token());
  const bool alone = context.dry_run() || (acknowledgement_timed_out(context) && !capability.required);
  if (alone || (!capability.migrate && !state.failed)) return final_call(context, capability);
  if (!state.requested || state.request_phase != "migrate") {
    return act_now(request_action(context, capability, "migrate"));
  }
  if (state.ready && !state.failed && !state.abort_written && !capability.owner_evicts)
    return final_call(context, capability);
  return {NextMove::kWait, {}};
}

EvictionStep plan_background(const EvictorContext& context) {
  if (context.phase() == EvacuationPhase::kPreparing) return {NextMove::kProceed, {}};
  const bool watching = context.phase() == EvacuationPhase::kInProgress;
  if (!context.dry_run() && (watching || in_background(context))) return {NextMove::kWait, {}};
  return act_now(post_eviction(context));
}

Observation observe_background(const EvictorContext& context) {
  const api::EvacuationStatus& status = context.evacuation.status;
  Observation seen;
  seen.requested = seen.acknowledged = in_background(context);
  if (seen.requested) return seen;
  const bool assumed_too_long =
      status.in_progress_since && context.now - *status.in_progress_since >= kAssumedInProgress;
  seen.vanished = api::is_true(status.conditions, api::ConditionType::kHandoffAcknowledged) || assumed_too_long ||
                  !wants_background(*context.pod);
  return seen;
}

/// Returns true if the last call of this attempt wrote the request to the pod. Other calls, such as a hook's, give no
/// information about it.
bool request_was_written(const EvictorContext& context) {
  const api::EvacuationIntent* pre = context.intent(kRequestPre);
  const api::EvacuationIntent* asked = pre ? pre : context.intent(kRequestMigrate);
  return asked && asked->resolved && asked->result == to_string(ResponseClass::kApplied);
}

Observation observe_handoff(const EvictorContext& context) {
  const Signs state = read_signs(*context.pod, context.token());
  Observation seen;
  seen.requested = state.requested;
  seen.acknowledged = state.acknowledged;
  seen.ready = state.ready && !state.failed;
  seen.failed = state.failed;
  seen.alive = state.alive;
  seen.progress = state.progress;
  seen.expected_completion = state.expected_completion;
  // Another client removed the request while the owner was working, so this attempt cannot complete.
  seen.vanished = request_was_written(context) && !state.requested;
  return seen;
}

/// Returns true if `key` carries this Evacuation's UID from any attempt, so that Evacuator may remove it.
bool is_ours(const EvictorContext& context, std::string_view key) {
  return is_our_token(context, context.pod->meta.annotations.value(key));
}

}  // namespace

api::FieldErrors AnnotationEvictor::validate(const Parameters& parameters, const api::FieldPath& path) const {
  api::FieldErrors errors = check_parameters(parameters, path, {kRequestedBy, kStrict});
  for (const auto& each : parameters) check_value(each, kStrict, {"true", "false"}, path, errors);
  return errors;
}

Probe AnnotationEvictor::probe(const EvictorContext& context) const {
  const auto capability = read_capability(*context.pod);
  const bool background = !capability && wants_background(*context.pod);
  if (!capability && !background)
    return unsupported(
        "", fmt::format("the pod has neither annotation {} nor {}", names::kHandoffMode, names::kRequestEvictOnly));
  Probe probe;
  probe.adapter = background ? kBackground : kGeneric;
  if (capability) {
    probe.total = handoff_total(context, *capability);
    probe.acknowledges = true;
    probe.required = capability->required;
    probe.reports_post = capability->post;
  }
  return probe;
}

EvictionStep AnnotationEvictor::plan(const EvictorContext& context) const {
  if (const auto capability = read_capability(*context.pod)) return plan_handoff(context, *capability);
  // The owner removed the mode annotation during the handoff. The pod stays, because the owner's consent is missing.
  if (context.evacuation.status.adapter == kGeneric) return {NextMove::kWait, {}};
  return plan_background(context);
}

Observation AnnotationEvictor::observe(const EvictorContext& context) const {
  if (context.evacuation.status.adapter == kBackground) return observe_background(context);
  return observe_handoff(context);
}

Classification AnnotationEvictor::classify(const EvictorContext& context, const Action& action,
                                           const CallResult& answer) const {
  if (action.name != kPostEviction) return classify_pod_patch(answer);
  static constexpr std::array kAccepted = {
      KnownText{429, kEvacuationTriggered, ResponseClass::kAcceptedInBackground, base::seconds(0)}};
  const bool announced = context.pod && wants_background(*context.pod);
  return announced ? classify_eviction(answer, kAccepted) : classify_eviction(answer);
}

/// Only the owner knows whether it hands over to an existing pod or starts another one.
bool AnnotationEvictor::needs_capacity(const EvictorContext& context) const {
  const auto capability = context.pod ? read_capability(*context.pod) : std::nullopt;
  return capability && capability->surge_pod;
}

/// Fails closed: a handoff whose mode annotation has been removed is treated as required.
bool AnnotationEvictor::owner_decides(const EvictorContext& context) const {
  const api::EvacuationStatus& status = context.evacuation.status;
  const bool handed_over = status.evictor == kName && status.adapter == kGeneric;
  if (handed_over && !read_capability(*context.pod)) return true;
  return Evictor::owner_decides(context);
}

std::vector<Action> AnnotationEvictor::undo(const EvictorContext& context) const {
  const Signs state = read_signs(*context.pod, context.token());
  if (!state.requested || state.abort_written || state.aborted || state.failed) return {};
  return {patch_pod_annotations(context, ActionRole::kUndo, kAbort, {{names::kHandoffAbort, context.token()}})};
}

Rollback AnnotationEvictor::undone(const EvictorContext& context) const {
  const api::EvacuationStatus& status = context.evacuation.status;
  if (status.adapter == kBackground) {
    // A move that started before the request also continues.
    const bool is_followed = status.request_sent_at || status.in_progress_since;
    return is_followed && in_background(context) ? Rollback::kRemoteMarkRemains : Rollback::kNothingToDo;
  }
  const Signs state = read_signs(*context.pod, context.token());
  if (state.aborted || state.failed) return Rollback::kComplete;
  if (!state.requested) return Rollback::kNothingToDo;
  // No operator has answered. Wait for another acknowledge timeout, so that an operator that has just started sees the
  // abort.
  const base::seconds patience = effective_timeouts(context.evacuation.spec).acknowledge;
  const bool silent = !state.acknowledged && status.abort && context.now >= status.abort->started_at + patience;
  return silent ? Rollback::kNothingToDo : Rollback::kPending;
}

std::vector<Action> AnnotationEvictor::cleanup(const EvictorContext& context) const {
  Json annotations = Json::object();
  if (is_ours(context, names::kHandoffRequest)) {
    for (const std::string_view key : {names::kHandoffRequest, names::kHandoffRequestPhase,
                                       names::kHandoffRequestDeadline, names::kHandoffRequestReason}) {
      annotations[std::string(key)] = nullptr;
    }
  }
  if (is_ours(context, names::kHandoffAbort)) annotations[std::string(names::kHandoffAbort)] = nullptr;
  if (annotations.empty()) return {};
  return {patch_pod_annotations(context, ActionRole::kCleanUp, kCleanUp, std::move(annotations))};
}

}  // namespace evictors::handoff
