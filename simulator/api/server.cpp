#include "simulator/api/server.hpp"

#include <cstdlib>
#include <exception>

#include <fmt/format.h>

#include "api/core/protobuf/envelope.hpp"
#include "api/json/json_access.hpp"
#include "simulator/api/core.hpp"
#include "simulator/pod_facts.hpp"
#include "simulator/protobuf/encoder.hpp"

namespace simulator {
namespace {

using api::Json;

bool is_mutating(std::string_view verb) {
  return verb == "create" || verb == "update" || verb == "patch" || verb == "delete" || verb == "deletecollection";
}

/// Handles paths that are not stored resources: reviews, discovery, health.
std::optional<kube::Response> serve_path(ApiCore& core, Call& call) {
  const std::string& path = call.request.path;
  if (path == "/healthz" || path == "/readyz" || path == "/livez" || path == "/ping")
    return kube::Response{200, "ok", {}, "text/plain"};
  if (call.info.group == "authorization.k8s.io" && call.info.verb == "create") return review_access(call);
  for (const Endpoint& endpoint : core.endpoints) {
    if (auto response = endpoint(call.info, call.request)) return response;
  }
  for (const auto serve : {serve_simulator, serve_openapi, serve_discovery}) {
    if (auto response = serve(core, call)) return response;
  }
  return std::nullopt;
}

kube::Response serve_subresource(ApiCore& core, Call& call) {
  const ServedResource& resource = *call.resource;
  const std::string& name = call.info.subresource;
  const bool is_pod = resource.group.empty() && resource.plural == "pods";
  if (is_pod && name == "eviction")
    return call.info.verb == "create" ? evict_pod(core, call) : to_response(method_not_allowed());
  if (is_pod && name == "binding")
    return call.info.verb == "create" ? bind_pod(core, call) : to_response(method_not_allowed());
  if (name == "scale" && resource.has_scale && !resource.custom) return serve_scale(core, call);
  if (name != "status" || !resource.has_status) return to_response(no_such_path());
  if (call.info.verb == "get") return get_object(core, call);
  if (call.info.verb == "update") return update_object(core, call);
  if (call.info.verb == "patch") return patch_object(core, call);
  return to_response(method_not_allowed());
}

kube::Response serve_verb(ApiCore& core, Call& call) {
  const std::string& verb = call.info.verb;
  if (!call.info.subresource.empty()) return serve_subresource(core, call);
  if (verb == "get") return get_object(core, call);
  if (verb == "list") return list_objects(core, call);
  if (verb == "create" && call.info.name.empty()) return create_object(core, call);
  if (verb == "update" && !call.info.name.empty()) return update_object(core, call);
  if (verb == "patch" && !call.info.name.empty()) return patch_object(core, call);
  if (verb == "delete") return delete_object(core, call);
  if (verb == "deletecollection") return delete_collection(core, call);
  return to_response(method_not_allowed());
}

/// Finds the resource and checks that path scope and verb match it.
CheckResult find_resource(ApiCore& core, Call& call) {
  RequestInfo& info = call.info;
  call.resource = core.registry.find(info.group, info.version, info.plural);
  if (!call.resource) return no_such_path();
  const bool across_namespaces = call.resource->namespaced && info.ns.empty();
  if (across_namespaces && (!info.name.empty() || info.verb == "create" || info.verb == "deletecollection"))
    return method_not_allowed();
  if (!call.resource->namespaced && !info.ns.empty()) return no_such_path();
  const std::string dry_run = info.query.value("dryRun");
  if (!dry_run.empty() && dry_run != "All")
    return bad_request(fmt::format("dryRun: Unsupported value: \"{}\": supported values: \"All\"", dry_run));
  call.dry_run = dry_run == "All";
  return base::Done{};
}

CheckResult negotiate_output(ApiCore& core, Call& call) {
  auto output = negotiate(call.request.accept, call.info.query.value("includeObject"), core.store.clock().now(),
                          core.abilities.protobuf && protobuf_message_of(*call.resource) != nullptr);
  if (!output) return std::move(output.failure());
  call.output = *output;
  return base::Done{};
}

/// Encodes errors as protobuf for clients that requested protobuf.
kube::Response in_its_media_type(kube::Response response, const Call& call) {
  if (call.output.format != Output::Format::kProtobuf) return response;
  if (response.status >= 400 && response.content_type == "application/json")
    response.body = protobuf_status(Json::parse(response.body, nullptr, false));
  if (api::protobuf::is_envelope(response.body)) response.content_type = api::protobuf::kMediaType;
  return response;
}

kube::Response serve(ApiCore& core, Call& call) {
  if (auto response = serve_path(core, call)) return *std::move(response);
  if (!call.info.is_resource) return to_response(no_such_path());
  if (CheckResult found = find_resource(core, call); !found) return to_response(found.failure());
  if (CheckResult done = negotiate_output(core, call); !done) return to_response(done.failure());
  finish_terminating(core);
  kube::Response response = in_its_media_type(serve_verb(core, call), call);
  finish_terminating(core);
  return response;
}

void note(ApiCore& core, const Call& call, int code) {
  if (!call.info.is_resource || !is_mutating(call.info.verb)) return;
  core.log.add({core.store.clock().now(),
                call.user.name,
                call.info.verb,
                call.info.group,
                call.info.plural,
                call.info.subresource,
                {call.info.ns, call.info.name.empty() ? call.created_name : call.info.name},
                call.uid,
                code,
                call.dry_run});
}

/// Serves the request and adds it to the journal. An exception is a bug and is answered with 500.
kube::Response serve_and_journal(ApiCore& core, Call& call) {
  kube::Response response;
  try {
    response = serve(core, call);
  } catch (const std::exception& error) {
    response = to_response(internal_error(error.what()));
  }
  note(core, call, response.status);
  return response;
}

kube::Response throttled(base::seconds retry_after) {
  return {429, "Too many requests, please try again later.\n", retry_after, "text/plain; charset=utf-8"};
}

/// Returns a response without metav1.Status: HTML, plain text or no body, depending on the code.
kube::Response proxy_page(int status) {
  if (status % 3 == 0) return {status, "", {}, ""};
  if (status % 3 == 1) return {status, fmt::format("{} refused by policy\n", status), {}, "text/plain"};
  return {status, fmt::format("<html><body>{}</body></html>", status), {}, "text/html"};
}

Failure unavailable_failure() {
  return {503, "ServiceUnavailable", "the server is currently unable to handle the request", nullptr};
}

/// Returns the response of a fault that replaces the server's response, nullopt for other faults.
std::optional<ApiAnswer> instead_of_serving(const FaultRule& fault) {
  switch (fault.effect) {
    case FaultEffect::kDropRequest: return ApiAnswer{{}, true, false};
    case FaultEffect::kTooManyRequests: return ApiAnswer{throttled(fault.retry_after)};
    case FaultEffect::kInternalError: return ApiAnswer{to_response(internal_error("fault injected by the simulator"))};
    case FaultEffect::kProxyPage: return ApiAnswer{proxy_page(fault.status)};
    case FaultEffect::kUnavailable: return ApiAnswer{to_response(unavailable_failure())};
    case FaultEffect::kDropResponse:
    case FaultEffect::kDuplicate:
    case FaultEffect::kDelay:
    case FaultEffect::kCutAnswer:
    case FaultEffect::kStaleList:
    case FaultEffect::kHoldBookmark:
    case FaultEffect::kCutWatch:
    case FaultEffect::kStallWatch: return std::nullopt;
  }
  std::abort();
}

Call call_of(const kube::Request& request, const User& user) {
  return {request, user, read_request(request), nullptr, {}, false, {}, {}, {}};
}

/// Runs mutating webhooks on an object that one of the cluster's controllers is about to create.
base::Status admit_made_inside(const ApiCore& core, const kube::ResourceType& type, Json& object) {
  if (core.configured.mutates_nothing()) return base::Done{};
  object["apiVersion"] = type.api_version();
  object["kind"] = type.kind;
  auto admitted = core.configured.mutate(
      {"system:kube-controller-manager", {"system:authenticated"}, type, key_of(object), false}, object);
  if (!admitted) return base::Error{base::ErrorCode::kForbidden, admitted.failure().message};
  object = *std::move(admitted);
  return base::Done{};
}

FaultSubject subject_of(const Call& call) {
  return {call.info.verb, call.info.plural, call.info.subresource, call.user.name};
}

}  // namespace

ApiServer::ApiServer(Store& store, ApiServerOptions options)
    : core_(std::make_unique<ApiCore>(store, std::move(options))) {
  const ServedPtr definitions = core_->registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  for (const Object& definition : store.list(definitions->storage)) core_->registry.serve(*definition);
  store.set_admission([core = core_.get()](const kube::ResourceType& type, Json& object) {
    return admit_made_inside(*core, type, object);
  });
}

ApiServer::~ApiServer() { core_->store.set_admission({}); }

kube::Response ApiServer::handle(const kube::Request& request, const User& user) {
  Call call = call_of(request, user);
  return serve_and_journal(*core_, call);
}

ApiAnswer ApiServer::answer(const kube::Request& request, const User& user) {
  Call call = call_of(request, user);
  const auto fault = call.info.is_resource ? core_->faults.strike(subject_of(call)) : std::nullopt;
  if (!fault) return {serve_and_journal(*core_, call)};
  if (auto answer = instead_of_serving(*fault)) return *std::move(answer);
  if (fault->effect == FaultEffect::kStaleList) call.stale_by = fault->lag;
  if (fault->effect == FaultEffect::kDuplicate) handle(request, user);
  ApiAnswer answer{serve_and_journal(*core_, call)};
  answer.dropped = fault->effect == FaultEffect::kDropResponse;
  if (fault->effect == FaultEffect::kDelay) answer.delay = fault->delay;
  if (fault->effect == FaultEffect::kCutAnswer)
    answer.cut_at = static_cast<std::size_t>(fault->at * static_cast<double>(answer.response.body.size()));
  return answer;
}

ApiServer::WatchAnswer ApiServer::watch(const kube::Request& request, const User& user) {
  Call call = call_of(request, user);
  if (!call.info.is_resource) return {nullptr, to_response(no_such_path())};
  if (const auto fault = core_->faults.strike(subject_of(call))) {
    if (fault->effect == FaultEffect::kDropResponse || fault->effect == FaultEffect::kCutAnswer) return {nullptr, {}};
    if (auto answer = instead_of_serving(*fault)) return {nullptr, std::move(answer->response)};
  }
  if (CheckResult found = find_resource(*core_, call); !found) return {nullptr, to_response(found.failure())};
  if (CheckResult done = negotiate_output(*core_, call); !done) return {nullptr, to_response(done.failure())};
  WatchAnswer answer = open_watch(*core_, call);
  answer.is_protobuf = call.output.format == Output::Format::kProtobuf;
  if (!answer.stream) answer.refusal = in_its_media_type(std::move(answer.refusal), call);
  return answer;
}

void ApiServer::add_webhook(Webhook webhook) { core_->webhooks.push_back(std::move(webhook)); }

void ApiServer::add_validator(const kube::ResourceType& type, Validator validator) {
  core_->validators.emplace_back(std::pair(std::string(type.group), std::string(type.plural)), std::move(validator));
}

void ApiServer::add_endpoint(Endpoint endpoint) { core_->endpoints.push_back(std::move(endpoint)); }

base::Status ApiServer::install_crd(const Json& definition) {
  kube::Request request;
  request.method = "PATCH";
  request.path =
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + api::text_at(definition, {"metadata", "name"});
  request.query = "fieldManager=simulator&force=true";
  request.content_type = "application/apply-patch+yaml";
  request.body = api::to_json_text(definition);
  const kube::Response response = handle(request, User{"system:simulator", {}, {}});
  if (response.status < 300) return base::Done{};
  return base::invalid("installing the CRD: " + response.body);
}

void ApiServer::finish_terminating() { simulator::finish_terminating(*core_); }
Store& ApiServer::store() { return core_->store; }
Faults& ApiServer::faults() { return core_->faults; }
ServerFeatures& ApiServer::abilities() { return core_->abilities; }
RequestLog& ApiServer::journal() { return core_->log; }
const Registry& ApiServer::registry() const { return core_->registry; }

}  // namespace simulator
