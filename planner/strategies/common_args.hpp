#pragma once

/// Readers for arguments that several strategies share. They reject unknown fields and invalid values.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/core/selector_codec.hpp"
#include "api/descheduler_policy.hpp"
#include "api/json/strict_object.hpp"

namespace strategies {

/// The arguments namespaces and labelSelector, which most strategies have.
struct PodScope {
  api::NamespaceFilter namespaces;
  std::optional<api::LabelSelector> labels;

  bool includes(const api::Pod& pod) const;
  friend bool operator==(const PodScope&, const PodScope&) = default;
};
PodScope read_scope(api::StrictObject& args);

/// Reads {include, exclude}. Adds an error if both are set.
api::NamespaceFilter read_include_exclude(api::StrictObject& args, std::string_view name);

/// Reads evictableNamespaces: {exclude: […]}. Adds an error for a non-empty include, like upstream.
std::vector<std::string> read_excluded_namespaces(api::StrictObject& args);

/// Resource names that percentages accept.
enum class ResourceRule {
  kOfNode,      ///< resources that a node can publish
  kMeasured,    ///< any name, because usage sources can define their own
  kMetricOnly,  ///< only scheduling::kMetricResource
};
/// Percentages by resource, sorted by name. Required and not empty; each value is between 0 and 100.
using Percentages = std::vector<std::pair<std::string, double>>;
std::vector<std::string> names_in(const Percentages& percentages);
std::vector<double> percents_in(const Percentages& percentages);
Percentages read_percentages(api::StrictObject& args, std::string_view name, ResourceRule rule = ResourceRule::kOfNode);

/// Reads numberOfNodes: the strategy does nothing unless more nodes than this qualify. Default 0.
std::int32_t read_number_of_nodes(api::StrictObject& args);

/// Path of one entry of a map: "thresholds.cpu", but "thresholds[nvidia.com/gpu]".
api::FieldPath entry_path(const api::FieldPath& map, std::string_view key);

/// Reads a list of strings that must be in `allowed`.
std::vector<std::string> read_choices(api::StrictObject& args, std::string_view name,
                                      std::span<const std::string_view> allowed);

/// Reads a list of integers in the range of int32.
std::vector<std::int32_t> read_integers(api::StrictObject& args, std::string_view name);

}  // namespace strategies
