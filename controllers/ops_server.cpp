#include "controllers/ops_server.hpp"

namespace controllers {
namespace {

serving::ServerOptions options_for(const std::string& address) {
  serving::ServerOptions options;
  options.handler_threads = 2;
  options.max_connections = 64;
  options.max_body_bytes = 64 * 1024;
  if (const auto split = serving::split_address(address)) {
    options.address = split->first == "localhost" ? "127.0.0.1" : split->first;
    options.port = split->second;
  }
  return options;
}

serving::Response verdict(const base::Status& status) {
  if (status) return {.status = 200, .body = "ok\n"};
  return {.status = 503, .body = status.error().message + "\n"};
}

}  // namespace

OpsServer::OpsServer(std::string address, base::Metrics& metrics, OpsChecks checks, base::Log log)
    : address_(std::move(address)),
      metrics_(metrics),
      checks_(std::move(checks)),
      server_(
          options_for(address_), [this](const serving::Request& request) { return answer(request); }, std::move(log)) {}

base::Status OpsServer::start() {
  if (!serving::split_address(address_)) {
    return base::invalid("server.address: \"" + address_ + "\" is not host:port, such as 0.0.0.0:8080");
  }
  return server_.start();
}

serving::Response OpsServer::answer(const serving::Request& request) const {
  if (request.method != "GET" && request.method != "HEAD") return {.status = 405, .body = "only GET\n"};
  if (request.path == "/metrics") {
    return {.status = 200, .content_type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics_.render()};
  }
  if (request.path == "/healthz" || request.path == "/livez") return verdict(checks_.alive());
  if (request.path == "/readyz") return verdict(checks_.ready());
  return {.status = 404, .body = "there are /metrics, /healthz, /livez and /readyz\n"};
}

}  // namespace controllers
