#include "cmd/advise/prometheus.hpp"

#include <fmt/format.h>

#include "cmd/input/files.hpp"
#include "kube/config/credentials.hpp"
#include "kube/config/url.hpp"

namespace cmd::advise {
namespace {

constexpr std::size_t kMaxSecretBytes = 1 << 20;
constexpr std::size_t kMaxMatchers = 1000;

base::Result<std::string> text_of_file(const std::string& flag, const std::string& path) {
  if (path.empty()) return std::string();
  auto text = read_file(path, kMaxSecretBytes);
  if (!text) return std::move(text).error().during(flag);
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r')) text->pop_back();
  return text;
}

base::Result<std::pair<std::string, std::string>> header_of(const std::string& text) {
  const auto colon = text.find(':');
  const auto value = colon == std::string::npos ? colon : text.find_first_not_of(' ', colon + 1);
  if (colon == 0 || value == std::string::npos || text.find_first_of("\r\n") != std::string::npos)
    return base::invalid(fmt::format("--prometheus-header: \"{}\" must be of the form \"NAME: VALUE\"", text));
  return std::pair(text.substr(0, colon), text.substr(value));
}

base::Result<api::UsageEndpoint> endpoint_of(const PrometheusOptions& options) {
  const bool is_http = options.url.starts_with("http://") || options.url.starts_with("https://");
  const auto url = kube::parse_url(options.url);
  if (!is_http || !url) return base::invalid("--prometheus: must be a URL such as http://prometheus:9090");
  if (!url->user_info.empty())
    return base::invalid("--prometheus: must not contain a password: use a token or a header");
  if (!options.token_file.empty() && !url->tls && !url->is_loopback())
    return base::invalid("--prometheus-token-file: http does not protect the token: use an https URL");
  api::UsageEndpoint endpoint;
  endpoint.url = options.url;
  const auto timeout = parse_duration_flag("--prometheus-timeout", options.timeout, base::seconds(1), base::minutes(5));
  if (!timeout) return timeout.error();
  endpoint.timeout = *timeout;
  for (const std::string& text : options.headers) {
    auto header = header_of(text);
    if (!header) return std::move(header).error();
    endpoint.headers.push_back(*std::move(header));
  }
  return endpoint;
}

}  // namespace

base::Result<kube::Response> PrometheusSession::UnreachableTransport::round_trip(const kube::Request&) {
  return base::unavailable("no API server is available");
}
base::Result<std::unique_ptr<kube::WatchStream>> PrometheusSession::UnreachableTransport::watch(const kube::Request&) {
  return base::unavailable("no API server is available");
}

base::Result<base::Duration> parse_duration_flag(const std::string& flag, const std::string& text, base::Duration least,
                                                 base::Duration most) {
  const auto duration = base::parse_duration(text);
  if (duration && *duration >= least && *duration <= most) return *duration;
  return base::invalid(fmt::format("{}: \"{}\" is not a duration between {} and {}", flag, text,
                                   base::format_duration(least), base::format_duration(most)));
}

base::Result<std::unique_ptr<PrometheusSession>> PrometheusSession::open(const PrometheusOptions& options,
                                                                         usage::DailySettings settings, plugin::Io& io,
                                                                         usage::Connect connect) {
  auto endpoint = endpoint_of(options);
  if (!endpoint) return std::move(endpoint).error();
  const auto step = parse_duration_flag("--step", options.step, base::minutes(1), base::minutes(15));
  if (!step) return step.error();
  settings.step = *step;
  if (options.matchers.size() > kMaxMatchers || options.matchers.find_first_of("{}\n") != std::string::npos)
    return base::invalid("--prometheus-matchers: must be matchers without braces, such as cluster=\"eu-1\"");
  settings.matchers = options.matchers;
  const auto token = text_of_file("--prometheus-token-file", options.token_file);
  if (!token) return token.error();
  const auto roots = text_of_file("--prometheus-ca-file", options.ca_file);
  if (!roots) return roots.error();
  usage::Dependencies dependencies;
  auto session = std::make_unique<PrometheusSession>();
  dependencies.api = &session->api_;
  dependencies.clock = &io.clock;
  dependencies.connect = [token = *token, roots = *roots, connect = std::move(connect)](
                             kube::Config config, kube::HttpTransportOptions with) {
    config.ca_pem = roots;
    config.source = "--prometheus";
    if (!token.empty()) config.credentials = kube::static_credentials({"Bearer " + token, "", ""});
    return connect(std::move(config), std::move(with));
  };
  session->settings_ = settings;
  session->history_ = std::make_unique<usage::DailyHistory>(*std::move(endpoint), std::move(dependencies), settings);
  return session;
}

}  // namespace cmd::advise
