#pragma once

/// The parts of classify() (kube/client.hpp) that watches and evictors need, too. Pure; never throws on hostile bodies.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace kube {

/// metav1.Status as far as it is read. `is_status` is false for anything else (HTML, plain text, truncated JSON).
struct StatusBody {
  bool is_status = false;
  int code = 0;
  std::string reason;
  std::string message;
  std::int64_t retry_after_seconds = 0;
};
StatusBody parse_status(std::string_view body);

/// The ErrorCode of an HTTP status outside 2xx. `reason` is Status.reason and only matters for 409.
base::ErrorCode code_of(int http_status, std::string_view reason);

/// What a Status object means that came inside a watch (event ERROR).
base::Error error_of_status(std::string_view status_json);

}  // namespace kube
