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

/// Posts messages to the URLs of channels' files: https, or http to a loopback address. A file is read for each
/// message, so that a rotated one counts at once. Errors never hold the URL, which is a secret. Of one thread.
class HttpPost {
 public:
  /// `clock` must outlive it.
  explicit HttpPost(const base::Clock& clock) : clock_(clock) {}

  base::Result<kube::Response> operator()(const NotificationChannel& channel, const std::string& body);

 private:
  struct Connection {
    std::string url;
    std::unique_ptr<HttpReceiver> receiver;
  };

  const base::Clock& clock_;
  std::map<std::string, Connection> connections_;  ///< by channel
};

}  // namespace controllers
