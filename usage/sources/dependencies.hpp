#pragma once

/// What sources need of the world.

#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "kube/client.hpp"
#include "kube/config/config.hpp"
#include "kube/http/transport.hpp"

namespace usage {

/// No answer of a server may be larger.
inline constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 20;

/// Opens connections to somebody else's server; tests put fakes here.
using Connect = std::function<base::Result<std::unique_ptr<kube::Transport>>(kube::Config, kube::HttpTransportOptions)>;
/// kube::HttpTransport::create().
base::Result<std::unique_ptr<kube::Transport>> connect_http(kube::Config config, kube::HttpTransportOptions options);

/// All of it outlives the sources.
struct Dependencies {
  kube::Client* api = nullptr;  ///< metrics.k8s.io, NodeMetrics, Secrets
  const base::Clock* clock = nullptr;
  std::string operator_namespace;  ///< where Secrets are looked for, and nowhere else
  Connect connect = connect_http;
};

}  // namespace usage
