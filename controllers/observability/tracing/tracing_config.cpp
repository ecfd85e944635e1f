#include "controllers/observability/tracing/tracing_config.hpp"

#include "kube/config/url.hpp"

namespace controllers {
namespace {

/// Errors never quote the endpoint, because a user may have put a secret into it.
std::string complaint_about_endpoint(const TracingConfig& config) {
  if (config.endpoint.find_first_of("?#") != std::string::npos) return "must not have a query or fragment";
  const auto url = kube::parse_url(config.endpoint);
  if (config.endpoint.find("://") == std::string::npos || !url)
    return "must be a URL such as https://collector.example.com:4318/v1/traces";
  if (!url->user_info.empty()) return "must not contain a user name or password: use headersFile";
  if (url->path.empty()) return "must have a path: collectors accept traces at /v1/traces";
  if (url->tls || url->is_loopback()) return {};
  if (!config.insecure) return "must be https; http requires insecure: true, except to 127.0.0.1, ::1 and localhost";
  return {};
}

}  // namespace

void read_tracing(api::StrictObject& object, TracingConfig& target) {
  object.read("endpoint", target.endpoint);
  object.read("insecure", target.insecure);
  object.read("caFile", target.ca_file);
  object.read("headersFile", target.headers_file);
  object.read("samplingPercent", target.sampling_percent);
  object.read_duration("timeout", target.timeout);
}

void check_tracing(const TracingConfig& config, api::FieldErrors& errors) {
  const api::FieldPath at("tracing");
  const auto require = [&](bool holds, const char* field, std::string message) {
    if (!holds) errors.push_back({at.field(field).text(), std::move(message)});
  };
  require(config.sampling_percent >= 0 && config.sampling_percent <= 100, "samplingPercent", "must be from 0 to 100");
  require(config.timeout >= base::seconds(1) && config.timeout <= base::seconds(30), "timeout",
          "must be from 1s to 30s");
  require(config.headers_file.empty() || config.headers_file.starts_with("/"), "headersFile",
          "must be the path of a file, such as a key of a mounted Secret");
  if (config.endpoint.empty()) return;
  std::string complaint = complaint_about_endpoint(config);
  require(complaint.empty(), "endpoint", complaint);
  if (!complaint.empty()) return;
  require(config.ca_file.empty() || config.endpoint.starts_with("https://"), "caFile", "requires an https endpoint");
}

}  // namespace controllers
