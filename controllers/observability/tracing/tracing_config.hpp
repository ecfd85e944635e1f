#pragma once

/// `tracing:` of the operator's configuration: where traces are sent to.

#include <string>

#include "api/json/field_path.hpp"
#include "api/json/strict_object.hpp"
#include "base/clock.hpp"

namespace controllers {

struct TracingConfig {
  std::string endpoint{};      ///< URL that takes OTLP over HTTP in JSON, the path included; empty: nothing is traced
  bool insecure = false;       ///< http to other hosts than this machine
  std::string ca_file{};       ///< empty: the system's roots
  std::string headers_file{};  ///< lines "Name: value", a secret; read anew for each request. Empty: none
  double sampling_percent = 100;               ///< of traces, 0 to 100; a trace is sent whole or not at all
  base::Duration timeout = base::seconds(10);  ///< of one request: 1s … 30s
  bool is_on() const { return !endpoint.empty() && sampling_percent > 0; }
  friend bool operator==(const TracingConfig&, const TracingConfig&) = default;
};

/// Reads the section, strictly.
void read_tracing(api::StrictObject& object, TracingConfig& target);
/// What no type can tell. Paths start at "tracing".
void check_tracing(const TracingConfig& config, api::FieldErrors& errors);

}  // namespace controllers
