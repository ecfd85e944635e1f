#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "controllers/observability/http_receiver.hpp"
#include "controllers/observability/tracing/tracing_config.hpp"
#include "kube/transport.hpp"

namespace controllers {

/// The headers of that text, one "Name: value" a line; empty lines and those that begin with # are skipped. An error
/// names the line by its number: what it holds is a secret.
base::Result<std::vector<std::pair<std::string, std::string>>> parse_headers(const std::string& text);

/// Posts bodies to the endpoint of the configuration. The file of headers is read for each of them, so that a rotated
/// one counts at once; it is sent only to a server that the Secret which it is mounted from lists
/// (kube::may_send_file()). Errors hold neither headers nor the path of the endpoint. Of one thread.
class OtlpPost {
 public:
  /// `clock` must outlive it.
  OtlpPost(TracingConfig config, const base::Clock& clock) : config_(std::move(config)), clock_(clock) {}

  base::Result<kube::Response> operator()(const std::string& body);

 private:
  base::Status connect();

  const TracingConfig config_;
  const base::Clock& clock_;
  std::string headers_;  ///< of receiver_, as read
  std::unique_ptr<HttpReceiver> receiver_;
};

}  // namespace controllers
