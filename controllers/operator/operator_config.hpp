#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "controllers/advice/advice_config.hpp"
#include "controllers/observability/notifications/notifications_config.hpp"
#include "controllers/observability/tracing/tracing_config.hpp"
#include "controllers/operator/services_config.hpp"

namespace controllers {

/// What the operator itself is told (--config): limits over all policies and manual Evacuations, and how it runs.
/// The defaults here are the documented ones (docs/operations.md).
struct OperatorConfig {
  struct LeaderElection {
    bool enabled = true;
    std::string ns;  ///< empty: the service account's namespace, else evacuator-system
    std::string name = "evacuator";
    base::Duration lease_duration = base::seconds(15);
    base::Duration renew_deadline = base::seconds(10);
    base::Duration retry_period = base::seconds(2);
    /// Of the Lease by which installations tell that they serve this cluster; empty: they do not
    /// (controllers/operator/cluster_claim.hpp).
    std::string claim_ns = "kube-system";
    friend bool operator==(const LeaderElection&, const LeaderElection&) = default;
  };

  enum class OnAuditFailure { kContinue, kStopAdmissions };
  /// The audit log (docs/audit.md).
  struct Audit {
    bool to_file = false;
    bool to_stdout = true;
    std::string path = "/var/log/evacuator/audit.log";
    std::int64_t max_size = std::int64_t{100} << 20;   ///< bytes of one file
    std::int32_t max_files = 10;                       ///< the current one included
    base::Duration fsync_interval = base::seconds(1);  ///< 0: every record
    std::int32_t buffer_size = 10'000;                 ///< records kept while a sink fails
    OnAuditFailure on_failure = OnAuditFailure::kContinue;
    friend bool operator==(const Audit&, const Audit&) = default;
  };

  /// The keys with which the operator signs what it makes (docs/operations.md).
  struct Signing {
    std::string secret = "evacuator-signing";               ///< in leader_election.ns
    base::Duration rotate_after = std::chrono::hours(720);  ///< 0: never
    friend bool operator==(const Signing&, const Signing&) = default;
  };

  /// Manual Evacuations: those that the operator did not make itself (api::origin_is_verified). Whoever may create them
  /// in a namespace must not hold up the others.
  struct Manual {
    std::int32_t priority = 1000;                                 ///< the highest that counts
    base::Duration suspended = std::chrono::hours(168);           ///< one that nobody releases ends then; 0: never
    base::Duration ttl_after_finished = std::chrono::hours(168);  ///< the longest
    friend bool operator==(const Manual&, const Manual&) = default;
  };

  /// Over the whole cluster; they win over a policy's own limits.
  api::InFlightLimits in_flight{.total = api::IntOrPercent{5, false},
                                .per_node = api::IntOrPercent{2, false},
                                .per_namespace = api::IntOrPercent{2, false},
                                .per_workload = api::IntOrPercent{1, false},
                                .per_target_node = api::IntOrPercent{2, false},
                                .per_zone = std::nullopt};
  std::optional<api::RateLimit> rate;  ///< of admissions; absent: as fast as slots allow
  /// A slot without progress for so long goes to those that wait for it (T36); 0: never.
  base::Duration slot_without_progress = base::minutes(10);
  /// Of a pod's grace period, and of an attempt, at most this counts as progress.
  base::Duration max_progress = std::chrono::hours(1);
  Manual manual;
  api::CooldownLimits cooldown{.pod = {}, .virtual_machine = base::minutes(15), .workload = {}};
  LeaderElection leader_election;
  Signing signing;
  double qps = 50;
  std::int32_t burst = 100;
  /// Where the operator listens.
  struct Server {
    std::string health_address = "0.0.0.0:8081";   ///< plain HTTP, for probes
    std::string metrics_address = "0.0.0.0:8443";  ///< HTTPS with authentication; plain HTTP on a loopback address
    std::string cert_file, key_file;               ///< of /metrics, PEM; empty: made at the start
    friend bool operator==(const Server&, const Server&) = default;
  };
  Server server;
  /// The placement webhook (docs/concepts/placement.md).
  struct Webhook {
    bool enabled = false;
    std::string address = "0.0.0.0:9443";
    std::string service = "evacuator-webhook";          ///< the Service in leader_election.ns: names the certificate
    std::string configuration = "evacuator-placement";  ///< the MutatingWebhookConfiguration
    std::string secret = "evacuator-webhook-tls";       ///< in leader_election.ns
    base::Duration rotate_after = std::chrono::hours(1440);
    bool allow_required = false;      ///< policy Required of Evacuations that no policy made
    std::string cert_file, key_file;  ///< PEM, given by others (cert-manager); empty: our own
    std::string client_ca_file{};     ///< PEM; not empty: the API server shows a certificate that one of these signed
    /// The webhooks about our own objects (docs/concepts/admission.md); served whether or not `enabled`.
    struct Admission {
      bool enabled = false;
      std::string service = "evacuator-admission-webhook";  ///< in leader_election.ns: the certificate is for it, too
      /// The MutatingWebhookConfiguration and the ValidatingWebhookConfiguration.
      std::string configuration = "evacuator-admission";
      /// What is recorded of who made an Evacuation counts. Only where nobody but the API server reaches the webhook.
      bool trust_creators = false;
      friend bool operator==(const Admission&, const Admission&) = default;
    };
    Admission admission{};
    bool is_served() const { return enabled || admission.enabled; }
    friend bool operator==(const Webhook&, const Webhook&) = default;
  };
  Webhook webhook;
  /// kube-scheduler asks `evacuator extender` (docs/extender.md), which serves placement hints.
  bool extender_serves_hints = false;
  /// The webhook or the extender.
  bool serves_hints() const { return webhook.enabled || extender_serves_hints; }
  base::LogLevel log_level = base::LogLevel::kInfo;
  base::LogFormat log_format = base::LogFormat::kText;
  std::int32_t workers = 32;
  Audit audit;
  std::vector<ServiceConfig> services;             ///< whom evictors may call by name
  std::vector<NotificationChannel> notifications;  ///< whom to tell of what needs a person
  ResourceAdviceConfig resource_advice;
  TracingConfig tracing;
  bool responder_enabled = false;  ///< answer native Evictions of pods that name evacuator.dev/responder
};

/// Reads the YAML file's text, strictly; absent fields keep their defaults. Errors carry field paths.
base::Result<OperatorConfig> parse_operator_config(std::string_view yaml);
base::Result<OperatorConfig> decode_operator_config(const api::Json& json);

/// What no single field can tell: renewDeadline < leaseDuration and so on. Empty = fine.
api::FieldErrors validate(const OperatorConfig& config);

std::optional<base::LogLevel> parse_log_level(std::string_view text);
std::optional<base::LogFormat> parse_log_format(std::string_view text);

}  // namespace controllers
