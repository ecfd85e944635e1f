#pragma once

/// Arguments that several strategies share, read strictly.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/core/selector_codec.hpp"
#include "api/descheduler_policy.hpp"
#include "api/json/strict_object.hpp"

namespace strategies {

/// namespaces and labelSelector, as most strategies have them.
struct PodScope {
  api::NamespaceFilter namespaces;
  std::optional<api::LabelSelector> labels;

  bool includes(const api::Pod& pod) const;
  friend bool operator==(const PodScope&, const PodScope&) = default;
};
PodScope read_scope(api::StrictObject& args);

/// {include, exclude}; complains when both are set.
api::NamespaceFilter read_include_exclude(api::StrictObject& args, std::string_view name);

/// evictableNamespaces: {exclude: […]}; complains about an include that is not empty, as upstream does.
std::vector<std::string> read_excluded_namespaces(api::StrictObject& args);

/// Which resources percentages may name.
enum class ResourceRule {
  kOfNode,      ///< what a node can publish
  kMeasured,    ///< any name: a usage source may have its own
  kMetricOnly,  ///< scheduling::kMetricResource and nothing else
};
/// Percentages by resource, sorted by name. Required and not empty; every value between 0 and 100.
using Percentages = std::vector<std::pair<std::string, double>>;
Percentages read_percentages(api::StrictObject& args, std::string_view name, ResourceRule rule = ResourceRule::kOfNode);

/// numberOfNodes: so many nodes or fewer are left alone. 0 when it is left out.
std::int32_t read_number_of_nodes(api::StrictObject& args);

/// The place of one entry of a map: "thresholds.cpu", but "thresholds[nvidia.com/gpu]".
api::FieldPath entry_path(const api::FieldPath& map, std::string_view key);

/// A list of text of which every entry must be one of `allowed`.
std::vector<std::string> read_choices(api::StrictObject& args, std::string_view name,
                                      std::span<const std::string_view> allowed);

/// A list of whole numbers in the range of int32.
std::vector<std::int32_t> read_integers(api::StrictObject& args, std::string_view name);

}  // namespace strategies
