#pragma once

#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/json/field_path.hpp"

namespace strategies {

/// A namespace that a strategy's arguments name, and where.
struct NamedNamespace {
  std::string path;
  std::string name;
  bool excluded = false;  ///< its pods are left alone
  friend bool operator==(const NamedNamespace&, const NamedNamespace&) = default;
};

/// All of them, in the order of the arguments' keys: `include` and `exclude` of `namespaces` and `evictableNamespaces`,
/// at whatever depth. Arguments that do not parse name none. Pure.
std::vector<NamedNamespace> named_namespaces(const std::vector<api::StrategyChoice>& choices,
                                             const api::FieldPath& path = api::FieldPath("spec.strategies"));

}  // namespace strategies
