#pragma once

/// What a CRD's structural schema does to objects: pruning, defaults, validation. A thin layer over api/json/schema.hpp
/// that keeps apiVersion, kind and metadata out of it, and simulator/cel/rules.hpp.

#include <string>
#include <vector>

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"
#include "simulator/registry/registry.hpp"

namespace simulator {

/// Takes off what the schema does not know; returns the paths.
std::vector<std::string> prune_custom(const ServedResource& resource, api::Json& object);
void default_custom(const ServedResource& resource, api::Json& object);
/// Rules are asked only where the schema finds no fault, as on the API server. `before` is nullptr on creation.
api::FieldErrors validate_custom(const ServedResource& resource, const api::Json* before, const api::Json& object);

}  // namespace simulator
