#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "base/result.hpp"
#include "controllers/observability/access_reviews.hpp"
#include "http_server/server.hpp"

namespace controllers {

struct MetricsServerOptions {
  std::string address;                  ///< host:port
  std::string cert_file{}, key_file{};  ///< PEM; if both are empty, an in-memory certificate for `names` is generated
  std::vector<std::string> names{};     ///< Host names and IP addresses in the generated certificate
  http_server::OnEnd on_end{};          ///< Called after each request; may be empty
  std::function<void()> refresh{};      ///< Called before each response, by one thread at a time; may be empty
};

/// Returns whether the Accept header prefers OpenMetrics 1.0.0 to the text format. Accepts any text.
bool prefers_openmetrics(std::string_view accept);

/// Serves /metrics over HTTPS to clients that may `get` that path. On a loopback address it serves plain HTTP without
/// authentication, because only local processes can connect.
class MetricsServer {
 public:
  /// Returns whether the bearer of the token may read /metrics. `peer` is the client's "address:port".
  using MayRead = std::function<Access(const std::string& token, const std::string& peer)>;

  /// `metrics` and `clock` must outlive the server.
  MetricsServer(MetricsServerOptions options, base::Metrics& metrics, MayRead may_read, const base::Clock& clock,
                base::Log log);

  /// Returns kInvalid with the name of the invalid configuration field.
  base::Status start();
  std::uint16_t port() const { return server_->port(); }
  void stop() {
    if (server_) server_->stop();
  }
  /// Reloads the certificate if its files changed. Returns an error each time while the files are unusable; the old
  /// certificate stays in use. No-op without files.
  base::Status reload();

  bool is_plain() const { return is_plain_; }

 private:
  http_server::Response answer(const http_server::Request& request) const;
  base::Result<http_server::Certificate> load() const;

  const MetricsServerOptions options_;
  const bool is_plain_;
  base::Metrics& metrics_;
  const MayRead may_read_;
  const base::Clock& clock_;
  const base::Log log_;
  http_server::Certificate certificate_;
  mutable std::mutex refreshing_;
  std::optional<http_server::Server> server_;  ///< Set by start()
};

}  // namespace controllers
