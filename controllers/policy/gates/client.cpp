#include "controllers/policy/gates/client.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "controllers/policy/gates/answers.hpp"
#include "kube/config/url.hpp"
#include "kube/escape.hpp"
#include "usage/sources/endpoint_client.hpp"

namespace controllers {
namespace {

/// Longer queries are sent as a form in the body, because proxies limit lines to 8 KiB.
constexpr std::size_t kMaxTarget = 4000;

class HttpGateClient final : public GateClient {
 public:
  HttpGateClient(const api::UsageEndpoint& endpoint, usage::Dependencies dependencies)
      : client_(endpoint, std::move(dependencies)) {}

  base::Result<std::string> ask(kube::Request request) override {
    auto answer = client_.send(std::move(request));
    if (!answer) return std::move(answer).error();
    if (auto refusal = usage::refusal_of(*answer)) return *std::move(refusal);
    return std::move(answer->body);
  }
  std::string redacted(std::string text) const override { return client_.redacted(std::move(text)); }

 private:
  usage::EndpointClient client_;
};

kube::Request query_request(const std::string& expression) {
  kube::Request request;
  request.path = "/api/v1/query";
  kube::append_query(request.query, "query", expression);
  if (request.query.size() <= kMaxTarget) return request;
  request.method = "POST";
  request.content_type = "application/x-www-form-urlencoded";
  request.body = std::exchange(request.query, {});
  return request;
}

/// Returns name="value" with special characters escaped.
std::string matcher(const std::string& name, const std::string& value) {
  std::string text = name + "=\"";
  for (const char each : value) {
    if (each == '"' || each == '\\') text += '\\';
    text += each == '\n' ? std::string("\\n") : std::string(1, each);
  }
  return text + '"';
}

kube::Request alerts_request(const api::PolicyGate& gate) {
  kube::Request request;
  request.path = "/api/v2/alerts";
  request.query = "active=true&silenced=false&inhibited=false";
  for (const auto& [name, value] : gate.matchers) kube::append_query(request.query, "filter", matcher(name, value));
  return request;
}

kube::Request webhook_request(const std::string& policy, const api::PolicyGate& gate,
                              const api::UsageEndpoint& endpoint) {
  kube::Request request;
  request.method = "POST";
  const auto url = kube::parse_url(endpoint.url);
  request.path = url && url->path.empty() ? "/" : "";
  request.content_type = "application/json";
  request.body = api::Json{{"policy", policy}, {"gate", gate.name}}.dump();
  return request;
}

}  // namespace

GateClientFactory http_gate_clients(usage::Dependencies dependencies) {
  return [dependencies = std::move(dependencies)](const api::UsageEndpoint& endpoint, std::size_t most_bytes) {
    usage::Dependencies limited = dependencies;
    limited.connect = [connect = dependencies.connect, most_bytes](kube::Config config,
                                                                   kube::HttpTransportOptions options) {
      options.max_body_bytes = most_bytes;
      config.source = "the gate";
      return connect(std::move(config), std::move(options));
    };
    return std::make_unique<HttpGateClient>(endpoint, std::move(limited));
  };
}

std::size_t max_answer_bytes(api::GateType type) {
  switch (type) {
    case api::GateType::kPrometheus: return kMaxQueryBytes;
    case api::GateType::kAlertmanager: return kMaxAlertsBytes;
    case api::GateType::kWebhook: return kMaxWebhookBytes;
  }
  return kMaxWebhookBytes;
}

base::Result<GateAnswer> ask_gate(GateClient& client, const std::string& policy, const api::PolicyGate& gate,
                                  const api::UsageEndpoint& endpoint) {
  const auto answered = [&](kube::Request request, auto read) -> base::Result<GateAnswer> {
    const auto body = client.ask(std::move(request));
    if (!body) return body.error();
    auto answer = read(*body);
    if (answer) answer->value = client.redacted(std::move(answer->value));
    return answer;
  };
  switch (gate.type) {
    case api::GateType::kPrometheus: return answered(query_request(gate.query), read_query_answer);
    case api::GateType::kAlertmanager: return answered(alerts_request(gate), read_alerts_answer);
    case api::GateType::kWebhook: return answered(webhook_request(policy, gate, endpoint), read_webhook_answer);
  }
  return base::invalid("unknown type of gate");
}

}  // namespace controllers
