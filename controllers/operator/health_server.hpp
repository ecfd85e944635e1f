#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/log.hpp"
#include "base/result.hpp"
#include "http_server/server.hpp"

namespace controllers {

/// What probes ask. An error's message is shown to whoever asks.
struct HealthChecks {
  std::function<base::Status()> alive;  ///< /healthz and /livez: restart me when this fails
  std::function<base::Status()> ready;  ///< /readyz: the caches are filled, and the API server feeds them
};

/// Serves /healthz, /livez and /readyz in plain HTTP, to probes: on a port of its own, so that nobody's scrapes and no
/// held connections keep the kubelet out.
class HealthServer {
 public:
  /// `address` is host:port. `on_end` is told of each request.
  HealthServer(std::string address, HealthChecks checks, base::Log log, serving::OnEnd on_end = {});

  /// kInvalid names the configuration field of a wrong address.
  base::Status start();
  std::uint16_t port() const { return server_.port(); }
  void stop() { server_.stop(); }

 private:
  static serving::ServerOptions options(const std::string& address, serving::OnEnd on_end);
  serving::Response answer(const serving::Request& request) const;

  std::string address_;
  HealthChecks checks_;
  serving::Server server_;
};

}  // namespace controllers
