#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cmd/run/context.hpp"
#include "controllers/observability/access_reviews.hpp"
#include "controllers/observability/metrics_server.hpp"
#include "controllers/operator/health_server.hpp"
#include "controllers/webhooks/webhook_server.hpp"
#include "kube/client.hpp"

namespace cmd {

/// Returns the host names under which the API server calls our webhooks: the Services of config/placement-webhook and
/// config/admission-webhook, and localhost.
std::vector<std::string> webhook_names(const controllers::OperatorConfig& config);

/// HTTP servers of the operator process: health, metrics, and the webhooks if enabled.
class Servers {
 public:
  struct Handlers {
    controllers::HealthChecks checks;
    std::function<void()> refresh_metrics;  ///< called before metrics are served
    /// By path.
    std::map<std::string, controllers::WebhookServer::Answer> webhooks;
  };
  /// `client` authorizes access to /metrics. All references must outlive this object.
  Servers(ProcessContext context, kube::Client& client, Handlers handlers);

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

  ProcessContext context_;
  Handlers handlers_;
  controllers::AccessReviews reviews_;
  controllers::HealthServer health_;
  controllers::MetricsServer metrics_server_;
  std::optional<controllers::WebhookServer> webhook_server_;  ///< set if a webhook is enabled
};

}  // namespace cmd
