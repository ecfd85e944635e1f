#include "usage/sources/endpoint_client.hpp"

#include <fmt/format.h>

#include "kube/classify.hpp"
#include "kube/config/credentials.hpp"
#include "kube/refusal.hpp"

namespace usage {
namespace {

constexpr base::minutes kReadSecretsAgainAfter{5};

/// Returns true if the stored Secrets are invalid, false if they could not be read.
bool is_permanent(base::ErrorCode code) {
  return code == base::ErrorCode::kInvalid || code == base::ErrorCode::kNotFound || code == base::ErrorCode::kForbidden;
}

kube::HttpTransportOptions options_for(const api::UsageEndpoint& endpoint) {
  kube::HttpTransportOptions options;
  options.engine = kube::HttpEngine::kBeast;
  options.max_connections = 2;
  options.max_body_bytes = kMaxAnswerBytes;
  options.headers = endpoint.headers;
  return options;
}

constexpr kube::ServerSettings kEndpointSettings{"url", "bearerToken, basicAuth or tls.certificate"};

}  // namespace

base::Result<std::unique_ptr<kube::Transport>> connect_http(kube::Config config, kube::HttpTransportOptions options) {
  auto transport = kube::HttpTransport::create(std::move(config), std::move(options));
  if (!transport) return std::move(transport).error();
  return std::unique_ptr<kube::Transport>(*std::move(transport));
}

EndpointClient::EndpointClient(api::UsageEndpoint endpoint, Dependencies dependencies)
    : endpoint_(std::move(endpoint)), dependencies_(std::move(dependencies)) {}

base::Status EndpointClient::open(EndpointSecrets secrets) {
  if (transport_ && secrets == secrets_) return base::Done{};
  transport_.reset();
  kube::Config config;
  config.server = endpoint_.url;
  config.tls_server_name = endpoint_.server_name;
  config.insecure_skip_tls_verify = endpoint_.insecure_skip_verify;
  config.ca_pem = secrets.ca_pem;
  config.source = "the usage source";
  config.credentials = kube::static_credentials({secrets.authorization, secrets.certificate_pem, secrets.key_pem});
  auto transport = dependencies_.connect(std::move(config), options_for(endpoint_));
  if (!transport) return std::move(transport).error();
  transport_ = *std::move(transport);
  secrets_ = std::move(secrets);
  return base::Done{};
}

base::Status EndpointClient::connect() {
  const base::TimePoint now = dependencies_.clock->now();
  const bool is_young = read_at_ && now >= *read_at_ && now - *read_at_ < kReadSecretsAgainAfter;
  if (transport_ && is_young) return base::Done{};
  auto secrets = read_endpoint_secrets(*dependencies_.api, dependencies_.operator_namespace, endpoint_);
  if (!secrets && transport_ && !is_permanent(secrets.error().code)) return base::Done{};
  if (!secrets) {
    transport_.reset();
    return std::move(secrets).error();
  }
  auto opened = open(*std::move(secrets));
  if (opened) read_at_ = now;
  return opened;
}

base::Result<kube::Response> EndpointClient::send(kube::Request request) {
  if (auto ready = connect(); !ready) return std::move(ready).error();
  request.timeout = std::chrono::duration_cast<base::milliseconds>(endpoint_.timeout);
  auto answer = transport_->round_trip(request);
  const bool is_doubtful =
      answer ? answer->status == 401 || answer->status == 403 : answer.error().code == base::ErrorCode::kUnavailable;
  if (is_doubtful) read_at_.reset();
  if (!answer) return redacted(std::move(answer).error());
  return answer;
}

base::Error EndpointClient::redacted(base::Error error) const {
  error.message = redacted(std::move(error.message));
  return error;
}

base::Result<Samples> EndpointClient::redacted(base::Result<Samples> samples) const {
  if (!samples) return redacted(std::move(samples).error());
  for (std::string& each : samples->problems) each = redacted(std::move(each));
  return samples;
}

std::optional<base::Error> refusal_of(const kube::Response& response) {
  if (response.status >= 200 && response.status < 300) return std::nullopt;
  base::Error error{
      kube::code_of(response.status, {}),
      fmt::format("HTTP {}: {}", response.status, kube::explain_refusal(response.status, kEndpointSettings))};
  if (response.retry_after) error.retry_after = *response.retry_after;
  return error;
}

}  // namespace usage
