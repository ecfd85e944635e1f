#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "base/result.hpp"
#include "cmd/signals.hpp"
#include "controllers/observability/metered_transport.hpp"
#include "controllers/operator/operator_config.hpp"
#include "kube/client.hpp"
#include "kube/config/config.hpp"
#include "kube/http/transport.hpp"
#include "kube/rate_limiter.hpp"

namespace cmd {

/// The operator's way to its API server: one transport, measured, and one rate limit for all that it asks. Thread-safe,
/// but open() and shut_down().
class ApiAccess {
 public:
  /// All must outlive it.
  struct Dependencies {
    const controllers::OperatorConfig& config;
    const base::Clock& clock;
    const base::Clock& steady;
    base::Metrics& metrics;
    base::Log log;
  };
  ApiAccess(Dependencies dependencies, kube::Config cluster);

  /// Makes the clients; sends nothing. `may_act`: checked before each call of acting_client() that changes something.
  base::Status open(std::function<bool()> may_act);
  /// Waits for a server that can be talked to: an operator that starts before its API server is ordinary. Fails when
  /// `interrupted` (kCancelled), when `is_out_of_time` says so, and when waiting would not help.
  base::Result<kube::Discovery> connect(const Interrupted& interrupted, const std::function<bool()>& is_out_of_time);
  /// What connect() waits for, for people.
  std::string waiting_for() const;

  /// For everybody: leases, Events, discovery. REQUIRES: open() is done, as for what follows.
  kube::Client& client() { return *client_; }
  /// Changes nothing unless this replica leads.
  kube::Client& acting_client() { return *acting_client_; }

  /// The series of the rate limit: nobody tells the metrics when it changes. One thread at a time.
  void publish();
  /// Ends all calls; nobody may make one any more.
  void shut_down();

 private:
  std::optional<base::Error> problem_of(const base::Result<kube::Discovery>& found);
  void wait_for(std::string what);

  Dependencies deps_;
  const kube::Config cluster_;
  kube::RateLimiter limiter_;
  std::unique_ptr<kube::HttpTransport> transport_;
  std::optional<controllers::MeteredTransport> metered_;
  std::optional<kube::Client> client_;
  std::optional<kube::Client> acting_client_;
  double told_wait_ = 0;  ///< of publish()
  mutable std::mutex waiting_mutex_;
  std::string waiting_for_ = "the API server has not answered yet";  ///< guarded by waiting_mutex_
};

}  // namespace cmd
