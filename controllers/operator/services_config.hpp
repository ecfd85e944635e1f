#pragma once

/// `services:` of the operator's configuration: HTTPS endpoints that evictors call by name.

#include <string>
#include <string_view>
#include <vector>

#include "api/json/field_path.hpp"
#include "api/json/strict_object.hpp"
#include "base/clock.hpp"

namespace controllers {

struct ServiceConfig {
  std::string name;                            ///< DNS label; what parameter `service` of an evictor names
  std::string url;                             ///< https://host[:port][/base]; http only to loopback
  std::string ca_file;                         ///< empty: the system's roots
  std::string token_file;                      ///< Bearer token, read again as it is rotated; or
  std::string cert_file;                       ///< client certificate for mTLS, with
  std::string key_file;                        ///< its key
  base::Duration timeout = base::seconds(10);  ///< of one call: 1s … 30s
  std::vector<std::string> namespaces{};       ///< for whose Evacuations it may be called; "*": all; none: nobody's
  std::vector<std::string> uses{};             ///< as what, of api::kServiceUses; none: as nothing
  friend bool operator==(const ServiceConfig&, const ServiceConfig&) = default;
};

/// Reads the list, strictly; complaints go where the object's go.
void read_services(api::StrictObject& root, std::vector<ServiceConfig>& services);

/// Why `service` may not be called as `use` for an Evacuation in `ns`: it names all three and the field that forbids
/// it. Empty: it may.
std::string refusal(const ServiceConfig& service, std::string_view use, std::string_view ns);

/// What no type can tell: names, schemes, pairs, bounds. Paths start at "services".
api::FieldErrors validate(const std::vector<ServiceConfig>& services);

}  // namespace controllers
