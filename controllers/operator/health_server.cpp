#include "controllers/operator/health_server.hpp"

#include "http_server/address.hpp"

namespace controllers {
namespace {

http_server::Response verdict(const base::Status& status) {
  if (status) return {.status = 200, .body = "ok\n"};
  return {.status = 503, .body = status.error().message + "\n"};
}

http_server::ServerOptions health_options(const std::string& address, http_server::OnEnd on_end) {
  http_server::ServerOptions options = http_server::server_options(address);
  options.on_end = std::move(on_end);
  return options;
}

}  // namespace

HealthServer::HealthServer(std::string address, HealthChecks checks, base::Log log, http_server::OnEnd on_end)
    : address_(std::move(address)),
      checks_(std::move(checks)),
      server_(
          health_options(address_, std::move(on_end)),
          [this](const http_server::Request& request) { return answer(request); }, std::move(log)) {}

base::Status HealthServer::start() {
  if (auto problem = http_server::address_problem(address_); !problem.empty())
    return base::invalid("server.healthAddress: " + problem);
  return server_.start();
}

http_server::Response HealthServer::answer(const http_server::Request& request) const {
  if (request.method != "GET" && request.method != "HEAD") return {.status = 405, .body = "the only method is GET\n"};
  if (request.path == "/healthz" || request.path == "/livez") return verdict(checks_.alive());
  if (request.path == "/readyz") return verdict(checks_.ready());
  return {.status = 404,
          .body = "the only paths are /healthz, /livez and /readyz; /metrics is served at server.metricsAddress\n"};
}

}  // namespace controllers
