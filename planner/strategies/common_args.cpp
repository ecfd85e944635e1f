#include "planner/strategies/common_args.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <ranges>
#include <utility>

#include "api/meta/names.hpp"
#include "planner/snapshot/measured_usage.hpp"

namespace strategies {
namespace {

bool is_listed(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::optional<std::string> complaint_about_percentage(const api::Json& value) {
  if (!value.is_number()) return fmt::format("must be a number, not {}", api::kind_of(value));
  const double number = value.get<double>();
  if (number > 100) return fmt::format("{} is above 100", value.dump());
  if (!(number >= 0)) return fmt::format("{} is below 0", value.dump());
  return std::nullopt;
}

/// Resources that Kubernetes nodes publish without a domain in the name.
constexpr std::array<std::string_view, 5> kPlainResources = {"cpu", "memory", "pods", "ephemeral-storage", "storage"};

/// Rejects names that no node can publish, which would silently read as 0 % everywhere.
std::optional<std::string> complaint_about_resource(std::string_view name) {
  const bool is_plain_name = std::ranges::find(kPlainResources, name) != kPlainResources.end();
  if (is_plain_name || name.starts_with("hugepages-")) return std::nullopt;
  if (api::is_qualified_name(name) && name.find('/') != std::string_view::npos) return std::nullopt;
  return fmt::format("\"{}\" is not a resource of a node{}", name.substr(0, 80),
                     api::did_you_mean(name, kPlainResources));
}

std::optional<std::string> complaint_by_rule(std::string_view name, ResourceRule rule) {
  switch (rule) {
    case ResourceRule::kOfNode: return complaint_about_resource(name);
    case ResourceRule::kMeasured:
      return name.empty() ? std::optional<std::string>("\"\" is not a resource") : std::nullopt;
    case ResourceRule::kMetricOnly:
      if (name == scheduling::kMetricResource) return std::nullopt;
      return fmt::format("a Prometheus query measures only {}", scheduling::kMetricResource);
  }
  std::abort();
}

/// Rejects names with wildcards, which would silently match nothing, because names are compared literally.
void check_namespace_names(const std::vector<std::string>& names, const api::FieldPath& at, api::FieldErrors& errors) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (api::is_dns_label(names[i])) continue;
    errors.push_back({at.index(i).text(), fmt::format("\"{}\" is not a namespace name", names[i].substr(0, 80))});
  }
}

bool is_plain(std::string_view name) {
  return std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; });
}

}  // namespace

api::FieldPath entry_path(const api::FieldPath& map, std::string_view key) {
  return is_plain(key) ? map.field(key) : map.key(key);
}

bool PodScope::includes(const api::Pod& pod) const {
  if (!namespaces.include.empty() && !is_listed(namespaces.include, pod.meta.ns)) return false;
  if (is_listed(namespaces.exclude, pod.meta.ns)) return false;
  return !labels || labels->matches(pod.meta.labels);
}

PodScope read_scope(api::StrictObject& args) {
  PodScope scope;
  scope.namespaces = read_include_exclude(args, "namespaces");
  const api::FieldPath at = args.path().field("namespaces");
  check_namespace_names(scope.namespaces.include, at.field("include"), args.errors());
  check_namespace_names(scope.namespaces.exclude, at.field("exclude"), args.errors());
  api::read_label_selector(args, "labelSelector", scope.labels);
  return scope;
}

api::NamespaceFilter read_include_exclude(api::StrictObject& args, std::string_view name) {
  api::NamespaceFilter filter;
  args.with(name, [&](api::StrictObject& object) {
    object.read("include", filter.include);
    object.read("exclude", filter.exclude);
  });
  if (!filter.include.empty() && !filter.exclude.empty())
    args.complain(name, "only one of include and exclude can be set");
  return filter;
}

std::vector<std::string> read_excluded_namespaces(api::StrictObject& args) {
  std::vector<std::string> excluded;
  args.with("evictableNamespaces", [&](api::StrictObject& namespaces) {
    namespaces.read("exclude", excluded);
    check_namespace_names(excluded, namespaces.path().field("exclude"), namespaces.errors());
    std::vector<std::string> included;
    namespaces.read("include", included);
    if (!included.empty()) namespaces.complain("include", "only exclude is supported here");
  });
  return excluded;
}

std::vector<std::string> names_in(const Percentages& percentages) {
  std::vector<std::string> names;
  for (const auto& [name, percent] : percentages) names.push_back(name);
  return names;
}

std::vector<double> percents_in(const Percentages& percentages) {
  std::vector<double> percents;
  for (const auto& [name, percent] : percentages) percents.push_back(percent);
  return percents;
}

Percentages read_percentages(api::StrictObject& args, std::string_view name, ResourceRule rule) {
  Percentages percentages;
  const api::Json* json = args.find(name);
  if (json == nullptr || (json->is_object() && json->empty())) {
    args.complain(name, "is required and must name at least one resource");
    return percentages;
  }
  if (!json->is_object()) {
    args.complain(name, fmt::format("must be an object, not {}", api::kind_of(*json)));
    return percentages;
  }
  for (const auto& [resource, value] : json->items()) {  // sorted by key
    auto complaint = complaint_by_rule(resource, rule);
    if (!complaint) complaint = complaint_about_percentage(value);
    if (complaint) {
      args.errors().push_back({entry_path(args.path().field(name), resource).text(), *complaint});
    } else {
      percentages.emplace_back(resource, value.get<double>());
    }
  }
  return percentages;
}

std::int32_t read_number_of_nodes(api::StrictObject& args) {
  std::int32_t number = 0;
  args.read("numberOfNodes", number);
  if (number < 0) args.complain("numberOfNodes", fmt::format("{} is below 0", number));
  return number;
}

std::vector<std::string> read_choices(api::StrictObject& args, std::string_view name,
                                      std::span<const std::string_view> allowed) {
  std::vector<std::string> values;
  args.read(name, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::ranges::find(allowed, values[i]) != allowed.end()) continue;
    args.errors().push_back({args.path().field(name).index(i).text(),
                             fmt::format("\"{}\" is not one of {}{}", values[i].substr(0, 80),
                                         api::join_alternatives(allowed), api::did_you_mean(values[i], allowed))});
  }
  return values;
}

std::vector<std::int32_t> read_integers(api::StrictObject& args, std::string_view name) {
  std::vector<std::int32_t> values;
  args.for_each(name, [&](const api::Json& item, const api::FieldPath& path) {
    const bool fits = item.is_number_unsigned()
                          ? std::in_range<std::int32_t>(item.get<std::uint64_t>())
                          : item.is_number_integer() && std::in_range<std::int32_t>(item.get<std::int64_t>());
    if (fits)
      values.push_back(item.get<std::int32_t>());
    else
      args.errors().push_back({path.text(), "must be a whole number of 32 bits"});
  });
  return values;
}

}  // namespace strategies
