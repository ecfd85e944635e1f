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

/// A larger request is refused unread: the API server then goes on without us (failurePolicy Ignore). A pod has at most
/// 256 KiB of annotations, and as much again is more than an honest one is.
inline constexpr std::size_t kMaxReviewBytes = 512 * 1024;
/// Of all requests at a time: whoever reaches the port must not use up the operator's memory.
inline constexpr std::size_t kMaxReviewsBytes = 32 * 1024 * 1024;

/// Serves admission webhooks over HTTPS, one path each. Any peer that reaches the port may ask, unless client
/// certificates are demanded: the API server shows none by default.
class WebhookServer {
 public:
  /// The body of the answer to an AdmissionReview; nullopt: it could not be read. Called by several threads at a time.
  using Answer = std::function<std::optional<std::string>(std::string_view body)>;

  /// `address` is host:port; `names` are what the certificate is for until the first real one comes. `on_end` is told
  /// of each request. `client_ca_file`: PEM; not empty: only who shows a certificate of one of these authorities may
  /// ask. It is read by start() and with each new certificate.
  WebhookServer(std::string address, std::vector<std::string> names, std::map<std::string, Answer> answers,
                base::Log log, serving::OnEnd on_end = {}, std::string client_ca_file = {});

  /// kInvalid names the configuration field of a wrong address or of authorities that cannot be used.
  base::Status start(base::TimePoint now);
  std::uint16_t port() const { return server_->port(); }
  void stop();
  /// New connections get this certificate. An error: it makes no sense, and the one before stays.
  base::Status serve(const serving::ServerIdentity& identity);

 private:
  serving::Response answer(const serving::Request& request) const;
  base::Result<serving::Certificate> certificate_of(const serving::ServerIdentity& identity) const;

  const std::string address_;
  const std::vector<std::string> names_;
  const std::map<std::string, Answer> answers_;
  const base::Log log_;
  const serving::OnEnd on_end_;
  const std::string client_ca_file_;
  std::optional<serving::Server> server_;  ///< since start()
};

}  // namespace controllers
