#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/transport.hpp"

namespace simulator {

/// A decoded query string. The first occurrence of a repeated name counts.
class Query {
 public:
  static Query parse(std::string_view text);

  bool has(std::string_view name) const;
  std::string value(std::string_view name) const;
  /// Parses a boolean like Kubernetes: false if absent, "0" or "false" (case-insensitive); true for anything else,
  /// including an empty value.
  bool flag(std::string_view name) const;
  std::optional<std::int64_t> number(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

/// A request, parsed by Kubernetes' rules.
struct RequestInfo {
  bool is_resource = false;  ///< path of a resource, below /api/v1 or /apis/<group>/<version>
  std::string verb;  ///< get list watch create update patch delete deletecollection, or the method in lower case
  std::string group;
  std::string version;
  std::string ns;
  std::string plural;
  std::string name;
  std::string subresource;
  Query query;
  std::vector<std::string> segments;  ///< decoded
};
RequestInfo read_request(const kube::Request& request);

std::string percent_decode(std::string_view text, bool plus_is_space);

}  // namespace simulator
