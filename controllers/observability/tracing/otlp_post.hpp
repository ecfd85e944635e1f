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

/// Parses headers, one "Name: value" per line. Skips empty lines and lines that begin with #. Errors name the line
/// number only, because the content is secret.
base::Result<std::vector<std::pair<std::string, std::string>>> parse_headers(const std::string& text);

/// Posts bodies to the configured endpoint. Reads the headers file for each request, so rotated headers apply
/// immediately. Sends them only to a server listed in the Secret that they are mounted from (kube::may_send_file()).
/// Errors contain neither headers nor the path of the endpoint. Use from one thread.
class OtlpPost {
 public:
  /// `clock` must outlive this object.
  OtlpPost(TracingConfig config, const base::Clock& clock) : config_(std::move(config)), clock_(clock) {}

  base::Result<kube::Response> operator()(const std::string& body);

 private:
  base::Status connect();

  const TracingConfig config_;
  const base::Clock& clock_;
  std::string headers_;  ///< Headers text with which receiver_ was created
  std::unique_ptr<HttpReceiver> receiver_;
};

}  // namespace controllers
