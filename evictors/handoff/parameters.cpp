#include <fmt/format.h>

#include "evictors/document.hpp"
#include "evictors/eviction_call.hpp"
#include "evictors/handoff/adapter.hpp"
#include "evictors/handoff/stateful_handoff.hpp"
#include "evictors/pod_patch.hpp"

namespace evictors::handoff {
namespace {

std::string adapter_names() {
  std::string names;
  for (const auto& each : adapters()) names += (names.empty() ? "" : ", ") + std::string(each->name());
  return names;
}

void check_label_key(const std::string& name, const std::string& value, const api::FieldPath& path,
                     api::FieldErrors& errors) {
  const std::size_t slash = value.find('/');
  const bool has_prefix = slash != std::string::npos;
  const bool is_key = is_plain_name(has_prefix ? value.substr(slash + 1) : value) &&
                      (!has_prefix || is_plain_name(value.substr(0, slash)));
  if (!is_key) errors.push_back({path.field(name).text(), fmt::format("must be the key of a label, not {}", value)});
}

}  // namespace

api::FieldErrors StatefulHandoff::validate(const Parameters& parameters, const api::FieldPath& path) const {
  api::FieldErrors errors =
      check_parameters(parameters, path,
                       {kAdapterParameter, kRequestParameter, kSwitchoverParameter, kServiceParameter,
                        kClusterLabelParameter, kRoleLabelParameter, kStrict, kRequestedBy});
  for (const auto& each : parameters) {
    const auto& [name, value] = each;
    check_value(each, kStrict, {"true", "false"}, path, errors);
    check_value(each, kSwitchoverParameter, {"true", "false"}, path, errors);
    if (name == kAdapterParameter && !find_adapter(value)) {
      errors.push_back(
          {path.field(name).text(), fmt::format("unknown adapter {}; known are: {}", value, adapter_names())});
    }
    if (name == kClusterLabelParameter || name == kRoleLabelParameter) check_label_key(name, value, path, errors);
    check_value(each, kRequestParameter, {"annotation", "eviction"}, path, errors);
  }
  return errors;
}

}  // namespace evictors::handoff
