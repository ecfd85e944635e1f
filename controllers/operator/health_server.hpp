#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/log.hpp"
#include "base/result.hpp"
#include "http_server/server.hpp"

namespace controllers {

/// Checks behind the probe endpoints. Error messages are visible to every client.
struct HealthChecks {
  std::function<base::Status()> alive;  ///< For /healthz and /livez. The kubelet restarts the operator when it fails.
  std::function<base::Status()> ready;  ///< For /readyz. The caches are filled and receive updates from the API server.
};

/// Serves /healthz, /livez and /readyz over plain HTTP. It has its own port, so that neither scrapes nor open
/// connections of other clients can block the kubelet's probes.
class HealthServer {
 public:
  /// `address` is host:port. `on_end` is called after each request.
  HealthServer(std::string address, HealthChecks checks, base::Log log, http_server::OnEnd on_end = {});

  /// Returns kInvalid with the name of the configuration field if the address is invalid.
  base::Status start();
  std::uint16_t port() const { return server_.port(); }
  void stop() { server_.stop(); }

 private:
  http_server::Response answer(const http_server::Request& request) const;

  std::string address_;
  HealthChecks checks_;
  http_server::Server server_;
};

}  // namespace controllers
