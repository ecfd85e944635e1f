#include "test/fakes/kubevirt/virt_api.hpp"

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/api/failure.hpp"
#include "simulator/api/request_info.hpp"
#include "simulator/kubevirt/admission.hpp"

namespace fake_kubevirt {
namespace {

using api::flag_at;
using api::Json;
using api::text_at;

struct Refusal {
  int code = 429;
  std::string reason;
  std::string message;
};

http_server::Response json_reply(int status, const Json& body) {
  return {status, "application/json", body.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

Json admission_answer(const Json& review, const std::optional<Refusal>& refusal) {
  Json response = {{"uid", api::text_at(review, {"request", "uid"})}, {"allowed", !refusal}};
  if (refusal) response["status"] = {{"code", refusal->code}, {"message", refusal->message}};
  if (refusal && !refusal->reason.empty()) response["status"]["reason"] = refusal->reason;
  return {{"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}, {"response", std::move(response)}};
}

std::optional<Refusal> review_pod(simulator::kubevirt::Port& port, std::string_view webhook, const Json& review) {
  const Json* eviction = api::find_at(review, {"request", "object"});
  const Json body = eviction ? *eviction : Json::object();
  if (!simulator::kubevirt::intercepts(webhook, simulator::kubevirt::read_config(port), body)) return std::nullopt;
  const api::ObjectKey pod{api::text_at(review, {"request", "namespace"}), api::text_at(review, {"request", "name"})};
  const auto message =
      simulator::kubevirt::review_eviction(port, pod, body, api::flag_at(review, {"request", "dryRun"}));
  return message ? std::optional(Refusal{429, "", *message}) : std::nullopt;
}

/// Returns whether the user may set priorities. This fake runs as the cluster's administrator, and so do its own
/// requests.
bool is_controller(const Json& review) {
  const Json* groups = api::find_at(review, {"request", "userInfo", "groups"});
  return groups && groups->is_array() && std::find(groups->begin(), groups->end(), "system:masters") != groups->end();
}

std::optional<Refusal> review_vmim(const simulator::kubevirt::Port& port, const Json& review) {
  const Json* object = api::find_at(review, {"request", "object"});
  if (!object) return std::nullopt;
  Json vmim = *object;
  vmim["metadata"]["namespace"] = api::text_at(review, {"request", "namespace"});
  const auto refusal = simulator::kubevirt::review_migration(port, vmim, is_controller(review));
  return refusal ? std::optional(Refusal{refusal->code, refusal->reason, refusal->message}) : std::nullopt;
}

http_server::Response review(simulator::kubevirt::Port& port, const http_server::Request& request) {
  const Json asked = Json::parse(request.body, nullptr, false);
  if (!asked.is_object()) return {400, "text/plain", "no AdmissionReview"};
  if (request.path == kMigrationPath) return json_reply(200, admission_answer(asked, review_vmim(port, asked)));
  const auto webhook = request.path == kHotplugPath ? simulator::kubevirt::kHotplugEvictionWebhook
                                                    : simulator::kubevirt::kLauncherEvictionWebhook;
  return json_reply(200, admission_answer(asked, review_pod(port, webhook, asked)));
}

/// Discovery document that the aggregator reads to check availability.
Json discovery() {
  const Json resource = {{"name", "virtualmachineinstances/evacuate/cancel"},
                         {"singularName", ""},
                         {"namespaced", true},
                         {"kind", "EvacuateCancelOptions"},
                         {"verbs", Json::array({"update"})}};
  return {{"kind", "APIResourceList"},
          {"apiVersion", "v1"},
          {"groupVersion", "subresources.kubevirt.io/v1"},
          {"resources", Json::array({resource})}};
}

http_server::Response answer_of(const simulator::kubevirt::VirtApiAnswer& answer) {
  if (answer.code < 300 || answer.reason.empty()) return {answer.code, "text/plain", answer.message};
  const simulator::Failure failure{answer.code, answer.reason, answer.message, nullptr};
  return json_reply(answer.code, simulator::status_object(failure));
}

http_server::Response subresource(simulator::kubevirt::Port& port, const http_server::Request& request) {
  kube::Request as_kubernetes;
  as_kubernetes.method = request.method;
  as_kubernetes.path = request.path;
  as_kubernetes.query = request.query;
  const auto info = simulator::read_request(as_kubernetes);
  const simulator::kubevirt::VirtApiCall call{
      info.plural, info.subresource, {info.ns, info.name}, request.header("accept"), request.body};
  const auto answer = request.method == "PUT" ? simulator::kubevirt::serve_virt_api(port, call) : std::nullopt;
  return answer ? answer_of(*answer) : json_reply(404, simulator::status_object(simulator::no_such_path()));
}

}  // namespace

http_server::Handler virt_api(simulator::kubevirt::Port& port) {
  return [&port](const http_server::Request& request) -> http_server::Reply {
    if (request.path == kLauncherPath || request.path == kHotplugPath || request.path == kMigrationPath)
      return review(port, request);
    if (request.path == "/apis/subresources.kubevirt.io/v1") return json_reply(200, discovery());
    if (request.path.starts_with("/apis/subresources.kubevirt.io/v1/")) return subresource(port, request);
    return json_reply(404, simulator::status_object(simulator::no_such_path()));
  };
}

}  // namespace fake_kubevirt
