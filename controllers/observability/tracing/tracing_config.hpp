#pragma once

/// Section `tracing:` of the operator's configuration: destination of traces.

#include <string>

#include "api/json/field_path.hpp"
#include "api/json/strict_object.hpp"
#include "base/clock.hpp"

namespace controllers {

struct TracingConfig {
  std::string endpoint{};         ///< OTLP/HTTP URL for JSON, including the path; empty disables tracing
  bool insecure = false;          ///< Allow http to hosts other than loopback
  std::string ca_file{};          ///< Empty means the system's roots
  std::string headers_file{};     ///< File with lines "Name: value", a secret; read for each request. Empty means none
  double sampling_percent = 100;  ///< Percentage of traces, 0 to 100; a trace is sent completely or not at all
  base::Duration timeout = base::seconds(10);  ///< Per request, 1s … 30s
  bool is_on() const { return !endpoint.empty() && sampling_percent > 0; }
  friend bool operator==(const TracingConfig&, const TracingConfig&) = default;
};

/// Reads the section. Unknown fields are errors.
void read_tracing(api::StrictObject& object, TracingConfig& target);
/// Checks bounds and combinations. Paths of errors start at "tracing".
void check_tracing(const TracingConfig& config, api::FieldErrors& errors);

}  // namespace controllers
