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

/// Returns the host names under which the API server calls our webhooks: the Services of config/placement-webhook and
/// config/admission-webhook, and localhost.
std::vector<std::string> webhook_names(const controllers::OperatorConfig& config);

/// HTTP servers of the operator process: health, metrics, and the webhooks if enabled.
class Servers {
 public:
  struct Dependencies {
    const controllers::OperatorConfig& config;
    kube::Client& client;  ///< authorizes access to /metrics
    const base::Clock& clock;
    const base::Clock& steady;
    base::Metrics& metrics;
    base::Log log;
    controllers::HealthChecks checks;
    std::function<void()> refresh_metrics;  ///< called before metrics are served
    /// By path.
    std::map<std::string, controllers::WebhookServer::Answer> webhooks;
  };
  /// All references must outlive this object.
  explicit Servers(Dependencies dependencies);

  base::Status start();
  void stop();

  /// Reloads the certificate of /metrics if it was renewed.
  void reload_certificate();
  bool serve_webhooks() const { return webhook_server_.has_value(); }
  /// Uses the certificate for new connections to the webhooks. REQUIRES: serve_webhooks().
  base::Status serve_webhooks_as(const http_server::ServerIdentity& identity) {
    return webhook_server_->serve(identity);
  }

 private:
  base::Status start_webhooks();
  http_server::OnEnd metered(const char* server) const;
  controllers::MetricsServerOptions metrics_options() const;

  Dependencies deps_;
  controllers::AccessReviews reviews_;
  controllers::HealthServer health_;
  controllers::MetricsServer metrics_server_;
  std::optional<controllers::WebhookServer> webhook_server_;  ///< set if a webhook is enabled
};

}  // namespace cmd
