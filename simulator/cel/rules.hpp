#pragma once

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"

namespace simulator::cel {

/// Evaluates x-kubernetes-validations of a structural schema on an object that is valid by the schema. `before` is
/// nullptr on create: rules that read oldSelf are skipped then, as in lists whose items have no key. Of the root's
/// metadata only name and generateName are visible. Messages are worded like the API server's: `spec.podRef: Invalid
/// value: "object": podRef.name may not change after creation`.
api::FieldErrors check_rules(const api::Json& schema, const api::Json& object, const api::Json* before);

/// Returns the problems for which an API server rejects the CRD: rules that are not valid CEL, or that read a field of
/// self or oldSelf that the schema lacks.
api::FieldErrors problems_of_rules(const api::Json& schema);

}  // namespace simulator::cel
