#include "simulator/http_front.hpp"

#include <fmt/format.h>

#include <thread>

#include "serving/self_signed.hpp"
#include "simulator/request_info.hpp"

namespace simulator {
namespace {

/// How long a watch without events sleeps before it looks whether its client is still there.
constexpr base::milliseconds kWatchNap{200};

kube::Request to_kube_request(const serving::Request& request) {
  kube::Request converted;
  converted.method = request.method;
  converted.path = request.path;
  converted.query = request.query;
  converted.content_type = std::string(request.header("content-type"));
  if (!request.header("accept").empty()) converted.accept = std::string(request.header("accept"));
  converted.body = request.body;
  return converted;
}

serving::Response to_serving_response(kube::Response response) {
  serving::Response converted;
  converted.status = response.status;
  if (!response.content_type.empty()) converted.content_type = std::move(response.content_type);
  converted.body = std::move(response.body);
  if (response.retry_after) converted.headers.emplace_back("Retry-After", std::to_string(response.retry_after->count()));
  return converted;
}

void produce_watch(kube::WatchStream& stream, serving::StreamWriter& writer) {
  while (!writer.closed()) {
    auto line = stream.next(kWatchNap);
    if (!line) return;  // the server ended it: timeoutSeconds is over, or a fault
    if (*line && !writer.write(**line + "\n")) return;
  }
}

std::string base64(std::string_view text) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) group = group << 8 | (i + j < text.size() ? static_cast<unsigned char>(text[i + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j) out += i + j > text.size() ? '=' : kDigits[group >> (18 - 6 * j) & 63];
  }
  return out;
}

}  // namespace

HttpFront::HttpFront(ApiServer& server, HttpFrontOptions options, base::Log log) : server_(server), options_(std::move(options)) {
  serving::ServerOptions chosen;
  chosen.port = options_.port;
  chosen.handler_threads = 64;  // answers may be delayed by faults
  chosen.max_body_bytes = std::size_t{32} << 20;
  chosen.max_header_bytes = 64 * 1024;
  if (options_.tls) {
    if (auto made = serving::make_self_signed("evacuator-simulator")) {
      ca_pem_ = made->chain_pem;
      chosen.certificate = *std::move(made);
    }
  }
  http_ = std::make_unique<serving::Server>(
      std::move(chosen), [this](const serving::Request& request) { return answer(request); }, std::move(log));
}

HttpFront::~HttpFront() { stop(); }

base::Status HttpFront::start() { return http_->start(); }
void HttpFront::stop() { http_->stop(); }
std::uint16_t HttpFront::port() const { return http_->port(); }
std::string HttpFront::url() const { return fmt::format("{}://127.0.0.1:{}", options_.tls ? "https" : "http", port()); }
std::string HttpFront::ca_pem() const { return ca_pem_; }

std::optional<User> HttpFront::user_of(const serving::Request& request) const {
  const std::string_view authorization = request.header("authorization");
  User user;
  if (authorization.starts_with("Bearer ")) {
    const auto known = options_.tokens.find(std::string(authorization.substr(7)));
    if (known == options_.tokens.end()) return std::nullopt;
    user = known->second;
  }
  user.agent = std::string(request.header("user-agent"));
  return user;
}

serving::Reply HttpFront::answer(const serving::Request& request) {
  const auto user = user_of(request);
  if (!user) {
    return serving::Response{
        .status = 401,
        .content_type = "application/json",
        .body = R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401})"};
  }
  const kube::Request converted = to_kube_request(request);
  if (read_request(converted).verb == "watch") return answer_watch(converted, *user);
  Answer answer = server_.answer(converted, *user);
  if (answer.delay > base::milliseconds(0)) std::this_thread::sleep_for(answer.delay);
  if (answer.dropped) return serving::Response{.body = {}, .drop = true};
  return to_serving_response(std::move(answer.response));
}

serving::Reply HttpFront::answer_watch(const kube::Request& request, const User& user) {
  ApiServer::WatchAnswer answer = server_.watch(request, user);
  if (!answer.stream) {
    if (answer.refusal.status == 0) return serving::Response{.body = {}, .drop = true};
    return to_serving_response(std::move(answer.refusal));
  }
  const std::shared_ptr<kube::WatchStream> stream = std::move(answer.stream);
  return serving::Stream{.produce = [stream](serving::StreamWriter& writer) { produce_watch(*stream, writer); }};
}

std::string HttpFront::kubeconfig(const std::string& token) const {
  std::string text = fmt::format(
      "apiVersion: v1\nkind: Config\nclusters:\n- name: evacuator-simulator\n  cluster:\n    server: {}\n", url());
  if (!ca_pem_.empty()) text += "    certificate-authority-data: " + base64(ca_pem_) + "\n";
  text += "users:\n- name: user\n  user: " + (token.empty() ? std::string("{}") : "\n    token: " + token) + "\n";
  text += "contexts:\n- name: evacuator-simulator\n  context: {cluster: evacuator-simulator, user: user}\n";
  text += "current-context: evacuator-simulator\n";
  return text;
}

}  // namespace simulator
