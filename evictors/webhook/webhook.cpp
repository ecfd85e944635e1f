#include "evictors/webhook/webhook.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/meta/service_uses.hpp"
#include "api/vocabulary/blockers.hpp"
#include "base/text.hpp"
#include "evictors/classify.hpp"
#include "evictors/document.hpp"
#include "evictors/eviction_call.hpp"
#include "evictors/timeouts.hpp"
#include "evictors/webhook/contract.hpp"
#include "kube/classify.hpp"

namespace evictors::webhook {
namespace {

using api::Json;

constexpr std::string_view kService = "service";
constexpr std::string_view kStart = "StartEvacuation";
constexpr std::string_view kAbortCall = "AbortEvacuation";
constexpr std::string_view kStatusRead = "status";

// Keys of status.refs.
constexpr std::string_view kStateRef = "state";       ///< furthest state that the service reported
constexpr std::string_view kEvictByRef = "evictBy";   ///< fixed by the service's first answer
constexpr std::string_view kMovedRef = "movedSince";  ///< time since which Moved is reported but the pod exists
constexpr std::string_view kUnusableSinceRef = "troubleSince";  ///< time since which there has been no usable answer
constexpr std::string_view kNoAbortRef = "abortRefused";        ///< the service answered 409 to DELETE
constexpr std::string_view kAbortRef = "abortSent";             ///< time at which the service last accepted a DELETE

/// Time for which invalid answers are tolerated, such as a proxy's error page during a restart of the service.
constexpr base::seconds kInvalidAnswerTimeout{60};
/// Time for which missing answers are tolerated, or timeouts.heartbeat if shorter.
constexpr base::seconds kSilencePatience{300};
/// Interval of DELETE calls to a service that accepted a DELETE but still knows the token.
constexpr base::seconds kAbortRetryInterval{30};
/// Maximum time between Moved and the pod's end: grace period and propagation delay.
constexpr base::seconds kMovedPatience{120};
constexpr std::size_t kMaxOwnParameters = 16;
constexpr std::string_view kParameterPrefix = "x-";

std::string service_of(const EvictorContext& context) { return std::string(context.parameter(kService, "")); }

bool is_configured(const EvictorContext& context, std::string_view service) {
  return std::ranges::count(context.services, service) > 0;
}

/// Result of the last read of the service's status.
struct Look {
  enum class Kind { kNone, kNothingThere, kStatus, kNonsense, kContradiction, kNoResponse };
  Kind kind = Kind::kNone;
  ServiceStatus status;
  std::string problem;
};

/// Returns how the status contradicts earlier ones: evictBy must not change and states must advance. Empty if it does
/// not.
std::string contradiction(const EvictorContext& context, const ServiceStatus& status) {
  const std::string_view who = context.ref(kEvictByRef);
  if (!who.empty() && who != to_string(status.evict_by))
    return fmt::format("evictBy was {} and is now {}", who, to_string(status.evict_by));
  const auto before = parse_service_state(context.ref(kStateRef));
  if (before && !may_follow(*before, status.state))
    return fmt::format("state went back from {} to {}", to_string(*before), to_string(status.state));
  return {};
}

Look judge_body(const EvictorContext& context, std::string_view body) {
  auto status = parse_service_status(body, context.token());
  if (!status) {
    const bool other = status.error().code == base::ErrorCode::kConflict;
    return {other ? Look::Kind::kContradiction : Look::Kind::kNonsense, {}, status.error().message};
  }
  std::string problem = contradiction(context, *status);
  if (!problem.empty()) return {Look::Kind::kContradiction, {}, std::move(problem)};
  return {Look::Kind::kStatus, *std::move(status), {}};
}

Look look_at(const EvictorContext& context) {
  const Document* document = context.document(kStatusRead);
  if (!document) return {};
  if (document->status == 404) return {Look::Kind::kNothingThere, {}, "404"};
  if (document->ok()) return judge_body(context, document->body);
  if (document->status == 0) return {Look::Kind::kNoResponse, {}, one_line(document->body, 120)};
  return {Look::Kind::kNoResponse, {}, fmt::format("{} {}", document->status, one_line(document->body, 120))};
}

/// Returns true if the service may know of this attempt.
bool was_started(const EvictorContext& context) {
  return !context.ref(kStateRef).empty() || context.intent(kStart) || context.intent(kAbortCall) ||
         look_at(context).kind == Look::Kind::kStatus;
}

Json start_body(const EvictorContext& context) {
  const api::Evacuation& evacuation = context.evacuation;
  const api::Pod& pod = *context.pod;
  const auto total = effective_timeouts(evacuation.spec).total;
  Json body = {
      {"apiVersion", kApiVersion},
      {"kind", "Evacuation"},
      {"token", context.token()},
      {"attempt", evacuation.status.attempt},
      {"reason", evacuation.spec.reason},
      {"deadline", base::format_time(context.now + total)},
      {"evacuation", {{"namespace", evacuation.meta.ns}, {"name", evacuation.meta.name}, {"uid", evacuation.meta.uid}}},
      {"pod",
       {{"namespace", pod.meta.ns}, {"name", pod.meta.name}, {"uid", pod.meta.uid}, {"node", pod.node_name.value}}}};
  if (const auto* owner = pod.meta.controller()) {
    body["pod"]["owner"] = {
        {"apiVersion", owner->api_version}, {"kind", owner->kind}, {"name", owner->name}, {"uid", owner->uid}};
  }
  if (const auto grace = evacuation.spec.grace_period_seconds) body["gracePeriodSeconds"] = *grace;
  Json own = Json::object();
  for (const auto& [name, value] : context.parameters) {
    if (name.starts_with(kParameterPrefix)) own[name.substr(kParameterPrefix.size())] = value;
  }
  if (!own.empty()) body["parameters"] = std::move(own);
  return body;
}

Action service_call(const EvictorContext& context, ActionRole role, std::string_view name, kube::Request request) {
  Action action =
      make_action(role, name, std::move(request), "podResourceVersion=" + context.pod->meta.resource_version);
  action.service = service_of(context);
  action.service_use = api::kServiceAsWebhook;
  return action;
}

// --- observing

/// Tolerates missing and invalid answers for `patience`, counted from the first one.
void note_trouble(const EvictorContext& context, base::seconds patience, const char* reason, const Look& look,
                  Observation& seen) {
  const auto since = base::parse_time(context.ref(kUnusableSinceRef));
  if (!since || *since > context.now) {
    seen.refs.emplace_back(kUnusableSinceRef, base::format_time(context.now));
    return;
  }
  if (context.now - *since < patience) return;
  seen.failed = RemoteFailure{reason,
                              fmt::format("service {} gave no usable response for {}: {}", service_of(context),
                                          base::format_duration(context.now - *since), look.problem),
                              true};
}

void follow_moved(const EvictorContext& context, Observation& seen) {
  const auto since = base::parse_time(context.ref(kMovedRef));
  if (!since || *since > context.now) {
    seen.refs.emplace_back(kMovedRef, base::format_time(context.now));
  } else if (context.now - *since >= kMovedPatience) {
    seen.failed = RemoteFailure{"MovedButPodRemains",
                                fmt::format("service {} reports Moved, but the pod has not terminated within {}",
                                            service_of(context), base::format_duration(kMovedPatience)),
                                false};
  }
}

void take_status(const EvictorContext& context, const ServiceStatus& status, Observation& seen) {
  seen.requested = true;
  seen.acknowledged = true;
  seen.ready = status.state == ServiceState::kReadyToEvict;
  seen.progress = status.progress;
  seen.expected_completion = status.expected_completion;
  seen.target = {status.target};
  seen.alive = fmt::format("{}|{}|{}|{}|{}", to_string(status.state), status.progress.value_or(-1),
                           status.expected_completion ? base::format_time(*status.expected_completion) : "",
                           status.heartbeat, std::hash<std::string>{}(status.message));
  seen.refs = {{std::string(kStateRef), std::string(to_string(status.state))},
               {std::string(kEvictByRef), std::string(to_string(status.evict_by))},
               {std::string(kUnusableSinceRef), ""}};
  if (status.state == ServiceState::kMoved) {
    follow_moved(context, seen);
  } else if (status.state == ServiceState::kFailed) {
    seen.failed =
        RemoteFailure{status.reason.empty() ? "ServiceFailed" : status.reason, status.message, status.retryable};
  }
}

// --- answers to calls

Classification service_classification(ResponseClass answer, const EvictorContext& context, const std::string& message,
                                      std::optional<base::Duration> retry_after = {}) {
  Classification meaning{answer, base::truncate_utf8(message, 500), retry_after, {}};
  if (is_blocked(answer))
    meaning.blocker = api::make_blocker(api::BlockerKind::kService, service_of(context), meaning.message);
  return meaning;
}

Classification no_answer(const EvictorContext& context, const base::Error& error) {
  const bool not_carried_out = error.code == base::ErrorCode::kUnavailable || error.code == base::ErrorCode::kTimeout;
  if (error.code == base::ErrorCode::kInvalid)
    return service_classification(ResponseClass::kPermanent, context, error.message);
  return service_classification(not_carried_out ? ResponseClass::kWebhookDown : ResponseClass::kUnknown, context,
                                error.message);
}

Classification refused(const EvictorContext& context, const kube::Response& response) {
  const std::string text = service_refusal(service_of(context), response);
  const bool is_page = kube::begins_like_html(response.body) && response.status != 401 && response.status != 429;
  if (is_page) return service_classification(ResponseClass::kUnknown, context, text, response.retry_after);
  switch (response.status) {
    case 401: return service_classification(ResponseClass::kAuth, context, text);
    case 403: return service_classification(ResponseClass::kForbidden, context, text);
    case 408:
    case 409:
    case 425: return service_classification(ResponseClass::kRetryLater, context, text, response.retry_after);
    case 429: return service_classification(ResponseClass::kThrottled, context, text, response.retry_after);
    default: break;
  }
  if (response.status >= 400 && response.status < 500)
    return service_classification(ResponseClass::kPermanent, context, text);
  return service_classification(ResponseClass::kUnknown, context, text, response.retry_after);
}

Classification classify_start(const EvictorContext& context, const CallResult& answer) {
  if (!answer) return no_answer(context, answer.error());
  if (answer->status < 200 || answer->status >= 300) return refused(context, *answer);
  const Look look = judge_body(context, answer->body);
  if (look.kind == Look::Kind::kContradiction) {
    return service_classification(
        ResponseClass::kPermanent, context,
        fmt::format("service {} violates the contract: {}", service_of(context), look.problem));
  }
  if (look.kind != Look::Kind::kStatus) {
    return service_classification(ResponseClass::kUnknown, context,
                                  fmt::format("service {} returned an invalid response to {}: {}", service_of(context),
                                              answer->status, look.problem));
  }
  Classification meaning = service_classification(ResponseClass::kApplied, context, look.status.message);
  meaning.refs = {{std::string(kStateRef), std::string(to_string(look.status.state))},
                  {std::string(kEvictByRef), std::string(to_string(look.status.evict_by))}};
  return meaning;
}

Classification classify_abort(const EvictorContext& context, const CallResult& answer) {
  if (!answer) return no_answer(context, answer.error());
  const bool taken = (answer->status >= 200 && answer->status < 300) || answer->status == 404;
  if (!taken && answer->status != 409) return refused(context, *answer);
  Classification meaning = service_classification(ResponseClass::kApplied, context,
                                                  taken ? "" : "the service can no longer abort; it continues");
  if (!taken) meaning.refs.emplace_back(kNoAbortRef, "true");
  meaning.refs.emplace_back(kAbortRef, base::format_time(context.now));
  return meaning;
}

}  // namespace

api::FieldErrors WebhookEvictor::validate(const Parameters& parameters, const api::FieldPath& path) const {
  Parameters ours;
  std::ranges::copy_if(parameters, std::back_inserter(ours), [](const auto& each) {
    return each.first.size() <= kParameterPrefix.size() || !each.first.starts_with(kParameterPrefix);
  });
  api::FieldErrors errors = check_parameters(ours, path, {kService, kRequestedBy, "x-<your own>"});
  const auto service = std::ranges::find(ours, kService, &Parameters::value_type::first);
  if (service == ours.end() || service->second.empty()) {
    errors.push_back(
        {path.field(kService).text(), "is required: the name of a service in the operator's configuration"});
  }
  if (parameters.size() - ours.size() > kMaxOwnParameters) {
    errors.push_back({path.text(), fmt::format("must have at most {} parameters x-…", kMaxOwnParameters)});
  }
  return errors;
}

std::vector<Read> WebhookEvictor::reads(const EvictorContext& context) const {
  const std::string service = service_of(context);
  const bool waits = context.token().empty() || context.dry_run() || !context.pod;
  if (service.empty() || waits || !is_configured(context, service)) return {};
  const EvacuationPhase phase = context.phase();
  const bool running = phase == EvacuationPhase::kPreparing || phase == EvacuationPhase::kRequesting ||
                       phase == EvacuationPhase::kInProgress || phase == EvacuationPhase::kAborting;
  if (!running || context.evacuation.status.evictor != kName) return {};
  return {{std::string(kStatusRead), status_request(context.token()), service, std::string(api::kServiceAsWebhook)}};
}

Probe WebhookEvictor::probe(const EvictorContext& context) const {
  const std::string service = service_of(context);
  Probe probe;
  probe.adapter = service;
  if (service.empty()) {
    probe = unsupported(service, "parameter service is not set: set it to a service of the operator's configuration");
  } else if (!is_configured(context, service)) {
    const std::string known =
        context.services.empty() ? "none is configured" : fmt::format("known: {}", fmt::join(context.services, ", "));
    probe = unsupported(
        service,
        fmt::format("service {} is not in the operator's configuration: add it under services ({})", service, known));
  }
  probe.acknowledges = true;
  probe.required = true;
  return probe;
}

EvictionStep WebhookEvictor::plan(const EvictorContext& context) const {
  if (context.phase() == EvacuationPhase::kPreparing) return {NextMove::kProceed, {}};
  // A dry run never calls the service, which might not recognise it as one.
  if (context.dry_run()) return {NextMove::kAct, post_eviction(context)};
  const Look look = look_at(context);
  const bool answers = look.kind == Look::Kind::kStatus;
  if (answers && look.status.state == ServiceState::kReadyToEvict) return {NextMove::kAct, post_eviction(context)};
  // A service that knew the attempt but does not answer now is watched with a timeout in InProgress.
  const bool is_known = answers || !context.ref(kStateRef).empty();
  if (is_known || context.phase() != EvacuationPhase::kRequesting) return {NextMove::kWait, {}};
  return {NextMove::kAct,
          service_call(context, ActionRole::kRequest, kStart, start_request(context.token(), start_body(context)))};
}

Observation WebhookEvictor::observe(const EvictorContext& context) const {
  Observation seen;
  if (context.dry_run()) return seen;
  const bool known = !context.ref(kStateRef).empty();
  const Look look = look_at(context);
  switch (look.kind) {
    case Look::Kind::kNone: break;
    case Look::Kind::kStatus: take_status(context, look.status, seen); break;
    case Look::Kind::kNothingThere:
      if (known)
        seen.failed = RemoteFailure{
            "TokenForgotten", fmt::format("service {} does not know the token any more", service_of(context)), true};
      break;
    case Look::Kind::kContradiction: seen.failed = RemoteFailure{"ContractViolation", look.problem, false}; break;
    case Look::Kind::kNonsense:
      if (known) note_trouble(context, kInvalidAnswerTimeout, "BadAnswer", look, seen);
      break;
    case Look::Kind::kNoResponse:
      if (known)
        note_trouble(context, std::min(kSilencePatience, effective_timeouts(context.evacuation.spec).heartbeat),
                     "ServiceUnreachable", look, seen);
      break;
  }
  return seen;
}

Classification WebhookEvictor::classify(const EvictorContext& context, const Action& action,
                                        const CallResult& answer) const {
  if (action.name == kStart) return classify_start(context, answer);
  if (action.name == kAbortCall) return classify_abort(context, answer);
  return classify_eviction(answer);
}

std::vector<Action> WebhookEvictor::undo(const EvictorContext& context) const {
  const bool nothing = context.dry_run() || !was_started(context) ||
                       look_at(context).kind == Look::Kind::kNothingThere || !context.ref(kNoAbortRef).empty();
  const auto told = base::parse_time(context.ref(kAbortRef));
  const bool just_told = told && *told <= context.now && context.now - *told < kAbortRetryInterval;
  if (nothing || just_told) return {};
  return {service_call(context, ActionRole::kUndo, kAbortCall, abort_request(context.token()))};
}

Rollback WebhookEvictor::undone(const EvictorContext& context) const {
  if (context.dry_run() || !was_started(context)) return Rollback::kNothingToDo;
  const Look look = look_at(context);
  if (look.kind != Look::Kind::kNothingThere) return Rollback::kPending;
  // A start whose answer was lost may still arrive. A 404 is final only after the call's timeout.
  const api::EvacuationIntent* start = context.intent(kStart);
  const bool on_its_way = start && !start->resolved && context.now < start->time + kCallTimeout;
  return on_its_way ? Rollback::kPending : Rollback::kComplete;
}

}  // namespace evictors::webhook
