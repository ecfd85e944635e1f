#include "evictors/webhook/webhook.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/meta/service_uses.hpp"
#include "api/vocabulary/blockers.hpp"
#include "base/text.hpp"
#include "evictors/classify.hpp"
#include "evictors/eviction_call.hpp"
#include "evictors/timeouts.hpp"
#include "evictors/webhook/contract.hpp"
#include "kube/classify.hpp"

namespace evictors::webhook {
namespace {

using api::EvacuationPhase;
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

const std::string& webhook_token(const EvictorContext& context) { return context.evacuation.status.token; }

std::string service_of(const EvictorContext& context) { return std::string(context.parameter(kService, "")); }

bool is_configured(const EvictorContext& context, std::string_view service) {
  return std::find(context.services.begin(), context.services.end(), service) != context.services.end();
}

bool intent_is(const EvictorContext& context, std::string_view action) {
  const auto& intent = context.evacuation.status.intent;
  return intent && intent->token == webhook_token(context) && intent->action == action;
}

/// Result of the last read of the service's status.
struct Look {
  enum class Kind { kNone, kNothingThere, kStatus, kNonsense, kContradiction, kNoResponse };
  Kind kind = Kind::kNone;
  ServiceStatus status;
  std::string problem;
};

std::string start_of(std::string_view body) {
  std::string text = base::truncate_utf8(body, 120);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return text;
}

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
  auto status = parse_service_status(body, webhook_token(context));
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
  if (document->status == 0) return {Look::Kind::kNoResponse, {}, start_of(document->body)};
  return {Look::Kind::kNoResponse, {}, fmt::format("{} {}", document->status, start_of(document->body))};
}

/// Returns true if the service may know of this attempt.
bool was_started(const EvictorContext& context) {
  return !context.ref(kStateRef).empty() || intent_is(context, kStart) || intent_is(context, kAbortCall) ||
         look_at(context).kind == Look::Kind::kStatus;
}

Json start_body(const EvictorContext& context) {
  const api::Evacuation& evacuation = context.evacuation;
  const api::Pod& pod = *context.pod;
  const auto total = effective_timeouts(evacuation.spec).total;
  Json body = {
      {"apiVersion", kApiVersion},
      {"kind", "Evacuation"},
      {"token", webhook_token(context)},
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
  Action action;
  action.role = role;
  action.name = name;
  action.request = std::move(request);
  action.pre_state = "podResourceVersion=" + context.pod->meta.resource_version;
  action.service = service_of(context);
  action.service_use = api::kServiceAsWebhook;
  return action;
}

EvictionStep plan_request(const EvictorContext& context) {
  const Look look = look_at(context);
  if (look.kind == Look::Kind::kStatus) {
    const bool ready = look.status.state == ServiceState::kReadyToEvict;
    return ready ? EvictionStep{NextMove::kAct, post_eviction(context)} : EvictionStep{NextMove::kWait, {}};
  }
  // The service knew the attempt but does not answer now. InProgress watches it with a timeout.
  if (!context.ref(kStateRef).empty()) return {NextMove::kWait, {}};
  return {NextMove::kAct, service_call(context, ActionRole::kRequest, kStart,
                                       start_request(webhook_token(context), start_body(context)))};
}

// --- observing

RemoteFailure service_failed(std::string reason, std::string message, bool retryable) {
  RemoteFailure failure;
  failure.reason = std::move(reason);
  failure.message = std::move(message);
  failure.retryable = retryable;
  return failure;
}

/// Tolerates missing and invalid answers for `patience`, counted from the first one.
void note_trouble(const EvictorContext& context, base::seconds patience, const char* reason, const Look& look,
                  Observation& seen) {
  const auto since = base::parse_time(context.ref(kUnusableSinceRef));
  if (!since || *since > context.now) {
    seen.refs.emplace_back(kUnusableSinceRef, base::format_time(context.now));
    return;
  }
  if (context.now - *since < patience) return;
  seen.failed = service_failed(reason,
                               fmt::format("service {} gave no usable response for {}: {}", service_of(context),
                                           base::format_duration(context.now - *since), look.problem),
                               true);
}

void follow_moved(const EvictorContext& context, Observation& seen) {
  const auto since = base::parse_time(context.ref(kMovedRef));
  if (!since || *since > context.now) {
    seen.refs.emplace_back(kMovedRef, base::format_time(context.now));
  } else if (context.now - *since >= kMovedPatience) {
    seen.failed = service_failed("MovedButPodRemains",
                                 fmt::format("service {} reports Moved, but the pod has not terminated within {}",
                                             service_of(context), base::format_duration(kMovedPatience)),
                                 false);
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
        service_failed(status.reason.empty() ? "ServiceFailed" : status.reason, status.message, status.retryable);
  }
}

// --- answers to calls

Classification service_classification(ResponseClass answer, const EvictorContext& context, const std::string& message,
                                      std::optional<base::Duration> retry_after = {}) {
  Classification meaning;
  meaning.answer = answer;
  meaning.message = base::truncate_utf8(message, 500);
  meaning.retry_after = retry_after;
  if (is_blocked(answer)) {
    api::Blocker by;
    by.kind = to_string(api::BlockerKind::kService);
    by.name = service_of(context);
    by.message = meaning.message;
    meaning.blocker = std::move(by);
  }
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

bool is_own_parameter(std::string_view name) {
  return name.size() > kParameterPrefix.size() && name.starts_with(kParameterPrefix);
}

}  // namespace

api::FieldErrors WebhookEvictor::validate(const std::vector<std::pair<std::string, std::string>>& parameters,
                                          const api::FieldPath& path) const {
  std::vector<std::pair<std::string, std::string>> ours;
  std::copy_if(parameters.begin(), parameters.end(), std::back_inserter(ours),
               [](const auto& each) { return !is_own_parameter(each.first); });
  api::FieldErrors errors = check_parameters(ours, path, {kService, kRequestedBy, "x-<your own>"});
  const auto service = std::find_if(ours.begin(), ours.end(), [](const auto& each) { return each.first == kService; });
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
  const bool waits = context.evacuation.status.token.empty() || context.evacuation.spec.dry_run || !context.pod;
  if (service.empty() || waits || !is_configured(context, service)) return {};
  const api::EvacuationPhase phase = context.evacuation.status.phase;
  const bool running = phase == api::EvacuationPhase::kPreparing || phase == api::EvacuationPhase::kRequesting ||
                       phase == api::EvacuationPhase::kInProgress || phase == api::EvacuationPhase::kAborting;
  if (!running || context.evacuation.status.evictor != kName) return {};
  return {
      {std::string(kStatusRead), status_request(webhook_token(context)), service, std::string(api::kServiceAsWebhook)}};
}

Probe WebhookEvictor::probe(const EvictorContext& context) const {
  Probe probe;
  const std::string service = service_of(context);
  probe.adapter = service;
  if (service.empty()) {
    probe.support = Support::kUnsupported;
    probe.reason = "parameter service is not set: set it to a service of the operator's configuration";
  } else if (!is_configured(context, service)) {
    probe.support = Support::kUnsupported;
    probe.reason = fmt::format(
        "service {} is not in the operator's configuration: add it under services ({})", service,
        context.services.empty() ? "none is configured" : fmt::format("known: {}", fmt::join(context.services, ", ")));
  }
  probe.acknowledges = true;
  probe.required = true;
  return probe;
}

EvictionStep WebhookEvictor::plan(const EvictorContext& context) const {
  if (context.evacuation.status.phase == api::EvacuationPhase::kPreparing) return {NextMove::kProceed, {}};
  // A dry run never calls the service, which might not recognise it as one.
  if (context.evacuation.spec.dry_run) return {NextMove::kAct, post_eviction(context)};
  if (context.evacuation.status.phase == api::EvacuationPhase::kRequesting) return plan_request(context);
  const Look look = look_at(context);
  const bool ready = look.kind == Look::Kind::kStatus && look.status.state == ServiceState::kReadyToEvict;
  return ready ? EvictionStep{NextMove::kAct, post_eviction(context)} : EvictionStep{NextMove::kWait, {}};
}

Observation WebhookEvictor::observe(const EvictorContext& context) const {
  Observation seen;
  if (context.evacuation.spec.dry_run) return seen;
  const bool known = !context.ref(kStateRef).empty();
  const Look look = look_at(context);
  switch (look.kind) {
    case Look::Kind::kNone: break;
    case Look::Kind::kStatus: take_status(context, look.status, seen); break;
    case Look::Kind::kNothingThere:
      if (known)
        seen.failed = service_failed(
            "TokenForgotten", fmt::format("service {} does not know the token any more", service_of(context)), true);
      break;
    case Look::Kind::kContradiction: seen.failed = service_failed("ContractViolation", look.problem, false); break;
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
  const bool nothing = context.evacuation.spec.dry_run || !was_started(context) ||
                       look_at(context).kind == Look::Kind::kNothingThere || !context.ref(kNoAbortRef).empty();
  const auto told = base::parse_time(context.ref(kAbortRef));
  const bool just_told = told && *told <= context.now && context.now - *told < kAbortRetryInterval;
  if (nothing || just_told) return {};
  return {service_call(context, ActionRole::kUndo, kAbortCall, abort_request(webhook_token(context)))};
}

Rollback WebhookEvictor::undone(const EvictorContext& context) const {
  if (context.evacuation.spec.dry_run || !was_started(context)) return Rollback::kNothingToDo;
  const Look look = look_at(context);
  if (look.kind != Look::Kind::kNothingThere) return Rollback::kPending;
  // A start whose answer was lost may still arrive. A 404 is final only after the call's timeout.
  const auto& intent = context.evacuation.status.intent;
  const bool on_its_way = intent_is(context, kStart) && !intent->resolved && context.now < intent->time + kCallTimeout;
  return on_its_way ? Rollback::kPending : Rollback::kComplete;
}

}  // namespace evictors::webhook
