#pragma once

/// Functions shared by the readers of upstream's policy versions. Internal to cmd/convert.

#include <string>
#include <string_view>
#include <vector>

#include "cmd/convert/context.hpp"

namespace convert {

/// Returns the object at `path`, or an empty one.
const Json& object_at(const Json& json, std::initializer_list<std::string_view> path);

/// Parses a selector in text form and stores it as `to[name]`. Empty text stores nothing.
void put_selector_text(const Json* text, const FieldPath& at, Json& to, const char* name, ConversionContext& bench);

/// Returns a selector that matches what both selectors match.
Json both_selectors(Json one, Json other);

/// A selector for what one or several of a list select.
struct EitherSelector {
  Json selector;
  std::size_t first = 0;   ///< index in the list
  bool is_joined = false;  ///< selects what several of the list do
};
/// Selectors that together select what any of `selectors` does. Two that differ in one requirement, In on the same key,
/// become one. A selector whose matches another one covers goes. Selectors of a wrong form stay, to be complained
/// about.
std::vector<EitherSelector> either_selectors(std::vector<Json> selectors);

/// DefaultEvictor's args → spec.evictability, deprecated spellings included.
void read_evictor_args(const Json& args, const FieldPath& at, Draft& draft, ConversionContext& bench);

/// Converts maxNoOfPodsToEvictPer… to spec.limits.perCycle of the common draft.
void read_cycle_limits(StrictObject& policy, Draft& common, ConversionContext& bench);

/// Converts settings that both versions share, such as nodeSelector and limits, to the common draft.
void read_cycle_settings(StrictObject& policy, Draft& common, ConversionContext& bench);

/// Converts metricsProviders and metricsCollector to spec.usageSources of the common draft.
void read_usage_sources(StrictObject& policy, Draft& common, ConversionContext& bench);
/// Removes usageSources from a draft whose strategies work on requests. Adds a note for each strategy whose source is
/// not configured.
void prune_usage_sources(Draft& draft, ConversionContext& bench);

/// An item of a profile's pluginConfig.
struct PluginConfig {
  std::string name;
  Json args = Json::object();
  FieldPath at;  ///< path of the args
  bool used = false;
};
/// Reads the pluginConfig of a profile. With `is_upstream`, a name is required, and its case is ignored.
std::vector<PluginConfig> read_plugin_configs(StrictObject& profile, bool is_upstream, ConversionContext& bench);
/// Returns nullptr if the plugin is not configured.
PluginConfig* find_config(std::vector<PluginConfig>& configs, std::string_view name);

/// Returns the member of v1alpha1's params whose members are the strategy's args, an empty string if the params
/// themselves are.
std::string_view nested_param_of(std::string_view strategy);

/// Read a whole document of one version. `common` holds settings from outside the document, such as the chart's
/// schedule.
void read_v1alpha2(const Json& policy, const FieldPath& at, const Draft& common, ConversionContext& bench);
void read_v1alpha1(const Json& policy, const FieldPath& at, const Draft& common, ConversionContext& bench);
/// Reads the chart's values.yaml, merged over the chart's defaults. `minor` is the chart's minor version if the
/// surrounding file states it; the options take precedence.
void read_chart_values(const Json& values, const FieldPath& at, std::optional<int> minor, ConversionContext& bench);

/// Returns true if an object without apiVersion has members that only the chart's values have.
bool is_chart_values(const Json& json);

/// Converts a name to an object name: "RemoveDuplicates" becomes "remove-duplicates". Returns an empty string if no
/// valid characters remain.
std::string object_name_of(std::string_view name);

enum class Point { kDeschedule, kBalance, kFilter };
/// Returns the extension point of a plugin of upstream's tree, nullopt if the plugin is unknown.
std::optional<Point> point_of_plugin(std::string_view name);
std::vector<std::string_view> plugin_names();
/// Finds the plugin name ignoring case. Returns `name` if the plugin is unknown.
std::string canonical_plugin(std::string_view name);
inline constexpr std::string_view kDefaultEvictor = "DefaultEvictor";

}  // namespace convert
