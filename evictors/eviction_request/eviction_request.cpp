#include "evictors/eviction_request/eviction_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/meta/well_known.hpp"
#include "base/text.hpp"
#include "evictors/classify.hpp"
#include "evictors/eviction_call.hpp"
#include "evictors/eviction_request/request_state.hpp"
#include "evictors/timeouts.hpp"
#include "kube/request.hpp"

namespace evictors::eviction_request {
namespace {

namespace names = api::well_known;
using api::Json;
using Api = RequestState::Api;
using Presence = RequestState::Presence;

constexpr std::string_view kCreateRequest = "CreateEvictionRequest";
constexpr std::string_view kWithdrawRequest = "WithdrawEvictionRequest";
constexpr std::string_view kDeleteRequest = "DeleteEvictionRequest";
constexpr std::string_view kLivenessSeconds = "livenessSeconds";
constexpr std::int64_t kDefaultLiveness = 60;
constexpr std::int64_t kMinLiveness = 60;
constexpr std::int64_t kMaxLiveness = 3600;
/// Time after which the controller deactivates a responder without heartbeat (constant of the API).
constexpr base::seconds kResponderTimeout{1200};
/// Time for the controller to set TargetEvicted before the request is deleted.
constexpr base::seconds kReportTimeout{30};
constexpr base::seconds kRefreshInterval{10};
constexpr std::size_t kMaxReasonBytes = 200;

api::ObjectKey request_key(const EvictorContext& context) {
  return {context.ns(), eviction_request_name(context.evacuation)};
}

std::optional<std::int64_t> parse_seconds(std::string_view text) {
  const auto value = base::parse_number<std::int64_t>(text);
  return value && *value >= 1 && *value <= kMaxLiveness ? value : std::nullopt;
}

/// Returns at least kMinLiveness, so that a tenant cannot have the API marked dead after one second.
base::seconds liveness(const EvictorContext& context) {
  const std::int64_t asked = parse_seconds(context.parameter(kLivenessSeconds, "")).value_or(kDefaultLiveness);
  return base::seconds(std::max(asked, kMinLiveness));
}

/// Returns true if the current attempt uses this evictor. Between attempts, the status still names the last evictor.
bool chosen(const EvictorContext& context) {
  const api::EvacuationStatus& status = context.evacuation.status;
  return status.evictor == EvictionByRequest::kName && !api::is_between_attempts(status.phase);
}

bool listed(const api::EvacuationSpec& spec) {
  return std::any_of(spec.evictors.begin(), spec.evictors.end(),
                     [](const auto& each) { return each.name == EvictionByRequest::kName; });
}

bool has_foreign_responder(const api::Pod& pod) {
  return std::any_of(pod.eviction_responders.begin(), pod.eviction_responders.end(),
                     [](const auto& each) { return each.name != names::kNativeResponder; });
}

/// Returns why this evictor is unsuitable, judged without any read. Empty if there is no reason.
std::string refusal(const EvictorContext& context) {
  if (context.evacuation.meta.annotations.contains(names::kNativeEvictionAnnotation))
    return "this Evacuation itself handles an Eviction";
  if (context.pod->has_scheduling_group) return "the API does not accept pods with spec.schedulingGroup";
  if (listed(context.evacuation.spec) || has_foreign_responder(*context.pod)) return {};
  return context.pod->eviction_responders.empty()
             ? "the pod has no spec.evictionResponders; to use the evictor anyway, list it in spec.evictors"
             : "Evacuator is the only responder of the pod";
}

/// Holds the evictor chain while the API is hidden. A contradictory answer or a refresh of the server's discovery
/// document must not make the chain skip the pod's responders.
Probe hidden(const EvictorContext& context) {
  return unavailable(fmt::format("{} cannot be read at the moment: retrying", kube::kEvictionRequests.api_version()),
                     context.now + kRefreshInterval, true);
}

/// Allows for every responder to use up its time without a heartbeat. The default total remains for the eviction API.
base::seconds native_total(const EvictorContext& context) {
  const Timeouts defaults;
  const auto turns = static_cast<std::int64_t>(std::min<std::size_t>(context.pod->eviction_responders.size(), 10));
  return context.evacuation.spec.timeouts.total.value_or(defaults.total + turns * kResponderTimeout);
}

Probe supported(const EvictorContext& context) {
  Probe probe;
  probe.total = native_total(context);
  return probe;
}

Read discovery_read() {
  kube::Request request;
  request.path = "/apis/" + kube::kEvictionRequests.api_version();
  return read_of(kApiDocument, std::move(request));
}

/// Lists Evictions. An empty selector selects all.
Read evictions_read(std::string_view name, const EvictorContext& context, std::string selector) {
  return read_of(
      name, kube::list_request(kube::kNativeEvictions, {.ns = context.ns(), .label_selector = std::move(selector)}));
}

/// Returns true if a list without a label selector is needed to confirm that there is no open Eviction. After the
/// request is withdrawn, an open Eviction means that a responder may still be working.
bool needs_all_evictions(const EvictorContext& context) {
  if (context.phase() != EvacuationPhase::kAborting) return false;
  const RequestState view = read_state(context);
  return view.presence == Presence::kOurs && !view.asks() && view.evictions_known && !view.has_open();
}

Json request_body(const EvictorContext& context) {
  const api::Evacuation& of = context.evacuation;
  const std::string reason = base::truncate_utf8(of.spec.reason, kMaxReasonBytes);
  return {{"apiVersion", kube::kEvictionRequests.api_version()},
          {"kind", kube::kEvictionRequests.kind},
          {"metadata",
           {{"name", eviction_request_name(of)},
            {"namespace", of.meta.ns},
            {"labels", {{names::kEvacuationUidLabel, of.meta.uid}}},
            {"annotations", {{names::kTokenAnnotation, of.status.token}, {"evacuator.dev/reason", reason}}}}},
          {"spec",
           {{"target", {{"pod", {{"name", of.spec.pod_ref.name}, {"uid", of.spec.pod_ref.uid.value}}}}},
            {"requester", names::kNativeRequester},
            {"intent", "Eviction"}}}};
}

Action create_action(const EvictorContext& context) {
  kube::Request request = kube::create_request(kube::kEvictionRequests, context.ns(), request_body(context));
  if (context.dry_run()) request.query = "dryRun=All";
  request.timeout = kCallTimeout;
  return make_action(ActionRole::kRequest, kCreateRequest, std::move(request),
                     "podResourceVersion=" + context.pod->meta.resource_version);
}

Action withdraw_action(const EvictorContext& context, const api::EvictionRequest& request) {
  const Json patch = {{"metadata", {{"uid", request.meta.uid}}}, {"spec", {{"intent", "Withdrawn"}}}};
  return make_action(
      ActionRole::kUndo, kWithdrawRequest,
      kube::patch_request(kube::kEvictionRequests, request_key(context), kube::PatchType::kMerge, patch));
}

Action delete_action(const EvictorContext& context, std::string_view uid) {
  return make_action(ActionRole::kCleanUp, kDeleteRequest,
                     kube::delete_request(kube::kEvictionRequests, request_key(context), uid));
}

/// Returns the deletion of this Evacuation's request if the request exists or, while it cannot be read, may exist.
std::optional<Action> deletion(const EvictorContext& context, const RequestState& view) {
  if (view.presence == Presence::kOurs && !view.request.meta.is_terminating())
    return delete_action(context, view.request.meta.uid);
  const std::string_view remembered = uid_of_ref(context.ref(kRequestRef));
  if (view.presence == Presence::kUnknown && !remembered.empty()) return delete_action(context, remembered);
  return std::nullopt;
}

Observation failed(std::string reason, std::string message, bool retryable, bool try_next) {
  Observation seen;
  seen.failed = RemoteFailure{std::move(reason), std::move(message), retryable, try_next, api::Reason::kNativeFailed};
  return seen;
}

Observation nobody_there(const EvictorContext& context) {
  Observation seen = failed(
      "NativeUnavailable",
      fmt::format(
          "no controller acted on the EvictionRequest within {}: the API is served, but no controller handles it",
          base::format_duration(liveness(context))),
      true, true);
  seen.dead = true;
  return seen;
}

std::string turn_message(const api::NativeEviction& eviction, const api::NativeResponder& active) {
  const auto turn = &active - eviction.responders.data() + 1;
  std::string text = fmt::format("responder {} ({} of {})", active.name, turn, eviction.responders.size());
  return active.message.empty() ? text : text + ": " + active.message;
}

std::string when(const std::optional<base::TimePoint>& time) {
  return time ? base::format_micro_time(*time) : std::string("-");
}

/// Copies heartbeat, ETA and message of the active responder into `seen`.
void mirror(const RequestState& view, Observation& seen) {
  const api::NativeEviction* eviction = view.current();
  seen.message = "waits until an Eviction is created";
  seen.alive = fmt::format("{}", view.request.observed_generation);
  if (!eviction) return;
  seen.refs.emplace_back(kEvictionRef, ref_of(eviction->meta));
  const api::NativeResponder* active = eviction->active();
  seen.message = "no responder is active";
  seen.alive += "|" + eviction->meta.name;
  if (!active) return;
  seen.message = turn_message(*eviction, *active);
  seen.alive += fmt::format("|{}|{}|{}|{}", active->name, when(active->start_time), when(active->heartbeat_time),
                            when(active->completion_time));
  seen.expected_completion = active->expected_completion_time;
}

Observation observe_at_work(const EvictorContext& context, const RequestState& view) {
  if (!view.asks()) {
    return failed("RequestWithdrawn", "the EvictionRequest was withdrawn or deleted by another requester", true, false);
  }
  Observation seen;
  seen.requested = true;
  seen.refs = {{std::string(kRequestRef), ref_of(view.request.meta)}};
  if (view.request.observed_generation == 0) {
    // Another client with access to EvictionRequests may delete and recreate the request. The liveness time counts from
    // the newer creation.
    const base::TimePoint since = std::max(context.evacuation.status.in_progress_since.value_or(context.now),
                                           view.request.meta.creation_timestamp);
    if (context.now - since >= liveness(context)) return nobody_there(context);
    seen.message = "waits for the eviction controller to act";
    return seen;
  }
  seen.acknowledged = true;
  mirror(view, seen);
  seen.failed = failure_of(view, uid_of_ref(context.ref(kEvictionRef)));
  return seen;
}

/// Classifies an answer to the POST, including its special cases beyond classify_patch().
Classification classify_create(const EvictorContext& context, const CallResult& answer) {
  Classification meaning = classify_patch(answer);
  if (meaning.answer == ResponseClass::kApplied) {
    if (context.dry_run()) meaning.answer = ResponseClass::kAcceptedInBackground;
    const auto made = api::decode_eviction_request(answer->body);
    if (made && !context.dry_run()) meaning.refs = {{std::string(kRequestRef), ref_of(made->meta)}};
  } else if (meaning.answer == ResponseClass::kConflict) {
    const RequestState view = read_state(context);
    if (view.presence == Presence::kOurs && !view.asks()) {
      meaning.answer = ResponseClass::kRetryLater;
      meaning.message = "the EvictionRequest of the last attempt is still being deleted";
    }
  }
  return meaning;
}

/// Returns true if the controller has processed the withdrawal.
bool settled(const RequestState& view) {
  const auto& request = view.request;
  const auto* reason = api::find_condition(request.conditions, "Failed");
  if (reason && reason->status == api::ConditionStatus::kTrue && reason->reason == "EvictionInvalid") return true;
  if (request.observed_generation < request.meta.generation && !request.meta.is_terminating()) return false;
  return view.evictions_known && view.all_evictions_known && !view.has_open();
}

/// Returns how the pod left according to the request. Used only after the pod has left.
std::optional<api::OutcomeKind> kind_by(const RequestState& view) {
  if (view.presence != Presence::kOurs) return std::nullopt;
  if (api::is_true(view.request.conditions, "TargetEvicted")) return api::OutcomeKind::kMovedByOwner;
  if (api::is_true(view.request.conditions, "Failed")) return api::OutcomeKind::kGoneExternally;
  return std::nullopt;
}

/// Returns true if TargetEvicted or Failed is set, or the time for it is over.
bool may_be_deleted(const EvictorContext& context, const RequestState& view) {
  const auto& conditions = view.request.conditions;
  if (api::is_true(conditions, "TargetEvicted") || api::is_true(conditions, "Failed")) return true;
  const base::seconds patience = std::min(kReportTimeout, effective_timeouts(context.evacuation.spec).verify / 3);
  return context.now >= context.evacuation.status.phase_entered_at.value_or(context.now) + patience;
}

}  // namespace

std::string eviction_request_name(const api::Evacuation& evacuation) { return "evac-" + evacuation.meta.uid; }

api::FieldErrors EvictionByRequest::validate(const Parameters& parameters, const api::FieldPath& path) const {
  api::FieldErrors errors = check_parameters(parameters, path, {kLivenessSeconds});
  for (const auto& [name, value] : parameters) {
    if (name == kLivenessSeconds && !parse_seconds(value)) {
      errors.push_back({path.field(name).text(),
                        fmt::format("must be a number of seconds from 1 to {}, not {}", kMaxLiveness, value)});
    }
  }
  return errors;
}

std::vector<Read> EvictionByRequest::reads(const EvictorContext& context) const {
  const EvacuationPhase phase = context.phase();
  std::vector<Read> wanted;
  const bool is_chosen = chosen(context);
  if (!is_chosen && (!context.pod || context.unavailable_until || !refusal(context).empty())) return wanted;
  const bool asking = !is_chosen || phase == EvacuationPhase::kRequesting;
  if (asking) wanted.push_back(discovery_read());
  if (is_chosen || read_state(context).api == Api::kServed) {
    wanted.push_back(read_of(kRequestDocument, kube::get_request(kube::kEvictionRequests, request_key(context))));
    for (const Access& each : kAccess) {
      if (!is_chosen) wanted.push_back(access_read(each, context.ns()));
    }
  }
  if (is_chosen && !asking) {
    const std::string labelled = fmt::format("{} in {}", names::kNativeRequester, api::kRequesterRoles);
    wanted.push_back(evictions_read(kEvictionsDocument, context, labelled));
  }
  if (is_chosen && needs_all_evictions(context)) wanted.push_back(evictions_read(kAllEvictionsDocument, context, {}));
  return wanted;
}

Probe EvictionByRequest::probe(const EvictorContext& context) const {
  if (chosen(context)) return supported(context);
  if (std::string why = refusal(context); !why.empty()) return unsupported("", std::move(why));
  if (context.unavailable_until)  // the chain must not skip the responders
    return unavailable("no controller handles EvictionRequests", context.unavailable_until,
                       has_foreign_responder(*context.pod));
  const RequestState view = read_state(context);
  switch (view.api) {
    case Api::kServed: break;
    case Api::kUnread: return unavailable("not checked yet", {}, false);
    case Api::kHidden: return hidden(context);
    case Api::kForbidden:
      return unsupported("", "RBAC does not allow to read " + kube::kEvictionRequests.api_version());
    case Api::kNotServed:
      return unsupported("", fmt::format("the server does not serve {}", kube::kEvictionRequests.api_version()));
  }
  if (!view.denied.empty()) {
    return unsupported("", fmt::format("RBAC does not allow to {} in namespace {}: see RBAC in "
                                       "docs/evictors/eviction-request.md",
                                       view.denied, context.ns()));
  }
  return supported(context);
}

EvictionStep EvictionByRequest::plan(const EvictorContext& context) const {
  if (context.phase() == EvacuationPhase::kPreparing) return {NextMove::kProceed, {}};
  if (context.phase() == EvacuationPhase::kInProgress) return {NextMove::kWait, {}};
  if (!context.dry_run() && read_state(context).asks()) return {NextMove::kWait, {}};
  return {NextMove::kAct, create_action(context)};
}

Observation EvictionByRequest::observe(const EvictorContext& context) const {
  const RequestState view = read_state(context);
  const bool at_work = context.phase() == EvacuationPhase::kInProgress;
  if (!at_work && view.api == Api::kNotServed)
    return failed("NativeUnavailable", "the server no longer serves the API", true, true);
  if (view.presence == Presence::kForeign) {
    return failed("NameTaken",
                  fmt::format("EvictionRequest {} belongs to {}", view.request.meta.name, view.request.requester),
                  false, true);
  }
  if (!at_work) {
    Observation seen;
    seen.requested = view.asks();
    if (seen.requested) seen.refs = {{std::string(kRequestRef), ref_of(view.request.meta)}};
    return seen;
  }
  if (view.presence == Presence::kAbsent)
    return failed("RequestVanished", "the EvictionRequest was deleted by another requester", true, false);
  if (view.presence == Presence::kOurs) return observe_at_work(context, view);
  Observation seen;
  seen.requested = true;  // last known state, as no newer one could be read
  return seen;
}

Classification EvictionByRequest::classify(const EvictorContext& context, const Action& action,
                                           const CallResult& answer) const {
  if (action.name == kCreateRequest) return classify_create(context, answer);
  if (answer && answer->status == 404) return {ResponseClass::kApplied, "it does not exist any more", {}, {}};
  Classification meaning = classify_patch(answer);
  // The withdrawal's result cannot be read after the deletion, so it is stored now.
  if (action.name == kDeleteRequest && read_state(context).others_remain())
    meaning.refs = {{std::string(kOthersRef), "remain"}};
  return meaning;
}

std::vector<Action> EvictionByRequest::undo(const EvictorContext& context) const {
  const RequestState view = read_state(context);
  if (!view.asks()) return {};
  return {withdraw_action(context, view.request)};
}

Rollback EvictionByRequest::undone(const EvictorContext& context) const {
  const RequestState view = read_state(context);
  switch (view.presence) {
    case Presence::kUnknown:
      return context.evacuation.status.request_sent_at ? Rollback::kPending : Rollback::kNothingToDo;
    case Presence::kForeign: return Rollback::kNothingToDo;
    case Presence::kAbsent:
      if (context.ref(kRequestRef).empty()) return Rollback::kNothingToDo;
      return context.ref(kOthersRef).empty() ? Rollback::kComplete : Rollback::kOthersRemain;
    case Presence::kOurs: break;
  }
  if (view.asks()) return Rollback::kPending;
  if (view.request.observed_generation == 0) return Rollback::kComplete;  // the controller never noticed the request
  if (settled(view)) return Rollback::kComplete;
  const bool taken_in =
      view.request.observed_generation >= view.request.meta.generation || view.request.meta.is_terminating();
  return taken_in && view.others_remain() ? Rollback::kOthersRemain : Rollback::kPending;
}

std::vector<Action> EvictionByRequest::cleanup(const EvictorContext& context) const {
  auto action = deletion(context, read_state(context));
  if (!action) return {};
  return {*std::move(action)};
}

Verification EvictionByRequest::verify(const EvictorContext& context) const {
  const RequestState view = read_state(context);
  Verification verification;
  verification.kind = kind_by(view);
  // If the answer to the creation was lost, there is no ref, but the request may exist.
  const bool made = !context.ref(kRequestRef).empty() || context.evacuation.status.request_sent_at;
  const bool there = view.presence == Presence::kOurs || (view.presence == Presence::kUnknown && made);
  verification.unfinished = there;
  if (there && may_be_deleted(context, view)) verification.action = deletion(context, view);
  return verification;
}

}  // namespace evictors::eviction_request
