#pragma once

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"

namespace simulator::cel {

/// x-kubernetes-validations of a structural schema, applied to an object that the schema has found valid. `before` is
/// nullptr on creation: rules that read oldSelf are left out then, as in lists whose items have no key. What the
/// object's root shows of its metadata is name and generateName. Worded as the API server's: `spec.podRef: Invalid
/// value: "object": podRef.name may not change after creation`.
api::FieldErrors check_rules(const api::Json& schema, const api::Json& object, const api::Json* before);

/// What is wrong with the rules themselves, for which an API server refuses the CRD: no CEL, or a field of self or
/// oldSelf that the schema does not have.
api::FieldErrors problems_of_rules(const api::Json& schema);

}  // namespace simulator::cel
