#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "controllers/config/notifications_config.hpp"
#include "kube/transport.hpp"

namespace kube {
class HttpTransport;
}

namespace controllers {

/// Posts messages to the URLs of channels' files: https, or http to a loopback address. A file is read for each
/// message, so that a rotated one counts at once. Errors never hold the URL, which is a secret. Of one thread, but for
/// shut_down().
class HttpPost {
 public:
  /// `clock` must outlive it.
  explicit HttpPost(const base::Clock& clock);
  ~HttpPost();

  base::Result<kube::Response> operator()(const NotificationChannel& channel, const std::string& body);

 private:
  struct Connection {
    std::string url;
    std::string path;  ///< with the query
    std::string query;
    std::unique_ptr<kube::HttpTransport> transport;
  };
  base::Status connect(const NotificationChannel& channel, const std::string& url, Connection& connection) const;

  const base::Clock& clock_;
  std::map<std::string, Connection> connections_;  ///< by channel
};

}  // namespace controllers
