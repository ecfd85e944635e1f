#include "controllers/operator/operator_config.hpp"

#include <nlohmann/json.hpp>

#include "api/evacuation_parts.hpp"
#include "api/json/log_names.hpp"
#include "api/json/strict_object.hpp"
#include "api/json/yaml.hpp"
#include "api/meta/names.hpp"
#include "controllers/operator/audit_config.hpp"

namespace controllers {
namespace {

using api::StrictObject;

void read_cluster_limits(StrictObject& limits, OperatorConfig& config) {
  limits.with("inFlight", [&](StrictObject& object) { api::read_in_flight(object, config.in_flight); });
  api::read_rate(limits, config.rate);
  api::read_cooldown(limits, config.cooldown);
  limits.read_duration("slotWithoutProgress", config.slot_without_progress);
  limits.read_duration("maxProgress", config.max_progress);
  limits.with("manual", [&](StrictObject& object) {
    object.read("priority", config.manual.priority);
    object.read_duration("suspended", config.manual.suspended);
    object.read_duration("ttlAfterFinished", config.manual.ttl_after_finished);
  });
}

void read_leader_election(StrictObject& object, OperatorConfig::LeaderElection& target) {
  object.read("enabled", target.enabled);
  object.read("namespace", target.ns);
  object.read("name", target.name);
  object.read_duration("leaseDuration", target.lease_duration);
  object.read_duration("renewDeadline", target.renew_deadline);
  object.read_duration("retryPeriod", target.retry_period);
  object.read("claimNamespace", target.claim_ns);
}

void read_webhook(StrictObject& object, OperatorConfig::Webhook& target) {
  object.read("enabled", target.enabled);
  object.read("address", target.address);
  object.read("serviceName", target.service);
  object.read("configurationName", target.configuration);
  object.read("secretName", target.secret);
  object.read_duration("rotateAfter", target.rotate_after);
  object.read("allowRequired", target.allow_required);
  object.read("certFile", target.cert_file);
  object.read("keyFile", target.key_file);
  object.read("clientCAFile", target.client_ca_file);
  object.with("admission", [&](StrictObject& admission) {
    admission.read("enabled", target.admission.enabled);
    admission.read("serviceName", target.admission.service);
    admission.read("configurationName", target.admission.configuration);
    admission.read("trustCreators", target.admission.trust_creators);
  });
}

void read_config(StrictObject& root, OperatorConfig& config) {
  root.with("limits", [&](StrictObject& object) { read_cluster_limits(object, config); });
  root.with("leaderElection", [&](StrictObject& object) { read_leader_election(object, config.leader_election); });
  root.with("signing", [&](StrictObject& object) {
    object.read("secretName", config.signing.secret);
    object.read_duration("rotateAfter", config.signing.rotate_after);
  });
  root.with("client", [&](StrictObject& object) {
    if (const api::Json* qps = object.find("qps"); qps && qps->is_number())
      config.qps = qps->get<double>();
    else if (qps)
      object.complain("qps", "must be a number");
    object.read("burst", config.burst);
  });
  root.with("server", [&](StrictObject& object) {
    object.read("healthAddress", config.server.health_address);
    object.read("metricsAddress", config.server.metrics_address);
    object.read("metricsCertFile", config.server.cert_file);
    object.read("metricsKeyFile", config.server.key_file);
  });
  root.with("webhook", [&](StrictObject& object) { read_webhook(object, config.webhook); });
  root.with("extender", [&](StrictObject& object) { object.read("servesHints", config.extender_serves_hints); });
  root.with("logging", [&](StrictObject& object) {
    object.read("level", api::kLogLevels, config.log_level);
    object.read("format", api::kLogFormats, config.log_format);
  });
  root.read("workers", config.workers);
  root.with("audit", [&](StrictObject& object) { read_audit(object, config.audit); });
  read_services(root, config.services);
  read_notifications(root, config.notifications);
  root.with("resourceAdvice", [&](StrictObject& object) { read_resource_advice(object, config.resource_advice); });
  root.with("tracing", [&](StrictObject& object) { read_tracing(object, config.tracing); });
  root.with("responder", [&](StrictObject& object) { object.read("enabled", config.responder_enabled); });
}

template <typename Require>
void check_webhook(const OperatorConfig::Webhook& webhook, const Require& require) {
  require(webhook.address.rfind(':') != std::string::npos, "webhook.address",
          "must be host:port, such as 0.0.0.0:9443");
  require(api::is_dns_label(webhook.service), "webhook.serviceName", "must be the name of a Service");
  require(api::is_dns_subdomain(webhook.configuration), "webhook.configurationName",
          "must be the name of a MutatingWebhookConfiguration");
  require(api::is_dns_label(webhook.admission.service), "webhook.admission.serviceName",
          "must be the name of a Service");
  require(api::is_dns_subdomain(webhook.admission.configuration), "webhook.admission.configurationName",
          "must be the name of webhook configurations");
  require(!webhook.enabled || webhook.admission.configuration != webhook.configuration,
          "webhook.admission.configurationName", "must not be webhook.configurationName");
  require(api::is_dns_subdomain(webhook.secret), "webhook.secretName", "must be the name of a Secret");
  require(webhook.rotate_after >= std::chrono::hours(1) && webhook.rotate_after <= std::chrono::hours(24 * 80),
          "webhook.rotateAfter", "must be from 1h to 1920h: certificates are valid for 2160h");
  require(webhook.cert_file.empty() == webhook.key_file.empty(), "webhook.certFile",
          "must be given together with webhook.keyFile");
}

/// Checks the limits on how long slots, suspended and finished Evacuations are kept.
template <typename Require>
void check_stay(const OperatorConfig& config, const Require& require) {
  constexpr base::Duration kOff{0};
  constexpr base::Duration kMax = std::chrono::hours(24 * 365);
  const auto is_within = [&](base::Duration value, base::Duration least) { return value >= least && value <= kMax; };
  require(config.slot_without_progress == kOff || is_within(config.slot_without_progress, base::minutes(1)),
          "limits.slotWithoutProgress", "must be 0s (never) or from 1m to 8760h");
  require(is_within(config.max_progress, base::minutes(1)), "limits.maxProgress", "must be from 1m to 8760h");
  require(config.manual.priority >= 0 && config.manual.priority <= api::bounds::kMaxPriority, "limits.manual.priority",
          "must be from 0 to 1000000000");
  require(config.manual.suspended == kOff || is_within(config.manual.suspended, base::minutes(1)),
          "limits.manual.suspended", "must be 0s (never) or from 1m to 8760h");
  require(is_within(config.manual.ttl_after_finished, kOff), "limits.manual.ttlAfterFinished",
          "must be from 0s to 8760h");
}

}  // namespace

std::optional<base::LogLevel> parse_log_level(std::string_view text) { return api::value_of(api::kLogLevels, text); }
std::optional<base::LogFormat> parse_log_format(std::string_view text) { return api::value_of(api::kLogFormats, text); }

api::FieldErrors validate(const OperatorConfig& config) {
  api::FieldErrors errors;
  const auto require = [&](bool holds, const char* path, std::string message) {
    if (!holds) errors.push_back({path, std::move(message)});
  };
  api::validate_in_flight(config.in_flight, api::FieldPath("limits.inFlight"), errors);
  api::validate_rate(config.rate, api::FieldPath("limits.rate"), errors);
  api::validate_cooldown(config.cooldown, api::FieldPath("limits.cooldown"), errors);
  check_stay(config, require);
  const auto& election = config.leader_election;
  require(election.retry_period >= base::milliseconds(100), "leaderElection.retryPeriod", "must be at least 100ms");
  require(election.renew_deadline > election.retry_period, "leaderElection.renewDeadline",
          "must be longer than retryPeriod");
  require(election.lease_duration > election.renew_deadline, "leaderElection.leaseDuration",
          "must be longer than renewDeadline, otherwise two replicas could act at once");
  require(election.lease_duration >= base::seconds(1), "leaderElection.leaseDuration", "must be at least 1s");
  require(!election.name.empty(), "leaderElection.name", "must not be empty");
  require(election.claim_ns.empty() || api::is_dns_label(election.claim_ns), "leaderElection.claimNamespace",
          "must be the name of a namespace, or empty: no installation Lease is created");
  require(api::is_dns_subdomain(config.signing.secret), "signing.secretName", "must be the name of a Secret");
  require(config.signing.rotate_after == base::Duration::zero() || config.signing.rotate_after >= std::chrono::hours(1),
          "signing.rotateAfter", "must be at least 1h, or 0s: never");
  require(config.qps > 0 && config.qps <= 100'000, "client.qps", "must be above 0 and at most 100000");
  require(config.burst >= 1 && config.burst <= 100'000, "client.burst", "must be from 1 to 100000");
  require(config.workers >= 1 && config.workers <= 512, "workers", "must be from 1 to 512");
  const auto& server = config.server;
  require(server.health_address.rfind(':') != std::string::npos, "server.healthAddress",
          "must be host:port, such as 0.0.0.0:8081");
  require(server.metrics_address.rfind(':') != std::string::npos, "server.metricsAddress",
          "must be host:port, such as 0.0.0.0:8443");
  require(server.cert_file.empty() == server.key_file.empty(), "server.metricsCertFile",
          "must be given together with server.metricsKeyFile");
  check_webhook(config.webhook, require);
  check_audit(config.audit, errors);
  check_resource_advice(config.resource_advice, errors);
  check_tracing(config.tracing, errors);
  for (auto& error : validate(config.services)) errors.push_back(std::move(error));
  for (auto& error : validate(config.notifications)) errors.push_back(std::move(error));
  return errors;
}

base::Result<OperatorConfig> decode_operator_config(const api::Json& json) {
  OperatorConfig config;
  api::FieldErrors errors;
  StrictObject root(json, api::FieldPath(), errors);
  read_config(root, config);
  root.finish();
  if (errors.empty()) errors = validate(config);
  if (!errors.empty()) return api::to_error(errors);
  return config;
}

base::Result<OperatorConfig> parse_operator_config(std::string_view yaml) {
  auto documents = api::parse_yaml(yaml);
  if (!documents) return documents.error();
  if (documents->empty()) return OperatorConfig{};
  if (documents->size() > 1) return base::invalid("the configuration must be one YAML document");
  return decode_operator_config(documents->front());
}

}  // namespace controllers
