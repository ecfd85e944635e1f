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

namespace serving {

/// One HTTP/1.1 request, complete. Header names are lower-case.
struct Request {
  std::string method;
  std::string path;   ///< as sent, still percent-encoded, without query
  std::string query;  ///< without "?"
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::string peer;  ///< "127.0.0.1:40112"

  /// The first header of that lower-case name, or "".
  std::string_view header(std::string_view name) const;
};

/// An answer whose body is known.
struct Response {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers{};
  bool drop = false;  ///< close the connection instead of answering: what a fault injector asks for
};

/// Where a streaming handler writes. Used by its one thread.
class StreamWriter {
 public:
  virtual ~StreamWriter() = default;
  /// Sends one chunk; waits while more than about 1 MiB is unsent. False once the peer is gone or the server stops.
  virtual bool write(std::string_view chunk) = 0;
  /// The peer is gone or the server stops: return soon.
  virtual bool closed() const = 0;
  /// Ends the stream without the closing chunk: the peer sees a broken connection.
  virtual void abort() = 0;
};

/// An answer that goes on until `produce` returns, in chunked encoding. `produce` runs on a thread of its own.
struct Stream {
  int status = 200;
  std::string content_type = "application/json";
  std::function<void(StreamWriter& writer)> produce;
};

using Reply = std::variant<Response, Stream>;
/// Called from the handler threads, several at a time. An exception becomes a 500.
using Handler = std::function<Reply(const Request& request)>;

/// Told how a request ended: by the status of its answer (of a stream: what it began with), or kNoAnswer: TLS was not
/// agreed on, or the peer dawdled or broke off. `peer` as in Request. Called by the server's threads; must be quick.
using OnEnd = std::function<void(int status, const std::string& peer)>;
inline constexpr int kNoAnswer = 0;

struct Certificate {
  std::string chain_pem;
  std::string key_pem;
  /// Authorities. Not empty: whoever shows no valid certificate of one of them is refused in the handshake.
  std::string client_ca_pem{};
  friend bool operator==(const Certificate&, const Certificate&) = default;
};

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;                    ///< 0: a free one
  std::optional<Certificate> certificate{};  ///< absent: plain HTTP
  std::size_t max_header_bytes = 16 * 1024;
  std::size_t max_body_bytes = 8 * 1024 * 1024;
  /// Of all bodies that are being read or in hand, by the length that their headers tell. For one more the connections
  /// that have waited longest for the rest of theirs are closed; where that does not do, it is refused with 503.
  std::size_t max_all_body_bytes = 256 * 1024 * 1024;
  /// Beyond them the connection that has waited longest for its peer (a request, the rest of one, a handshake, to
  /// read its answer) is
  /// closed for the new one: whoever holds connections open keeps nobody out. Those with a request in hand stay.
  std::size_t max_connections = 1024;
  std::size_t max_streams = 512;
  base::milliseconds header_timeout{
      5'000};  ///< from a request's first byte to the end of its header; also the TLS handshake
  base::milliseconds body_timeout{30'000};
  base::milliseconds write_timeout{10'000};  ///< without progress
  base::milliseconds answer_timeout{
      30'000};  ///< from an answer's first byte to its last, however it progresses; streams have none
  base::milliseconds idle_timeout{60'000};  ///< between requests
  int io_threads = 1;
  int handler_threads = 8;
  OnEnd on_end{};  ///< may be empty
};

/// A small HTTP/1.1 server with limits and time-outs (Beast): metrics, health, webhooks, the simulator's front. A slow
/// handler holds one handler thread and nothing else; addresses of peers take turns for them.
class Server {
 public:
  Server(ServerOptions options, Handler handler, base::Log log = {});
  ~Server();  ///< stops

  /// Binds and serves. kUnavailable names the address when it cannot be bound; kInvalid when the certificate is none.
  base::Status start();
  /// The bound port. REQUIRES: started.
  std::uint16_t port() const;
  /// New connections get this certificate; running ones keep theirs. REQUIRES: started with one.
  base::Status reload(const Certificate& certificate);
  /// Stops accepting, ends streams, closes connections, waits for the handlers. Idempotent.
  void stop();

  std::size_t connections() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

/// Splits "host:port" ("[::1]:80", ":8080" = all addresses). Port 0 is allowed. nullopt: malformed.
std::optional<std::pair<std::string, std::uint16_t>> split_address(std::string_view text);

}  // namespace serving
