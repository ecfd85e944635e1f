#pragma once

/// Asio and Beast implementation behind HttpTransport. This header includes no Asio, to limit compile times.

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

/// Target of connections, fixed for the life of an engine.
struct Endpoint {
  Url server;
  std::optional<Url> proxy;
  std::string tls_name;  ///< name required in the certificate
  bool verify = true;
  HttpTransportOptions options;

  std::string text() const { return (server.tls ? "https://" : "http://") + server.authority(); }
};

/// Serialized request.
struct Outgoing {
  std::string bytes;     ///< head and body. Contains credentials: must not be logged
  bool is_safe = false;  ///< GET: may be sent again
  TlsContext tls;        ///< nullptr for plain HTTP
  std::chrono::steady_clock::time_point deadline;
  std::uint64_t body_limit = 0;
};

/// Kind of a streamed answer: lines or frames of a watch, or items of a list in protobuf.
enum class StreamKind { kWatch, kList };

/// Returns the error of all calls during shutdown.
base::Error engine_closed();

/// Engine with one thread that drives all connections. Thread-safe. Streams must be destroyed before the engine.
class BeastEngine {
 public:
  explicit BeastEngine(Endpoint endpoint);
  ~BeastEngine();

  /// Blocks until the answer, the deadline or shut_down().
  base::Result<Response> exchange(Outgoing outgoing);
  /// Blocks until the answer's header. The deadline does not apply after that.
  base::Result<std::unique_ptr<WatchStream>> open(Outgoing outgoing, StreamKind kind);
  void shut_down();

  struct Core;

 private:
  std::unique_ptr<Core> core_;
};

}  // namespace kube
