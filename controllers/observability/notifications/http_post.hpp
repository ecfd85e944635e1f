#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "controllers/observability/http_receiver.hpp"
#include "controllers/observability/notifications/notifications_config.hpp"
#include "kube/transport.hpp"

namespace controllers {

/// Posts messages to the URLs in the channels' URL files: https, or http to a loopback address. Reads the file for
/// each message, so a rotated URL applies immediately. Errors never contain the URL, which is a secret. Use from one
/// thread.
class HttpPost {
 public:
  /// `clock` must outlive this object.
  explicit HttpPost(const base::Clock& clock) : clock_(clock) {}

  base::Result<kube::Response> operator()(const NotificationChannel& channel, const std::string& body);

 private:
  struct Connection {
    std::string url;
    std::unique_ptr<HttpReceiver> receiver;
  };

  const base::Clock& clock_;
  std::map<std::string, Connection> connections_;  ///< By channel name
};

}  // namespace controllers
