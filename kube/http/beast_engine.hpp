#pragma once

/// The Asio + Beast half of HttpTransport. No Asio in this header, so that few files pay for it.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "kube/config/url.hpp"
#include "kube/http/tls.hpp"
#include "kube/http/transport.hpp"

namespace kube {

/// Where connections go to; fixed for the life of an engine.
struct Endpoint {
  Url server;
  std::optional<Url> proxy;
  std::string tls_name;  ///< what the certificate must be for
  bool verify = true;
  HttpTransportOptions options;

  std::string text() const { return (server.tls ? "https://" : "http://") + server.authority(); }
};

/// A request ready for the wire.
struct Outgoing {
  std::string bytes;     ///< head and body. Holds the credentials: never to be logged
  bool is_safe = false;  ///< GET: may be sent a second time
  TlsContext tls;        ///< nullptr: plain HTTP
  std::chrono::steady_clock::time_point deadline;
  std::uint64_t body_limit = 0;
};

/// What is read piece by piece: the lines or frames of a watch, or the items of a list in protobuf.
enum class StreamKind { kWatch, kList };

/// What every call returns once the transport is shutting down.
base::Error engine_closed();

/// One thread that drives all connections. Thread-safe. Streams must be destroyed before the engine.
class BeastEngine {
 public:
  explicit BeastEngine(Endpoint endpoint);
  ~BeastEngine();

  /// Blocks until the answer, the deadline or shut_down().
  base::Result<Response> exchange(Outgoing outgoing);
  /// Blocks until the answer's header; the deadline ends there.
  base::Result<std::unique_ptr<WatchStream>> open(Outgoing outgoing, StreamKind kind);
  void shut_down();

  struct Core;

 private:
  std::unique_ptr<Core> core_;
};

}  // namespace kube
