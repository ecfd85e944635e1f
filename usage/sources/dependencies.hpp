#pragma once

/// External dependencies of sources.

#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "kube/client.hpp"
#include "kube/config/config.hpp"
#include "kube/http/transport.hpp"

namespace usage {

/// Maximum size of an answer.
inline constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 20;

/// Opens connections to an external server. Tests replace it.
using Connect = std::function<base::Result<std::unique_ptr<kube::Transport>>(kube::Config, kube::HttpTransportOptions)>;
/// Calls kube::HttpTransport::create().
base::Result<std::unique_ptr<kube::Transport>> connect_http(kube::Config config, kube::HttpTransportOptions options);

/// Everything in it must outlive the sources.
struct Dependencies {
  kube::Client* api = nullptr;  ///< for metrics.k8s.io, NodeMetrics and Secrets
  const base::Clock* clock = nullptr;
  std::string operator_namespace;  ///< the only namespace from which Secrets are read
  Connect connect = connect_http;
};

}  // namespace usage
