#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/log.hpp"
#include "base/metrics.hpp"
#include "base/result.hpp"
#include "serving/server.hpp"

namespace controllers {

/// What probes and scrapers ask. An error's message is shown to whoever asks.
struct OpsChecks {
  std::function<base::Status()> alive;  ///< /healthz and /livez: restart me when this fails
  std::function<base::Status()> ready;  ///< /readyz: the caches are filled and the API server answers
};

/// Serves /metrics, /healthz, /livez and /readyz.
class OpsServer {
 public:
  /// `metrics` must outlive the server. `address` is host:port.
  OpsServer(std::string address, base::Metrics& metrics, OpsChecks checks, base::Log log);

  base::Status start();
  std::uint16_t port() const { return server_.port(); }
  void stop() { server_.stop(); }

 private:
  serving::Response answer(const serving::Request& request) const;

  std::string address_;
  base::Metrics& metrics_;
  OpsChecks checks_;
  serving::Server server_;
};

}  // namespace controllers
