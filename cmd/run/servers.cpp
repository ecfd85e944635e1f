#include "cmd/run/servers.hpp"

#include <utility>

#include "controllers/observability/answer_meter.hpp"

namespace cmd {
namespace {

using base::kv;

/// Returns the host names of the metrics Service of config/manager, and localhost.
std::vector<std::string> metrics_names(const controllers::OperatorConfig& config) {
  const std::string service = "evacuator-metrics." + config.leader_election.ns + ".svc";
  return {service, service + ".cluster.local", "localhost", "127.0.0.1"};
}

}  // namespace

std::vector<std::string> webhook_names(const controllers::OperatorConfig& config) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& service) {
    const std::string name = service + "." + config.leader_election.ns + ".svc";
    names.insert(names.end(), {name, name + ".cluster.local"});
  };
  if (config.webhook.enabled) add(config.webhook.service);
  if (config.webhook.admission.enabled) add(config.webhook.admission.service);
  names.insert(names.end(), {"localhost", "127.0.0.1"});
  return names;
}

Servers::Servers(ProcessContext context, kube::Client& client, Handlers handlers)
    : context_(std::move(context)),
      handlers_(std::move(handlers)),
      reviews_(client, context_.steady, context_.log),
      health_(context_.config.server.health_address, handlers_.checks, context_.log, metered("health")),
      metrics_server_(
          metrics_options(), context_.metrics,
          [this](const std::string& token, const std::string& peer) {
            return reviews_.may_get("/metrics", token, peer);
          },
          context_.clock, context_.log) {}

http_server::OnEnd Servers::metered(const char* server) const {
  return controllers::metered_answers(server, context_.metrics, context_.steady, context_.log);
}

controllers::MetricsServerOptions Servers::metrics_options() const {
  const auto& server = context_.config.server;
  return {.address = server.metrics_address,
          .cert_file = server.cert_file,
          .key_file = server.key_file,
          .names = metrics_names(context_.config),
          .on_end = metered("metrics"),
          .refresh = handlers_.refresh_metrics};
}

base::Status Servers::start() {
  if (auto serving = health_.start(); !serving) return serving.error().during("serving health");
  if (auto serving = metrics_server_.start(); !serving) return serving.error().during("serving metrics");
  if (auto serving = start_webhooks(); !serving) return serving.error().during("serving the webhook");
  context_.log.info("serving", {kv("healthPort", static_cast<int>(health_.port())),
                                kv("metricsPort", static_cast<int>(metrics_server_.port())),
                                kv("metrics", metrics_server_.is_plain() ? "plain HTTP, loopback only" : "HTTPS")});
  return base::Done{};
}

base::Status Servers::start_webhooks() {
  const auto& webhook = context_.config.webhook;
  if (!webhook.is_served()) return base::Done{};
  webhook_server_.emplace(webhook.address, webhook_names(context_.config), handlers_.webhooks, context_.log,
                          metered("webhook"), webhook.client_ca_file);
  if (auto serving = webhook_server_->start(context_.clock.now()); !serving) return serving;
  context_.log.info("serving the webhook", {kv("port", static_cast<int>(webhook_server_->port()))});
  return base::Done{};
}

void Servers::stop() {
  health_.stop();
  metrics_server_.stop();
  if (webhook_server_) webhook_server_->stop();
}

void Servers::reload_certificate() {
  if (const auto done = metrics_server_.reload(); !done)
    context_.log.error("the certificate of /metrics cannot be renewed", {kv("error", done.error())});
}

}  // namespace cmd
