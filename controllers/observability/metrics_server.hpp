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
  std::string cert_file{}, key_file{};  ///< PEM; both empty: a certificate is made, in memory, for `names`
  std::vector<std::string> names{};     ///< host names and IP addresses of the certificate that is made
  serving::OnEnd on_end{};              ///< of each request; may be empty
  std::function<void()> refresh{};      ///< before each answer, by one thread at a time; may be empty
};

/// Whether the header Accept asks for OpenMetrics 1.0.0 and not rather for the text format. Any text is answered.
bool prefers_openmetrics(std::string_view accept);

/// Serves /metrics: over HTTPS, and only to those who may `get` that path; on a loopback address in plain HTTP to
/// everybody, for there is nobody else.
class MetricsServer {
 public:
  /// Whether the bearer of the token, who asks from `peer` ("address:port"), may read /metrics.
  using MayRead = std::function<Access(const std::string& token, const std::string& peer)>;

  /// `metrics` and `clock` must outlive the server.
  MetricsServer(MetricsServerOptions options, base::Metrics& metrics, MayRead may_read, const base::Clock& clock,
                base::Log log);

  /// kInvalid names the configuration field that is wrong.
  base::Status start();
  std::uint16_t port() const { return server_->port(); }
  void stop();
  /// Takes the certificate's files over when they changed. Files that cannot be used are an error each time, and the
  /// old certificate stays. Does nothing without files.
  base::Status reload();

  bool is_plain() const { return is_plain_; }

 private:
  serving::Response answer(const serving::Request& request) const;
  base::Result<serving::Certificate> load() const;

  const MetricsServerOptions options_;
  const bool is_plain_;
  base::Metrics& metrics_;
  const MayRead may_read_;
  const base::Clock& clock_;
  const base::Log log_;
  serving::Certificate certificate_;
  mutable std::mutex refreshing_;
  std::optional<serving::Server> server_;  ///< since start()
};

}  // namespace controllers
