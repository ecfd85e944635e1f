#include "controllers/observability/metrics_server.hpp"

#include <algorithm>
#include <cstdlib>

#include "http_server/address.hpp"
#include "http_server/certificates.hpp"
#include "kube/config/files.hpp"

namespace controllers {
namespace {

http_server::Response refusal(Access access) {
  switch (access) {
    case Access::kAllowed: break;
    case Access::kUnauthenticated:
      return {.status = 401,
              .body = "a bearer token that the API server accepts is required\n",
              .headers = {{"WWW-Authenticate", "Bearer"}}};
    case Access::kForbidden:
      return {.status = 403, .body = "forbidden: bind the ClusterRole evacuator-metrics-reader\n"};
    case Access::kUnknown: return {.status = 503, .body = "the API server did not confirm your identity; try again\n"};
    case Access::kRateLimited:
      return {.status = 429, .body = "too many unknown tokens; try again later\n", .headers = {{"Retry-After", "1"}}};
  }
  return {.status = 500, .body = "\n"};
}

constexpr std::string_view kTextFormat = "text/plain; version=0.0.4; charset=utf-8";
constexpr std::string_view kOpenMetricsFormat = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Removes the part before `mark` from `text`, including the mark, and returns it trimmed.
std::string_view take_until(std::string_view& text, char mark) {
  const auto at = text.find(mark);
  const std::string_view part = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return kube::trim(part);
}

/// One media range of the Accept header.
struct Accepted {
  std::string_view type;
  std::string_view version;
  double quality = 1;
};

Accepted read_accepted(std::string_view range) {
  Accepted accepted{.type = take_until(range, ';'), .version = {}};
  while (!range.empty()) {
    std::string_view value = take_until(range, ';');
    const std::string_view name = take_until(value, '=');
    if (name == "version") accepted.version = kube::trim(value);
    if (name != "q") continue;
    const std::string number(kube::trim(value));
    char* end = nullptr;
    accepted.quality = std::strtod(number.c_str(), &end);
    if (end == number.c_str() || !(accepted.quality >= 0 && accepted.quality <= 1)) accepted.quality = 0;
  }
  return accepted;
}

}  // namespace

bool prefers_openmetrics(std::string_view accept) {
  double openmetrics = 0;
  double text = 0;
  while (!accept.empty()) {
    const Accepted each = read_accepted(take_until(accept, ','));
    const bool is_known = each.version.empty() || each.version == "1.0.0";
    if (each.type == "application/openmetrics-text" && is_known) openmetrics = std::max(openmetrics, each.quality);
    if (each.type == "text/plain" || each.type == "text/*") text = std::max(text, each.quality);
  }
  return openmetrics > 0 && openmetrics >= text;
}

MetricsServer::MetricsServer(MetricsServerOptions options, base::Metrics& metrics, MayRead may_read,
                             const base::Clock& clock, base::Log log)
    : options_(std::move(options)),
      is_plain_(http_server::is_loopback(options_.address)),
      metrics_(metrics),
      may_read_(std::move(may_read)),
      clock_(clock),
      log_(std::move(log)) {}

base::Status MetricsServer::start() {
  if (auto problem = http_server::address_problem(options_.address); !problem.empty())
    return base::invalid("server.metricsAddress: " + problem);
  http_server::ServerOptions serving_options = http_server::server_options(options_.address);
  serving_options.on_end = options_.on_end;
  if (!is_plain_) {
    auto certificate = load();
    if (!certificate) return std::move(certificate).error();
    serving_options.certificate = certificate_ = *std::move(certificate);
  }
  server_.emplace(
      std::move(serving_options), [this](const http_server::Request& request) { return answer(request); }, log_);
  return server_->start();
}

base::Result<http_server::Certificate> MetricsServer::load() const {
  if (options_.cert_file.empty()) {
    auto made = http_server::make_server_identity(options_.names, clock_.now(), "evacuator");
    if (!made) return std::move(made).error().during("server: making a certificate");
    return http_server::Certificate{made->certificate + made->ca, made->key};
  }
  auto chain = kube::read_file(options_.cert_file);
  if (!chain) return std::move(chain).error().during("server.metricsCertFile");
  auto key = kube::read_file(options_.key_file);
  if (!key) return std::move(key).error().during("server.metricsKeyFile");
  return http_server::Certificate{*std::move(chain), *std::move(key)};
}

base::Status MetricsServer::reload() {
  if (is_plain_ || options_.cert_file.empty() || !server_) return base::Done{};
  auto now = load();
  if (!now) return std::move(now).error();
  if (now->chain_pem == certificate_.chain_pem && now->key_pem == certificate_.key_pem) return base::Done{};
  if (auto taken = server_->reload(*now); !taken) return std::move(taken).error().during("server.metricsCertFile");
  certificate_ = *std::move(now);
  log_.info("the certificate of /metrics was replaced", {base::kv("file", options_.cert_file)});
  return base::Done{};
}

http_server::Response MetricsServer::answer(const http_server::Request& request) const {
  if (request.method != "GET" && request.method != "HEAD") return {.status = 405, .body = "the only method is GET\n"};
  if (request.path != "/metrics")
    return {.status = 404, .body = "the only path is /metrics; health is served at server.healthAddress\n"};
  if (!is_plain_) {
    const Access access = may_read_(bearer_token(request.header("authorization")), request.peer);
    if (access != Access::kAllowed) return refusal(access);
  }
  if (options_.refresh) {
    const std::scoped_lock lock(refreshing_);
    options_.refresh();
  }
  if (prefers_openmetrics(request.header("accept")))
    return {.status = 200, .content_type = std::string(kOpenMetricsFormat), .body = metrics_.render_openmetrics()};
  return {.status = 200, .content_type = std::string(kTextFormat), .body = metrics_.render()};
}

}  // namespace controllers
