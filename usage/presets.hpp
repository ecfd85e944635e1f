#pragma once

/// Predefined PromQL expressions, and the validation of a source beyond the policy's codec.

#include <string>
#include <string_view>
#include <vector>

#include "api/json/field_path.hpp"
#include "api/policy/usage_source.hpp"

namespace usage {

/// Expression that gives one value per node (label node, else instance) or pod (labels namespace and pod).
struct Preset {
  std::string_view name;      ///< "NodeExporterCPU"
  std::string_view resource;  ///< measured resource: "cpu", "memory", or a name of its own
  api::UsageOf of = api::UsageOf::kNode;
  api::UsageUnit unit = api::UsageUnit::kAmount;
  std::string_view query;
  std::string_view needs;  ///< "node_exporter 1.0 or newer", human-readable
};
const std::vector<Preset>& presets();
/// Returns nullptr if there is no preset of that name.
const Preset* find_preset(std::string_view name);

/// Replaces a preset's name by its expression and unit. Leaves queries without a preset, or with an unknown one,
/// unchanged.
void fill_preset(api::UsageQuery& query);

/// Returns the errors of a source that the codec does not check: unknown presets and presets of the wrong kind, no
/// queries, two queries for one column, a URL that is invalid or contains credentials. Paths are relative to the
/// source.
api::FieldErrors problems(const api::UsageSource& source);

/// Returns the errors in the address of a server that may have any URL. `at` is the path of the address. Empty for
/// errors that the codec reports.
api::FieldErrors url_problems(const api::UsageEndpoint& endpoint, const api::FieldPath& at);

}  // namespace usage
