#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.hpp"
#include "base/time/steady_clock.hpp"
#include "cmd/once/watch.hpp"
#include "cmd/run/api_access.hpp"
#include "cmd/run/context.hpp"
#include "cmd/run/leadership.hpp"
#include "cmd/run/outlets.hpp"
#include "cmd/run/servers.hpp"
#include "cmd/signals.hpp"
#include "controllers/evacuation/origin/keys.hpp"
#include "controllers/observability/process_metrics.hpp"
#include "controllers/operator/http_services.hpp"
#include "controllers/operator/operator.hpp"
#include "controllers/webhooks/certificates.hpp"
#include "controllers/webhooks/stand_aside.hpp"
#include "kube/config/config.hpp"
#include "telemetry/audit/log.hpp"

namespace cmd {

/// Components of the operator process in order of dependency. Destroyed in reverse order.
class Process {
 public:
  /// `once` limits the run; nullopt runs until stopped.
  Process(controllers::OperatorConfig config, std::string identity, kube::Config cluster, base::Log log,
          std::optional<OnceWatch> once);

  audit::Recorder& audit() { return *audit_; }

  /// Starts the servers, waits for the API server, and runs until `interrupted`, until the Lease is lost, until the API
  /// server serves different kinds, or until --once is done. Call once.
  base::Status run(const Interrupted& interrupted);

 private:
  void warn_of_unusable_services() const;
  base::Status serve();
  std::map<std::string, controllers::WebhookServer::Answer> webhooks() const;
  base::Status connect(const Interrupted& interrupted);
  void build();
  void make_certificates();
  void make_stand_aside();
  controllers::webhooks::ServingState serving_state() const;
  controllers::Operator::Dependencies operator_dependencies();

  base::Status alive() const;
  base::Status ready() const;
  /// Returns false until build() has set up leadership.
  bool may_act() const;

  void watch_environment(std::stop_token stop);
  std::jthread begin_to_act();
  base::Status act_alone(const Interrupted& interrupted);
  base::Status lead(const Interrupted& interrupted);
  bool is_over(bool leads);
  base::Status end_of_once(bool was_leader) const;
  base::Gauge leader_gauge() { return metrics_.gauge("evacuator_leader", "1 while this replica leads."); }
  void shut_down(std::jthread& caches);

  std::optional<OnceWatch> once_;
  OnceWatch::Step step_ = OnceWatch::Step::kGoOn;  ///< result of the last check
  controllers::OnceReport report_;                 ///< report of the last check
  const controllers::OperatorConfig config_;
  const std::string identity_;
  base::Log log_;
  base::SystemClock clock_;
  base::SteadyClock steady_;
  base::Metrics metrics_;
  std::unique_ptr<audit::Log> audit_;
  const ProcessContext context_{config_, identity_, clock_, steady_, metrics_, log_};
  ApiAccess api_;
  controllers::ProcessMetrics process_metrics_{metrics_};
  std::unique_ptr<controllers::HttpServices> services_;
  kube::Discovery discovery_;
  std::atomic<bool> server_changed_ = false;
  std::optional<OutputSinks> outlets_;
  std::optional<Leadership> leadership_;                          ///< set if leader election is enabled
  std::atomic<const Leadership*> deciding_leadership_ = nullptr;  ///< set once leadership_ is constructed
  std::unique_ptr<controllers::SecretKeys> keys_;
  std::unique_ptr<controllers::webhooks::Certificates> certificates_;    ///< set if the webhook is enabled
  std::optional<controllers::webhooks::StandAside> admission_failover_;  ///< set if the admission webhook is enabled
  std::unique_ptr<controllers::Operator> operator_;
  std::atomic<const controllers::Operator*> running_ = nullptr;  ///< set once operator_ is constructed
  std::optional<Servers> servers_;
};

}  // namespace cmd
