#pragma once

/// Applies a CRD's structural schema to objects: pruning, defaults, validation. A thin layer over api/json/schema.hpp,
/// which excludes apiVersion, kind and metadata, and simulator/cel/rules.hpp.

#include <string>
#include <vector>

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"
#include "simulator/registry/registry.hpp"

namespace simulator {

/// Removes fields unknown to the schema and returns their paths.
std::vector<std::string> prune_custom(const ServedResource& resource, api::Json& object);
void default_custom(const ServedResource& resource, api::Json& object);
/// Validates by the schema and, if that finds no error, by the CEL rules, like the API server. `before` is nullptr on
/// create.
api::FieldErrors validate_custom(const ServedResource& resource, const api::Json* before, const api::Json& object);

}  // namespace simulator
