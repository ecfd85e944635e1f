#include "simulator/http_server.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/core/protobuf/envelope.hpp"
#include "api/json/yaml.hpp"
#include "base/base64.hpp"
#include "http_server/server.hpp"
#include "simulator/api/failure.hpp"
#include "simulator/api/request_info.hpp"

namespace simulator {
namespace {

constexpr base::milliseconds kWatchPoll{250};  // maximum delay until a watch notices that the client has disconnected
constexpr base::milliseconds kMaxDelay{60'000};
constexpr const char* kAdminToken =
    "simulator-admin";  // kubectl prompts for a user name if a kubeconfig has no credentials

/// Returns the user of the request, nullopt for an unknown token.
std::optional<User> user_of(const HttpServerOptions& options, const http_server::Request& request) {
  constexpr std::string_view kBearer = "Bearer ";
  User user = options.anonymous;
  const std::string_view credentials = request.header("authorization");
  if (credentials.starts_with(kBearer)) {
    const std::string token(credentials.substr(kBearer.size()));
    const auto known = options.tokens.find(token);
    if (known == options.tokens.end() && token != kAdminToken) return std::nullopt;
    if (known != options.tokens.end()) user = known->second;
  }
  if (const std::string_view other = request.header("impersonate-user"); !other.empty()) user.name = other;
  user.agent = request.header("user-agent");
  return user;
}

kube::Request kube_request(const http_server::Request& request) {
  kube::Request converted;
  converted.method = request.method;
  converted.path = request.path;
  converted.query = request.query;
  converted.content_type = request.header("content-type");
  converted.accept = request.header("accept");
  converted.body = request.body;
  return converted;
}

http_server::Response http_response(kube::Response&& response) {
  http_server::Response converted;
  converted.status = response.status;
  converted.content_type = response.content_type.empty() ? "application/json" : response.content_type;
  converted.body = std::move(response.body);
  converted.headers = {{"Cache-Control", "no-cache, private"}};
  if (response.retry_after)
    converted.headers.emplace_back("Retry-After", std::to_string(response.retry_after->count()));
  return converted;
}

http_server::Response dropped_connection() {
  http_server::Response response;
  response.drop = true;
  return response;
}

bool is_watch(const http_server::Request& request) {
  return request.method == "GET" && Query::parse(request.query).flag("watch");
}

/// Returns a protobuf watch event in wire format: four bytes of length, big-endian, then the event.
std::string framed(const std::string& event) {
  std::string frame;
  for (int shift = 24; shift >= 0; shift -= 8)
    frame += static_cast<char>(static_cast<unsigned>(event.size()) >> static_cast<unsigned>(shift));
  return frame + event;
}

/// Copies events until the stream ends or the client disconnects.
void pump(kube::WatchStream& stream, http_server::StreamWriter& writer, bool is_protobuf) {
  while (!writer.closed()) {
    auto line = stream.next(kWatchPoll);
    if (!line) return;
    if (*line && !writer.write(is_protobuf ? framed(**line) : **line + "\n")) return;
  }
}

/// Sends the first `at` bytes of the response, then closes the connection.
http_server::Stream cut(kube::Response response, std::size_t at) {
  return {response.status, response.content_type,
          [begin = response.body.substr(0, at)](http_server::StreamWriter& writer) {
            if (begin.empty() || writer.write(begin)) writer.abort();
          }};
}

http_server::Reply serve_watch(ApiServer& server, const kube::Request& request, const User& user) {
  ApiServer::WatchAnswer answer = server.watch(request, user);
  if (!answer.stream && answer.refusal.status == 0) return dropped_connection();
  if (!answer.stream) return http_response(std::move(answer.refusal));
  const std::shared_ptr<kube::WatchStream> stream = std::move(answer.stream);
  const bool is_protobuf = answer.is_protobuf;
  return http_server::Stream{
      200, is_protobuf ? std::string(api::protobuf::kMediaType) + ";stream=watch" : "application/json",
      [stream, is_protobuf](http_server::StreamWriter& writer) { pump(*stream, writer, is_protobuf); }};
}

http_server::Reply serve_request(ApiServer& server, const HttpServerOptions& options,
                                 const http_server::Request& request) {
  const auto user = user_of(options, request);
  if (!user) return http_response(to_response({401, "Unauthorized", "Unauthorized", nullptr}));
  const kube::Request converted = kube_request(request);
  if (is_watch(request)) return serve_watch(server, converted, *user);
  ApiAnswer answer = server.answer(converted, *user);
  if (answer.delay > base::milliseconds(0)) std::this_thread::sleep_for(std::min(answer.delay, kMaxDelay));
  if (answer.dropped) return dropped_connection();
  if (answer.cut_at) return cut(std::move(answer.response), *answer.cut_at);
  return http_response(std::move(answer.response));
}

}  // namespace

HttpServer::HttpServer(ApiServer& server, HttpServerOptions options, base::Log log)
    : server_(server), options_(std::move(options)) {
  http_server::ServerOptions http;
  http.address = options_.address;
  http.port = options_.port;
  http.handler_threads = options_.handler_threads;
  if (options_.identity)
    http.certificate = http_server::Certificate{options_.identity->certificate, options_.identity->key};
  http_ = std::make_unique<http_server::Server>(
      std::move(http),
      [this](const http_server::Request& request) { return serve_request(server_, options_, request); },
      std::move(log));
}

HttpServer::~HttpServer() { stop(); }

base::Status HttpServer::start() { return http_->start(); }
void HttpServer::stop() { http_->stop(); }
std::uint16_t HttpServer::port() const { return http_->port(); }

std::string HttpServer::url() const {
  const bool v6 = options_.address.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", options_.identity ? "https" : "http", v6 ? "[" : "", options_.address,
                     v6 ? "]" : "", port());
}

std::string HttpServer::kubeconfig(const std::string& token) const {
  using api::Json;
  Json cluster = {{"server", url()}};
  if (options_.identity) cluster["certificate-authority-data"] = base::encode_base64(options_.identity->ca);
  const auto list_of_one = [](const char* what, Json value) {
    return Json::array({Json{{"name", "simulator"}, {what, std::move(value)}}});
  };
  return api::to_yaml(
      {{"apiVersion", "v1"},
       {"kind", "Config"},
       {"current-context", "simulator"},
       {"clusters", list_of_one("cluster", std::move(cluster))},
       {"contexts",
        list_of_one("context", {{"cluster", "simulator"}, {"user", "simulator"}, {"namespace", "default"}})},
       {"users", list_of_one("user", {{"token", token.empty() ? kAdminToken : token}})}});
}

}  // namespace simulator
