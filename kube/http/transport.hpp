#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/config/config.hpp"
#include "kube/transport.hpp"

namespace kube {

/// HTTP implementation (docs/adr/0002). kMixed: cpprestsdk for reads of single objects; Asio + Beast for watches,
/// lists, all writes (cpprestsdk re-sends a POST when a kept-alive connection is closed), leases, and everything that
/// cpprestsdk does not support: IPv6 literals, tls-server-name, proxies. kBeast: Asio + Beast for all requests.
enum class HttpEngine { kMixed, kBeast };

struct HttpTransportOptions {
  HttpEngine engine = HttpEngine::kMixed;
  int max_connections = 64;                      ///< number of concurrent requests, excluding leases and watches
  base::milliseconds connect_timeout{10'000};    ///< for resolving and for connecting, each
  base::milliseconds handshake_timeout{10'000};  ///< for TLS, and for the proxy's answer
  base::milliseconds watch_idle{150'000};        ///< a watch without any byte for this long counts as broken
  base::milliseconds keep_alive{60'000};         ///< maximum idle time of a reused connection (servers close at 90 s)
  std::size_t max_list_bytes = std::size_t{64} << 20;  ///< per page; a longer list continues with smaller pages
  std::size_t max_body_bytes = std::size_t{32} << 20;
  std::size_t max_watch_line = std::size_t{64} << 20;
  std::size_t watch_queue_bytes = std::size_t{4} << 20;  ///< maximum bytes read ahead of next()
  std::size_t list_queue_bytes = std::size_t{1} << 20;   ///< as watch_queue_bytes, for streamed lists
  std::string user_agent = "evacuator/" EVACUATOR_VERSION " (linux)";
  /// Additional headers of every request. If set, Asio + Beast carries all requests.
  std::vector<std::pair<std::string, std::string>> headers{};
};

/// Returns true for headers that the client sets itself or that determine how a message is parsed. They must not be
/// configured. Ignores case.
bool is_own_header(std::string_view name);

/// Transport over HTTP/1.1 to one API server. Thread-safe; any number of threads may block in it. Keeps connections
/// alive and detects before reuse that the server closed one. A GET that fails on a kept-alive connection before the
/// first byte of its answer is retried once on a new connection. Writes are never sent twice. Redirects are not
/// followed. After a 401, the next request reloads the credentials.
class HttpTransport final : public Transport {
 public:
  /// Validates URL, certificates and keys without connecting. Starts one thread.
  static base::Result<std::unique_ptr<HttpTransport>> create(Config config, HttpTransportOptions options = {});
  /// Cancels running calls and waits for their callers to leave.
  ~HttpTransport() override;

  base::Result<Response> round_trip(const Request& request) override;
  base::Result<std::unique_ptr<WatchStream>> watch(const Request& request) override;
  base::Result<std::unique_ptr<WatchStream>> list(const Request& request) override;

  /// Makes every running and later call return kCancelled. Idempotent; does not block.
  void shut_down();

 private:
  struct Impl;
  explicit HttpTransport(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kube
