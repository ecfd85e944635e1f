#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/transport.hpp"

namespace simulator {

/// A decoded query string. The first of repeated names counts.
class Query {
 public:
  static Query parse(std::string_view text);

  bool has(std::string_view name) const;
  std::string value(std::string_view name) const;
  /// As Kubernetes reads booleans: false when absent, "0" or "false" in any case of letters; everything else is true,
  /// also no value.
  bool flag(std::string_view name) const;
  std::optional<std::int64_t> number(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

/// A request read as Kubernetes reads it.
struct RequestInfo {
  bool is_resource = false;  ///< below /api/v1 or /apis/<group>/<version>, with a resource
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
