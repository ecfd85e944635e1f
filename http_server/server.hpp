#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/log.hpp"
#include "base/result.hpp"

namespace http_server {

/// One complete HTTP/1.1 request. Header names are lower-case.
struct Request {
  std::string method;
  std::string path;   ///< as sent: percent-encoded, without query
  std::string query;  ///< without "?"
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::string peer;  ///< "127.0.0.1:40112"

  /// Returns the first header with this lower-case name, or "".
  std::string_view header(std::string_view name) const;
};

/// Response with a complete body.
struct Response {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers{};
  bool drop = false;  ///< close the connection without a response, for fault injection
};

/// Output of a streaming handler. Used by the handler's thread only.
class StreamWriter {
 public:
  virtual ~StreamWriter() = default;
  /// Sends one chunk; blocks while more than about 1 MiB is unsent. Returns false once the peer has disconnected or the
  /// server stops.
  virtual bool write(std::string_view chunk) = 0;
  /// Returns true once the peer has disconnected or the server stops; the handler must then return soon.
  virtual bool closed() const = 0;
  /// Ends the stream without the closing chunk, so that the peer sees a broken connection.
  virtual void abort() = 0;
};

/// Chunked response that lasts until `produce` returns. Each stream runs `produce` on its own thread.
struct Stream {
  int status = 200;
  std::string content_type = "application/json";
  std::function<void(StreamWriter& writer)> produce;
};

using Reply = std::variant<Response, Stream>;
/// Called concurrently by the handler threads. An exception becomes a 500.
using Handler = std::function<Reply(const Request& request)>;

/// Called when a request has ended, with the status of its response (for a stream: its initial status), or kNoResponse
/// if the TLS handshake failed or the peer timed out or disconnected. `peer` as in Request. Called by the server's
/// threads; must be fast.
using OnEnd = std::function<void(int status, const std::string& peer)>;
inline constexpr int kNoResponse = 0;

struct Certificate {
  std::string chain_pem;
  std::string key_pem;
  /// Client authorities. If not empty, the TLS handshake requires a client certificate signed by one of them.
  std::string client_ca_pem{};
  friend bool operator==(const Certificate&, const Certificate&) = default;
};

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;                    ///< 0 = any free port
  std::optional<Certificate> certificate{};  ///< nullopt = plain HTTP
  std::size_t max_header_bytes = 16 * 1024;
  std::size_t max_body_bytes = 8 * 1024 * 1024;
  /// Maximum size of all bodies that are being read or handled, by their announced lengths. For a further body, the
  /// server closes the connections that have waited longest for the rest of theirs; if that does not free enough, it
  /// answers 503.
  std::size_t max_all_body_bytes = 256 * 1024 * 1024;
  /// When the limit is reached, a new connection replaces the one that has waited longest for its peer (handshake,
  /// request, rest of a request, or reading the response), so that idle connections cannot lock out other clients.
  /// Connections whose request is being handled are never closed.
  std::size_t max_connections = 1024;
  std::size_t max_streams = 512;
  /// From the first byte of a request to the end of its header; also for the TLS handshake.
  base::milliseconds header_timeout{5'000};
  base::milliseconds body_timeout{30'000};
  base::milliseconds write_timeout{10'000};  ///< maximum time without progress
  /// From the first byte of a response to its last, regardless of progress; not for streams.
  base::milliseconds response_timeout{30'000};
  base::milliseconds idle_timeout{60'000};  ///< maximum time between requests
  int io_threads = 1;
  int handler_threads = 8;
  OnEnd on_end{};  ///< may be empty
};

/// Small HTTP/1.1 server with limits and timeouts, based on Beast: metrics, health, webhooks, the simulator's API. A
/// slow handler occupies one handler thread only; peer addresses take turns for handler threads.
class Server {
 public:
  Server(ServerOptions options, Handler handler, base::Log log = {});
  ~Server();  ///< calls stop()

  /// Binds and serves. Returns kUnavailable with the address if it cannot be bound, and kInvalid if the certificate is
  /// invalid.
  base::Status start();
  /// Returns the bound port. Call after start().
  std::uint16_t port() const;
  /// Uses this certificate for new connections; existing ones keep theirs. Requires that the server was started with a
  /// certificate.
  base::Status reload(const Certificate& certificate);
  /// Stops accepting, ends streams, closes connections and waits for the handlers. Idempotent.
  void stop();

  std::size_t connections() const;
  /// Number of requests that wait for a handler thread.
  std::size_t queued() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

/// Splits "host:port" ("[::1]:80", ":8080" for all addresses). Port 0 is valid. Returns nullopt if malformed.
std::optional<std::pair<std::string, std::uint16_t>> split_address(std::string_view text);

}  // namespace http_server
