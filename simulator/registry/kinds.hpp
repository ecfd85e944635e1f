#pragma once

/// Defaulting and validation of built-in kinds, as far as they matter for moving pods. Rules of Kubernetes that are not
/// implemented accept everything.

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"
#include "simulator/registry/registry.hpp"
#include "simulator/store.hpp"

namespace simulator {

/// Sets the defaults of Kubernetes and of its admission plugins (Priority, ServiceAccount, DefaultTolerationSeconds).
/// Reads PriorityClasses from `store`. REQUIRES: object and object.metadata are JSON objects.
void set_defaults(const ServedResource& resource, const Store& store, api::Json& object);
/// Sets the initial status of a new object, after the client's status was removed.
void set_initial_status(const ServedResource& resource, api::Json& object);

/// Validates metadata of any kind: names, labels, annotations, owner references, finalizers.
api::FieldErrors validate_metadata(const ServedResource& resource, const api::Json& object);
/// Validates required fields of built-in kinds.
api::FieldErrors validate_built_in(const ServedResource& resource, const api::Json& object);
/// Validates that immutable fields of built-in kinds are unchanged.
api::FieldErrors validate_built_in_update(const ServedResource& resource, const api::Json& before,
                                          const api::Json& after);

}  // namespace simulator
