#include "test/fakes/webhook_service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace fakes {
namespace {

using Json = nlohmann::json;
using Lie = WebhookBehaviour::Lie;

constexpr const char* kApiVersion = "evacuator.dev/webhook/v1";
constexpr std::string_view kPrefix = "/v1/evacuations/";

http_server::Response json_answer(int status, const Json& body) {
  return {status, "application/json", body.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

http_server::Response problem(int status, const std::string& message) {
  return json_answer(status, {{"apiVersion", kApiVersion}, {"message", message}});
}

std::string text_of(const Json& object, const char* name) {
  const auto at = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

/// Returns an error in the body of a start request, empty if it is valid.
std::string complaint_about(const Json& body, const std::string& token) {
  if (!body.is_object()) return "the body must be a JSON object";
  if (text_of(body, "apiVersion") != kApiVersion) return std::string("apiVersion: must be ") + kApiVersion;
  if (text_of(body, "token") != token) return "token: must be the one in the path";
  const Json pod = body.value("pod", Json::object());
  if (text_of(pod, "name").empty() || text_of(pod, "uid").empty()) return "pod: name and uid are required";
  return {};
}

}  // namespace

WebhookService::WebhookService(const base::Clock& clock, WebhookBehaviour behaviour)
    : clock_(clock), behaviour_(std::move(behaviour)) {}

void WebhookService::become(WebhookBehaviour behaviour) {
  const std::scoped_lock lock(mutex_);
  behaviour_ = std::move(behaviour);
}

std::vector<std::string> WebhookService::tokens() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> tokens;
  for (const auto& [token, work] : works_) tokens.push_back(token);
  return tokens;
}

std::size_t WebhookService::starts() const {
  const std::scoped_lock lock(mutex_);
  return starts_;
}

void WebhookService::forget_aborted() {
  std::erase_if(works_, [this](const auto& each) { return each.second.forget_at <= clock_.now(); });
}

http_server::Response WebhookService::answer(const http_server::Request& request) {
  const std::scoped_lock lock(mutex_);
  if (behaviour_.lie == Lie::kHtml) return {200, "text/html", "<!DOCTYPE html><html><body>Please log in</body></html>"};
  if (behaviour_.lie == Lie::kServerError) return problem(500, "out of order");
  const bool welcome = behaviour_.bearer.empty() || request.header("authorization") == "Bearer " + behaviour_.bearer;
  if (!welcome) return problem(401, "a valid bearer token is required");
  if (!request.path.starts_with(kPrefix)) return problem(404, "there is only /v1/evacuations/<token>");
  const std::string token = request.path.substr(kPrefix.size());
  forget_aborted();
  if (request.method == "POST") return start(token, request.body);
  if (request.method == "GET") return status(token);
  if (request.method == "DELETE") return abort(token);
  return problem(405, "POST, GET or DELETE");
}

http_server::Response WebhookService::start(const std::string& token, const std::string& body) {
  const Json json = Json::parse(body, nullptr, false);
  const std::string complaint = complaint_about(json, token);
  if (!complaint.empty() && behaviour_.lie != Lie::kAcceptsNonsense) return problem(400, complaint);
  if (aborted_.contains(token)) return problem(410, "this token was aborted");
  const auto known = works_.find(token);
  if (known != works_.end() && behaviour_.lie != Lie::kStartsAnew) return describe(token, known->second, 200);
  const Json pod = json.is_object() ? json.value("pod", Json::object()) : Json::object();
  Work work;
  work.began = clock_.now();
  work.pod = text_of(pod, "namespace") + "/" + text_of(pod, "name");
  if (known == works_.end()) ++starts_;
  return describe(token, works_[token] = work, 202);
}

http_server::Response WebhookService::status(const std::string& token) {
  const auto known = works_.find(token);
  const bool forgotten = known != works_.end() && behaviour_.lie == Lie::kForgets && known->second.seen_running;
  if (known == works_.end() || forgotten) return problem(404, "no such evacuation");
  return describe(token, known->second, 200);
}

http_server::Response WebhookService::abort(const std::string& token) {
  const auto known = works_.find(token);
  if (behaviour_.lie == Lie::kIgnoresAbort) return problem(202, "sure");
  if (behaviour_.lie == Lie::kRefusesAbort && known != works_.end()) return problem(409, "too late to stop");
  aborted_.insert(token);
  if (known == works_.end()) return problem(404, "no such evacuation");
  known->second.forget_at = std::min(known->second.forget_at, clock_.now() + behaviour_.aborting);
  forget_aborted();
  return works_.contains(token) ? problem(202, "undoing") : http_server::Response{204, "", ""};
}

http_server::Response WebhookService::describe(const std::string& token, Work& work, int code) {
  const base::Duration age = clock_.now() - work.began;
  const bool done = age >= behaviour_.takes;
  const auto progress = behaviour_.takes.count() == 0 ? 100 : std::min<std::int64_t>(100, 100 * age / behaviour_.takes);
  Json body = {{"apiVersion", kApiVersion},
               {"token", token},
               {"state", age.count() == 0 ? "Accepted" : "InProgress"},
               {"evictBy", behaviour_.evicts_itself ? "service" : "controller"},
               {"progress", progress},
               {"expectedCompletion", base::format_time(work.began + behaviour_.takes)},
               {"message", "moving " + work.pod}};
  if (done) body["state"] = behaviour_.evicts_itself ? "Moved" : "ReadyToEvict";
  if (done && !behaviour_.fails.empty()) {
    body["state"] = "Failed";
    body["reason"] = behaviour_.fails;
    body["retryable"] = behaviour_.retryable;
  }
  switch (behaviour_.lie) {
    case Lie::kWrongToken: body["token"] = "somebody-elses.7"; break;
    case Lie::kHuge: body["message"] = std::string(300'000, 'x'); break;
    case Lie::kWrongTypes: body["progress"] = "half"; break;
    case Lie::kWildProgress: body["progress"] = 1'000'000'000; break;
    case Lie::kBackwards: body["state"] = work.seen_running ? "Accepted" : "InProgress"; break;
    case Lie::kMovedButStays:
      body["state"] = "Moved";
      body["evictBy"] = "service";
      break;
    default: break;
  }
  work.seen_running = true;
  return json_answer(code, body);
}

}  // namespace fakes
