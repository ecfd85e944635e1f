#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "base/result.hpp"
#include "http_server/certificates.hpp"
#include "simulator/api/server.hpp"

namespace serving {
class Server;
}

namespace simulator {

struct HttpServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;                                      ///< 0: a free one
  std::optional<serving::ServerIdentity> identity{};           ///< absent: plain HTTP
  std::map<std::string, User> tokens{};                        ///< by bearer token; another token is 401
  User anonymous{"kubernetes-admin", {"system:masters"}, {}};  ///< without a token, and with that of kubeconfig()
  int handler_threads = 8;  ///< requests worked on at a time; one that a fault delays holds its thread
};

/// An ApiServer over HTTP or HTTPS, for kubectl and for an operator in its own process. Impersonate-User is believed;
/// every running watch has a thread of its own. Thread-safe.
class HttpServer {
 public:
  /// `server` must outlive this one.
  HttpServer(ApiServer& server, HttpServerOptions options, base::Log log = {});
  ~HttpServer();  ///< stops

  base::Status start();
  void stop();
  /// REQUIRES: started.
  std::uint16_t port() const;
  std::string url() const;
  /// A kubeconfig with one context that reaches this server, as the owner of the token or, without one, as `anonymous`.
  std::string kubeconfig(const std::string& token = {}) const;

 private:
  ApiServer& server_;
  HttpServerOptions options_;
  std::unique_ptr<serving::Server> http_;
};

}  // namespace simulator
