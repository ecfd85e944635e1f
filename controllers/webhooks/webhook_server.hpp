#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "http_server/certificates.hpp"
#include "http_server/server.hpp"

namespace controllers {

/// Maximum size of a request. A larger one is rejected unread, and the API server continues without the webhook
/// (failurePolicy Ignore). A pod has at most 256 KiB of annotations; the rest of a real pod is smaller than that.
inline constexpr std::size_t kMaxReviewBytes = 512 * 1024;
/// Maximum total size of all concurrent requests, so that clients of the port cannot exhaust the operator's memory.
inline constexpr std::size_t kMaxReviewsBytes = 32 * 1024 * 1024;

/// Serves admission webhooks over HTTPS, one path per webhook. Any client that reaches the port may send reviews,
/// unless client certificates are required; the API server presents none by default.
class WebhookServer {
 public:
  /// Returns the response to an AdmissionReview, or nullopt if it cannot be read. Called from several threads.
  using Answer = std::function<std::optional<std::string>(std::string_view body)>;

  /// `address` is host:port. `names` are the names in the temporary certificate until serve() is called. `on_end` is
  /// called after each request. `client_ca_file` is a PEM file; if not empty, clients must present a certificate from
  /// one of its CAs. The file is read by start() and with each new certificate.
  WebhookServer(std::string address, std::vector<std::string> names, std::map<std::string, Answer> answers,
                base::Log log, http_server::OnEnd on_end = {}, std::string client_ca_file = {});

  /// Returns kInvalid with the name of the field if the address is invalid or the client CAs are unusable.
  base::Status start(base::TimePoint now);
  std::uint16_t port() const { return server_->port(); }
  void stop() {
    if (server_) server_->stop();
  }
  /// Uses this certificate for new connections. On error, the previous certificate stays in use.
  base::Status serve(const http_server::ServerIdentity& identity);

 private:
  http_server::Response answer(const http_server::Request& request) const;
  base::Result<http_server::Certificate> certificate_of(const http_server::ServerIdentity& identity) const;

  const std::string address_;
  const std::vector<std::string> names_;
  const std::map<std::string, Answer> answers_;
  const base::Log log_;
  const http_server::OnEnd on_end_;
  const std::string client_ca_file_;
  std::optional<http_server::Server> server_;  ///< Set by start()
};

}  // namespace controllers
