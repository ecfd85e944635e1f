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

/// Who carries the requests (docs/adr/0002). kMixed: cpprestsdk for reads of single objects; Asio + Beast for watches,
/// lists, everything that writes (cpprestsdk re-sends a POST when a kept-alive connection dies), leases, and all that
/// cpprestsdk cannot do: IPv6 literals, tls-server-name, proxies. kBeast: Asio + Beast for all.
enum class HttpEngine { kMixed, kBeast };

struct HttpTransportOptions {
  HttpEngine engine = HttpEngine::kMixed;
  int max_connections = 64;                      ///< requests in flight; leases and watches come on top
  base::milliseconds connect_timeout{10'000};    ///< resolve and connect, each
  base::milliseconds handshake_timeout{10'000};  ///< TLS, and the proxy's answer
  base::milliseconds watch_idle{150'000};        ///< a watch without a byte for so long is broken
  base::milliseconds keep_alive{60'000};         ///< an idle connection is not used after that (servers close at 90 s)
  std::size_t max_list_bytes = std::size_t{64} << 20;  ///< of a page; a list that meets it goes on with smaller ones
  std::size_t max_body_bytes = std::size_t{32} << 20;
  std::size_t max_watch_line = std::size_t{64} << 20;
  std::size_t watch_queue_bytes = std::size_t{4} << 20;  ///< read ahead of next(); beyond it the socket is left alone
  std::size_t list_queue_bytes = std::size_t{1} << 20;   ///< the same of a streamed list, which is sent at once
  std::string user_agent = "evacuator/" EVACUATOR_VERSION " (linux)";
  /// Sent with every request. Asio + Beast carries all of them then.
  std::vector<std::pair<std::string, std::string>> headers{};
};

/// A header that the client writes itself or that decides how a message is read, in any case: it may not be configured.
bool is_own_header(std::string_view name);

/// Transport over HTTP/1.1 to one API server. Thread-safe; any number of threads may block in it. Keeps connections
/// alive and notices when the server closed one before it is used again. A GET that dies on a kept-alive connection
/// before the first byte of its answer is sent once more on a fresh one; nothing that writes is ever sent twice.
/// Redirects are not followed. 401 makes the credentials be looked up again for the next request.
class HttpTransport final : public Transport {
 public:
  /// Checks URL, certificates and keys; opens no connection. Starts one thread.
  static base::Result<std::unique_ptr<HttpTransport>> create(Config config, HttpTransportOptions options = {});
  /// Cancels what is running and waits for the callers to leave.
  ~HttpTransport() override;

  base::Result<Response> round_trip(const Request& request) override;
  base::Result<std::unique_ptr<WatchStream>> watch(const Request& request) override;
  base::Result<std::unique_ptr<WatchStream>> list(const Request& request) override;

  /// Every running and later call returns kCancelled. Idempotent, returns at once.
  void shut_down();

 private:
  struct Impl;
  explicit HttpTransport(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kube
