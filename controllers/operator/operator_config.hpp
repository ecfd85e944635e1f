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

/// Configuration of the operator (--config): limits over all policies and manual Evacuations, and runtime settings.
/// The defaults are documented in docs/operations.md.
struct OperatorConfig {
  struct LeaderElection {
    bool enabled = true;
    std::string ns;  ///< Empty means the service account's namespace, else evacuator-system
    std::string name = "evacuator";
    base::Duration lease_duration = base::seconds(15);
    base::Duration renew_deadline = base::seconds(10);
    base::Duration retry_period = base::seconds(2);
    /// Namespace of the Lease that decides which installation serves this cluster; empty disables it
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
    std::int64_t max_size = std::int64_t{100} << 20;   ///< Bytes per file
    std::int32_t max_files = 10;                       ///< Including the current file
    base::Duration fsync_interval = base::seconds(1);  ///< 0 means after every record
    std::int32_t buffer_size = 10'000;                 ///< Number of records buffered while a sink fails
    OnAuditFailure on_failure = OnAuditFailure::kContinue;
    friend bool operator==(const Audit&, const Audit&) = default;
  };

  /// Keys with which the operator signs the objects that it creates (docs/operations.md).
  struct Signing {
    std::string secret = "evacuator-signing";               ///< In leader_election.ns
    base::Duration rotate_after = std::chrono::hours(720);  ///< 0 means never
    friend bool operator==(const Signing&, const Signing&) = default;
  };

  /// Limits for manual Evacuations, those that the operator did not create itself (api::origin_is_verified). They keep
  /// users who may create Evacuations in one namespace from blocking the other namespaces.
  struct Manual {
    std::int32_t priority = 1000;  ///< Higher values are lowered to this
    /// Maximum time that an Evacuation stays suspended before it ends. 0 means unlimited.
    base::Duration suspended = std::chrono::hours(168);
    base::Duration ttl_after_finished = std::chrono::hours(168);  ///< Maximum
    friend bool operator==(const Manual&, const Manual&) = default;
  };

  /// Limits for the whole cluster. They take precedence over the limits of a policy.
  api::InFlightLimits in_flight{.total = api::IntOrPercent{5, false},
                                .per_node = api::IntOrPercent{2, false},
                                .per_namespace = api::IntOrPercent{2, false},
                                .per_workload = api::IntOrPercent{1, false},
                                .per_target_node = api::IntOrPercent{2, false},
                                .per_zone = std::nullopt};
  std::optional<api::RateLimit> rate;  ///< Rate of admissions; nullopt limits admissions by slots only
  /// A slot without progress for this long is released to waiting Evacuations (T36). 0 means never.
  base::Duration slot_without_progress = base::minutes(10);
  /// Maximum part of a pod's grace period, and of an attempt, that counts as progress.
  base::Duration max_progress = std::chrono::hours(1);
  Manual manual;
  api::CooldownLimits cooldown{.pod = {}, .virtual_machine = base::minutes(15), .workload = {}};
  LeaderElection leader_election;
  Signing signing;
  double qps = 50;
  std::int32_t burst = 100;
  /// Listen addresses.
  struct Server {
    std::string health_address = "0.0.0.0:8081";   ///< Plain HTTP, for probes
    std::string metrics_address = "0.0.0.0:8443";  ///< HTTPS with authentication; plain HTTP on a loopback address
    std::string cert_file, key_file;  ///< PEM certificate of /metrics; if empty, it is generated at startup
    friend bool operator==(const Server&, const Server&) = default;
  };
  Server server;
  /// The placement webhook (docs/concepts/placement.md).
  struct Webhook {
    bool enabled = false;
    std::string address = "0.0.0.0:9443";
    std::string service = "evacuator-webhook";  ///< Service in leader_election.ns; determines the certificate's names
    std::string configuration = "evacuator-placement";  ///< Name of the MutatingWebhookConfiguration
    std::string secret = "evacuator-webhook-tls";       ///< In leader_election.ns
    base::Duration rotate_after = std::chrono::hours(1440);
    bool allow_required = false;      ///< Allow policy Required for Evacuations that no policy created
    std::string cert_file, key_file;  ///< PEM, provided externally (cert-manager); if empty, the operator generates it
    /// PEM; if not empty, the API server must present a client certificate signed by one of these CAs.
    std::string client_ca_file{};
    /// Webhooks for Evacuator's own objects (docs/concepts/admission.md). Independent of Webhook::enabled.
    struct Admission {
      bool enabled = false;
      std::string service = "evacuator-admission-webhook";  ///< In leader_election.ns; also a name in the certificate
      /// Name of both the MutatingWebhookConfiguration and the ValidatingWebhookConfiguration.
      std::string configuration = "evacuator-admission";
      /// Trust the recorded creator of an Evacuation. Enable it only if the API server alone can reach the webhook.
      bool trust_creators = false;
      friend bool operator==(const Admission&, const Admission&) = default;
    };
    Admission admission{};
    bool is_served() const { return enabled || admission.enabled; }
    friend bool operator==(const Webhook&, const Webhook&) = default;
  };
  Webhook webhook;
  /// kube-scheduler calls `evacuator extender` (docs/extender.md), which serves placement hints.
  bool extender_serves_hints = false;
  /// Whether the webhook or the extender serves placement hints.
  bool serves_hints() const { return webhook.enabled || extender_serves_hints; }
  base::LogLevel log_level = base::LogLevel::kInfo;
  base::LogFormat log_format = base::LogFormat::kText;
  std::int32_t workers = 32;
  Audit audit;
  std::vector<ServiceConfig> services;             ///< Services that evictors may call by name
  std::vector<NotificationChannel> notifications;  ///< Recipients of notifications about what needs a manual action
  ResourceAdviceConfig resource_advice;
  TracingConfig tracing;
  bool responder_enabled = false;  ///< Answer EvictionRequests for pods that name evacuator.dev/responder
};

/// Parses a YAML file. Unknown fields are errors, absent fields keep their defaults. Errors contain field paths.
base::Result<OperatorConfig> parse_operator_config(std::string_view yaml);
base::Result<OperatorConfig> decode_operator_config(const api::Json& json);

/// Checks across fields, such as renewDeadline < leaseDuration. Returns an empty list if valid.
api::FieldErrors validate(const OperatorConfig& config);

std::optional<base::LogLevel> parse_log_level(std::string_view text);
std::optional<base::LogFormat> parse_log_format(std::string_view text);

}  // namespace controllers
