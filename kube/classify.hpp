#pragma once

/// The parts of classify() (kube/client.hpp) that watches and evictors need, too. Pure; never throws on hostile bodies.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace kube {

/// One of details.causes.
struct StatusCause {
  std::string reason;
  std::string message;
};

/// metav1.Status as far as it is read. `is_status` is false for anything else (HTML, plain text, truncated JSON).
struct StatusBody {
  bool is_status = false;
  int code = 0;
  std::string reason;
  std::string message;  ///< as sent: of any length, and not printable
  std::vector<StatusCause> causes;
  std::optional<base::seconds> retry_after;  ///< details.retryAfterSeconds above 0, a day at most
};
StatusBody parse_status(std::string_view body);

/// The ErrorCode of an HTTP status outside 2xx. `reason` is Status.reason and only matters for 409.
base::ErrorCode code_of(int http_status, std::string_view reason);

/// What a Status object means that came inside a watch (event ERROR).
base::Error error_of_status(std::string_view status_json);

}  // namespace kube
