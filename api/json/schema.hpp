#pragma once

/// OpenAPI v3 structural schemas, as CustomResourceDefinitions carry them, applied to JSON values: what an API server
/// does to a custom object on its way into storage. Order there: prune, apply_defaults, validate_schema. Not evaluated:
/// CEL rules (the simulator's are in simulator/cel), $ref, which structural schemas do not have.

#include <string>
#include <vector>

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"

namespace api {

/// All complaints, worded as Kubernetes does: `spec.mode: Unsupported value: "Auto": supported values: "DryRun", …`.
FieldErrors validate_schema(const Json& schema, const Json& value, const FieldPath& at = {});

/// Fills in defaults where objects and list items exist. A null where the schema has a default and allows no null is
/// replaced.
void apply_defaults(const Json& schema, Json& value);

/// Takes off the members that the schema does not know, x-kubernetes-preserve-unknown-fields honoured. Returns their
/// paths.
std::vector<std::string> prune(const Json& schema, Json& value, const FieldPath& at = {});

}  // namespace api
