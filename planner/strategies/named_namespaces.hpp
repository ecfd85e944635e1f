#pragma once

#include <string>
#include <vector>

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"

namespace strategies {

/// A namespace that a strategy's arguments name, and where.
struct NamedNamespace {
  std::string path;
  std::string name;
  bool excluded = false;  ///< its pods are left alone
  friend bool operator==(const NamedNamespace&, const NamedNamespace&) = default;
};

/// Appends all of them, in the order of the arguments' keys: `include` and `exclude` of `namespaces` and
/// `evictableNamespaces`, at whatever depth. `path` is that of the arguments.
void append_named_namespaces(const api::Json& args, const api::FieldPath& path, std::vector<NamedNamespace>& found);

}  // namespace strategies
