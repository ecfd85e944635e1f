#pragma once

/// Applies OpenAPI v3 structural schemas, as in CustomResourceDefinitions, to JSON values, like an API server before it
/// stores a custom object. Its order is: prune, apply_defaults, validate_schema. Not evaluated: CEL rules (the
/// simulator evaluates them in simulator/cel), and $ref, which structural schemas do not have.

#include <string>
#include <vector>

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"

namespace api {

/// Returns all errors, worded as in Kubernetes: `spec.mode: Unsupported value: "Auto": supported values: "DryRun", …`.
FieldErrors validate_schema(const Json& schema, const Json& value, const FieldPath& at = {});

/// Sets defaults in existing objects and list items. Replaces a null if the schema has a default and is not nullable.
void apply_defaults(const Json& schema, Json& value);

/// Removes members that the schema does not contain, except under x-kubernetes-preserve-unknown-fields. Returns their
/// paths.
std::vector<std::string> prune(const Json& schema, Json& value, const FieldPath& at = {});

}  // namespace api
