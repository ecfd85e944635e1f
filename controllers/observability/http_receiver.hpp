#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/transport.hpp"

namespace kube {
class HttpTransport;
}

namespace controllers {

/// Where bodies of JSON are posted to, outside of the cluster's API.
struct ReceiverOptions {
  std::string url{};          ///< https://…; a secret: neither errors nor logs hold it
  std::string ca_file{};      ///< empty: the system's roots
  std::string name{};         ///< what errors may call it
  bool may_be_plain = false;  ///< http to any host; else only to this machine
  std::vector<std::pair<std::string, std::string>> headers{};
};

/// One receiver and the connection to it, which is kept. Of one thread.
class HttpReceiver {
 public:
  /// Opens no connection yet. `clock` must outlive it. kInvalid: the URL or a file cannot be used.
  static base::Result<std::unique_ptr<HttpReceiver>> create(const ReceiverOptions& options, const base::Clock& clock);
  ~HttpReceiver();

  /// Any HTTP answer is one. An error says no more than that none came.
  base::Result<kube::Response> post(const std::string& body, base::Duration timeout);

 private:
  HttpReceiver(std::unique_ptr<kube::HttpTransport> transport, std::string path, std::string query);

  const std::unique_ptr<kube::HttpTransport> transport_;
  const std::string path_;
  const std::string query_;
};

}  // namespace controllers
