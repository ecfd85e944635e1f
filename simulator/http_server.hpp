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

namespace http_server {
class Server;
}

namespace simulator {

struct HttpServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;                                 ///< 0 selects a free port
  std::optional<http_server::ServerIdentity> identity{};  ///< plain HTTP if absent
  std::map<std::string, User> tokens{};                   ///< by bearer token; unknown tokens get 401
  User anonymous{"kubernetes-admin",
                 {"system:masters"},
                 {}};       ///< user of requests without a token, or with the token of kubeconfig()
  int handler_threads = 8;  ///< number of concurrent requests; a delayed one occupies its thread
};

/// Serves an ApiServer over HTTP or HTTPS, for kubectl and for an operator in a separate process. Trusts
/// Impersonate-User. Every open watch uses one thread. Thread-safe.
class HttpServer {
 public:
  /// `server` must outlive this object.
  HttpServer(ApiServer& server, HttpServerOptions options, base::Log log = {});
  ~HttpServer();  ///< calls stop()

  base::Status start();
  void stop();
  /// REQUIRES: started.
  std::uint16_t port() const;
  std::string url() const;
  /// Returns a kubeconfig with one context for this server. The user is the owner of the token or, without one,
  /// `anonymous`.
  std::string kubeconfig(const std::string& token = {}) const;

 private:
  ApiServer& server_;
  HttpServerOptions options_;
  std::unique_ptr<http_server::Server> http_;
};

}  // namespace simulator
