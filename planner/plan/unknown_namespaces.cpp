#include "planner/plan/unknown_namespaces.hpp"

#include <fmt/format.h>

namespace planner {
namespace {

bool lists_namespaces(const scheduling::ClusterSnapshot& cluster) {
  for (scheduling::NamespaceIndex ns = 0; ns < cluster.namespace_count(); ++ns) {
    if (cluster.namespace_object(ns) != nullptr) return true;
  }
  return false;
}

std::vector<strategies::NamedNamespace> named_by(const PlanSpec& spec) {
  std::vector<strategies::NamedNamespace> named;
  const api::FieldPath at = api::FieldPath("spec.evictability").field("namespaces");
  const auto add = [&](const char* list, const std::vector<std::string>& names, bool excluded) {
    for (std::size_t i = 0; i < names.size(); ++i)
      named.push_back({at.field(list).index(i).text(), names[i], excluded});
  };
  add("include", spec.evictability.namespaces.include, false);
  add("exclude", spec.evictability.namespaces.exclude, true);
  const auto& of_strategies = spec.strategy_specs.namespaces;
  named.insert(named.end(), of_strategies.begin(), of_strategies.end());
  return named;
}

}  // namespace

UnknownNamespaces unknown_namespaces(const PlanSpec& spec, const scheduling::ClusterSnapshot& cluster) {
  UnknownNamespaces unknown;
  if (!lists_namespaces(cluster)) return unknown;
  for (const strategies::NamedNamespace& each : named_by(spec)) {
    if (cluster.find_namespace(each.name)) continue;
    (each.excluded ? unknown.excluded : unknown.included)
        .push_back({each.path, fmt::format("namespace \"{}\" does not exist", each.name)});
  }
  return unknown;
}

}  // namespace planner
