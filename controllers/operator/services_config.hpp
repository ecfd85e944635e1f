#pragma once

/// Section `services:` of the operator's configuration: HTTPS endpoints that evictors call by name.

#include <string>
#include <string_view>
#include <vector>

#include "api/json/field_path.hpp"
#include "api/json/strict_object.hpp"
#include "base/clock.hpp"

namespace controllers {

struct ServiceConfig {
  std::string name;                            ///< DNS label; value of the parameter `service` of an evictor
  std::string url;                             ///< https://host[:port][/base]; http only to loopback
  std::string ca_file;                         ///< Empty means the system's roots
  std::string token_file;                      ///< Bearer token, reloaded when rotated. Alternative to cert_file.
  std::string cert_file;                       ///< Client certificate for mTLS
  std::string key_file;                        ///< Key of cert_file
  base::Duration timeout = base::seconds(10);  ///< Per call, 1s … 30s
  /// Namespaces whose Evacuations may use the service; "*" allows all, empty allows none.
  std::vector<std::string> namespaces{};
  std::vector<std::string> uses{};  ///< Allowed uses, from api::kServiceUses; empty allows none
  friend bool operator==(const ServiceConfig&, const ServiceConfig&) = default;
};

/// Reads the list. Unknown fields are errors. Errors are added to the errors of `root`.
void read_services(api::StrictObject& root, std::vector<ServiceConfig>& services);

/// Explains why `service` may not be called as `use` for an Evacuation in `ns`. Names all three and the field that
/// forbids it. Returns an empty string if the call is allowed.
std::string refusal(const ServiceConfig& service, std::string_view use, std::string_view ns);

/// Checks names, schemes, pairs and bounds. Paths of errors start at "services".
api::FieldErrors validate(const std::vector<ServiceConfig>& services);

}  // namespace controllers
