#pragma once

/// Ready-made PromQL expressions, and the checks of a source that the policy's codec cannot do.

#include <string>
#include <string_view>
#include <vector>

#include "api/json/field_path.hpp"
#include "api/policy/usage_source.hpp"

namespace usage {

/// Each gives one value a node (label node, else instance) or pod (labels namespace and pod).
struct Preset {
  std::string_view name;      ///< "NodeExporterCPU"
  std::string_view resource;  ///< that it measures: "cpu", "memory", or a name of its own
  api::UsageOf of = api::UsageOf::kNode;
  api::UsageUnit unit = api::UsageUnit::kAmount;
  std::string_view query;
  std::string_view needs;  ///< "node_exporter 1.0 or newer", for docs and people
};
const std::vector<Preset>& presets();
/// nullptr: there is none of that name.
const Preset* find_preset(std::string_view name);

/// Replaces the preset's name by its expression and unit. Queries without a preset, or with an unknown one, stay.
void fill_preset(api::UsageQuery& query);

/// What is wrong with a source beyond what the codec tells: unknown presets and presets of the wrong kind, no queries,
/// two queries for one column, a URL that is none or carries credentials. Paths are relative to the source.
api::FieldErrors problems(const api::UsageSource& source);

/// What is wrong with the address of a server that any URL may name, at `at`. Empty where the codec tells it.
api::FieldErrors url_problems(const api::UsageEndpoint& endpoint, const api::FieldPath& at);

}  // namespace usage
