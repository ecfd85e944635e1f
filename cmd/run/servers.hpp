#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "base/result.hpp"
#include "controllers/observability/access_reviews.hpp"
#include "controllers/observability/metrics_server.hpp"
#include "controllers/operator/health_server.hpp"
#include "controllers/operator/operator_config.hpp"
#include "controllers/webhooks/webhook_server.hpp"
#include "kube/client.hpp"

namespace cmd {

/// The names by which the API server calls our webhooks: the Services of config/placement-webhook and
/// config/admission-webhook, and this machine.
std::vector<std::string> webhook_names(const controllers::OperatorConfig& config);

/// What the operator's process serves: health, metrics, and the webhooks if they are on.
class Servers {
 public:
  struct Dependencies {
    const controllers::OperatorConfig& config;
    kube::Client& client;  ///< asked who may get /metrics
    const base::Clock& clock;
    const base::Clock& steady;
    base::Metrics& metrics;
    base::Log log;
    controllers::HealthChecks checks;
    std::function<void()> refresh_metrics;  ///< called before they are served
    /// The webhooks by their paths.
    std::map<std::string, controllers::WebhookServer::Answer> webhooks;
  };
  /// All references must outlive it.
  explicit Servers(Dependencies dependencies);

  base::Status start();
  void stop();

  /// Somebody may have renewed the certificate of /metrics.
  void reload_certificate();
  bool serve_webhooks() const { return webhook_server_.has_value(); }
  /// New connections to the webhooks get this certificate. REQUIRES: serve_webhooks().
  base::Status serve_webhooks_as(const serving::ServerIdentity& identity) { return webhook_server_->serve(identity); }

 private:
  base::Status start_webhooks();
  serving::OnEnd metered(const char* server) const;
  controllers::MetricsServerOptions metrics_options() const;

  Dependencies deps_;
  controllers::AccessReviews reviews_;
  controllers::HealthServer health_;
  controllers::MetricsServer metrics_server_;
  std::optional<controllers::WebhookServer> webhook_server_;  ///< only when it is on
};

}  // namespace cmd
