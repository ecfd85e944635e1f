#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace kube::testing {

struct Pem {
  std::string certificate;
  std::string key;
};

/// Certificate authority for one test.
class TestCa {
 public:
  TestCa();
  static TestCa intermediate_of(const TestCa& issuer);
  TestCa(TestCa&&) noexcept;
  ~TestCa();
  const std::string& pem() const { return pem_; }

  /// `names` are DNS names and IP addresses. The validity is in seconds from now.
  Pem issue(const std::vector<std::string>& names, long valid_from = -3600, long valid_to = 3600) const;

 private:
  struct Keys;
  explicit TestCa(const char* name);
  void sign_with(const Keys& issuer);
  std::unique_ptr<Keys> keys_;
  std::string pem_;
};

struct ServerTls {
  Pem identity;
  std::string client_ca_pem;  ///< If not empty, clients must have a certificate of this authority
};

struct ServerRequest {
  std::string method;
  std::string target;
  std::map<std::string, std::string> headers;  ///< Names in lower case
  std::string body;
  int connection = 0;  ///< Number of the connection, starting with 1
};

/// Server's end of one connection. Test handlers may send invalid data on it.
class Peer {
 public:
  virtual ~Peer() = default;
  /// Returns false if the client is gone or the server stops.
  virtual bool send(std::string_view bytes) = 0;
  virtual void reset() = 0;      ///< Sends an RST
  virtual void await_end() = 0;  ///< Blocks until the client hangs up or the server stops
  virtual void dawdle() = 0;     ///< Waits a few milliseconds, or until the client hangs up
};

/// HTTP/1.1 server on the loopback interface, one thread per connection, optionally with TLS. The handler answers on
/// the raw connection and returns whether the server may read the next request from it.
class TestServer {
 public:
  using Handler = std::function<bool(Peer&, const ServerRequest&)>;

  explicit TestServer(Handler handler, const ServerTls* tls = nullptr, bool ipv6 = false);
  ~TestServer();

  std::uint16_t port() const { return port_; }
  std::string url() const;
  int connections() const { return connections_; }
  int resumed_sessions() const { return resumed_sessions_; }
  std::vector<ServerRequest> requests() const;
  void await_requests(std::size_t count) const;
  void await_no_connections() const;  ///< Waits until all connections are closed
  void await_stall() const;           ///< Waits until a send() blocks on the client's window

 private:
  class Connection;
  void accept_all();
  void serve(int socket, int number);

  const Handler handler_;
  const bool ipv6_;
  std::shared_ptr<void> context_;  // SSL_CTX
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> connections_ = 0;
  std::atomic<int> resumed_sessions_ = 0;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<ServerRequest> requests_;
  std::list<int> sockets_;
  std::list<std::thread> threads_;
  bool stopping_ = false;
  bool stalled_ = false;
  std::thread acceptor_;
};

/// Returns a complete answer with Content-Length.
std::string http_answer(int status, const std::string& body, const std::string& more_headers = {},
                        const std::string& content_type = "application/json");

/// HTTP proxy that supports CONNECT. `credentials` is the required "user:password", empty for no authentication.
class TestProxy {
 public:
  explicit TestProxy(std::string credentials = {});
  ~TestProxy();
  std::uint16_t port() const;
  std::vector<std::string> targets() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kube::testing
