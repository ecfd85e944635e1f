#pragma once

#include <string>
#include <vector>

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"

namespace strategies {

/// A namespace named in a strategy's arguments, and its path.
struct NamedNamespace {
  std::string path;
  std::string name;
  bool excluded = false;  ///< its pods are excluded
  friend bool operator==(const NamedNamespace&, const NamedNamespace&) = default;
};

/// Appends all namespaces named by `include` and `exclude` of `namespaces` and `evictableNamespaces`, at any depth, in
/// the order of the arguments' keys. `path` is the path of the arguments.
void append_named_namespaces(const api::Json& args, const api::FieldPath& path, std::vector<NamedNamespace>& found);

}  // namespace strategies
