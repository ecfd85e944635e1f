#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "base/result.hpp"
#include "serving/server.hpp"
#include "simulator/api_server.hpp"

namespace simulator {

struct HttpFrontOptions {
  std::uint16_t port = 0;  ///< on 127.0.0.1; 0: a free one
  bool tls = false;        ///< HTTPS with a certificate made on the spot; ca_pem() is its own root
  /// Who a bearer token belongs to. Requests without a token are the administrator's; an unknown token is 401.
  std::map<std::string, User> tokens;
};

/// The simulated API server on loopback, for kubectl, for the operator as a process of its own, for anything that speaks to
/// Kubernetes. Watches hold one thread each.
class HttpFront {
 public:
  /// `server` must outlive the front.
  HttpFront(ApiServer& server, HttpFrontOptions options, base::Log log = {});
  ~HttpFront();

  base::Status start();
  /// Ends watches and connections. Idempotent.
  void stop();

  std::uint16_t port() const;
  std::string url() const;     ///< "http://127.0.0.1:40111"
  std::string ca_pem() const;  ///< empty without TLS
  /// A kubeconfig's text; with an empty token the administrator's.
  std::string kubeconfig(const std::string& token = {}) const;

 private:
  serving::Reply answer(const serving::Request& request);
  serving::Reply answer_watch(const kube::Request& request, const User& user);
  std::optional<User> user_of(const serving::Request& request) const;

  ApiServer& server_;
  HttpFrontOptions options_;
  std::string ca_pem_;
  std::unique_ptr<serving::Server> http_;
};

}  // namespace simulator
