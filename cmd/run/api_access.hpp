#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "cmd/run/context.hpp"
#include "cmd/signals.hpp"
#include "controllers/observability/metered_transport.hpp"
#include "kube/client.hpp"
#include "kube/config/config.hpp"
#include "kube/http/transport.hpp"
#include "kube/rate_limiter.hpp"

namespace cmd {

/// Access to the operator's API server: one transport with metrics, and one rate limit for all requests. Thread-safe
/// except for open() and shut_down().
class ApiAccess {
 public:
  ApiAccess(ProcessContext context, kube::Config cluster);

  /// Creates the clients; sends no requests. `may_act` is checked before each mutating call of acting_client().
  base::Status open(std::function<bool()> may_act);
  /// Waits until the API server is reachable, since an operator often starts before it. Returns kCancelled if
  /// `interrupted`, and an error if `is_out_of_time` returns true or retrying would not help.
  base::Result<kube::Discovery> connect(const Interrupted& interrupted, const std::function<bool()>& is_out_of_time);
  /// Returns a human-readable description of what connect() is waiting for.
  std::string waiting_for() const;

  /// Client for leases, Events and discovery. This and the following functions require a successful open().
  kube::Client& client() { return *client_; }
  /// Client that rejects mutating calls unless this replica leads.
  kube::Client& acting_client() { return *acting_client_; }

  /// Publishes the metrics of the rate limit, which does not update them itself. Must not be called concurrently.
  void publish();
  /// Ends all calls. Callers must not start new ones.
  void shut_down();

 private:
  std::optional<base::Error> problem_of(const base::Result<kube::Discovery>& found);
  void wait_for(std::string what);

  ProcessContext context_;
  const kube::Config cluster_;
  kube::RateLimiter limiter_;
  std::unique_ptr<kube::HttpTransport> transport_;
  std::optional<controllers::MeteredTransport> metered_;
  std::optional<kube::Client> client_;
  std::optional<kube::Client> acting_client_;
  double published_wait_ = 0;  ///< wait time at the last publish()
  mutable std::mutex waiting_mutex_;
  std::string waiting_for_ = "the API server has not answered yet";  ///< guarded by waiting_mutex_
};

}  // namespace cmd
