#pragma once

/// What the API server does to objects of built-in kinds beside storing them: defaults and the checks that matter to
/// somebody who moves pods. Not every rule of Kubernetes is here: what is missing is accepted.

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"
#include "simulator/registry/registry.hpp"
#include "simulator/store.hpp"

namespace simulator {

/// Fills in what Kubernetes' defaulting and its admission plugins (Priority, ServiceAccount, DefaultTolerationSeconds)
/// fill in. `store` is asked for PriorityClasses. REQUIRES: object and object.metadata are JSON objects.
void set_defaults(const ServedResource& resource, const Store& store, api::Json& object);
/// On POST, after the client's status was taken off: the status that a new object begins with.
void set_initial_status(const ServedResource& resource, api::Json& object);

/// Names, labels, annotations, owner references, finalizers: of every kind.
api::FieldErrors validate_metadata(const ServedResource& resource, const api::Json& object);
/// Required fields of built-in kinds.
api::FieldErrors validate_built_in(const ServedResource& resource, const api::Json& object);
/// Immutable fields of built-in kinds.
api::FieldErrors validate_built_in_update(const ServedResource& resource, const api::Json& before,
                                          const api::Json& after);

}  // namespace simulator
