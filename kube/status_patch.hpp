#pragma once

/// Patches with which both controllers write a status. A patch contains only the changes and applies only to the
/// version of the object on which they were decided.

#include "api/json/json.hpp"
#include "api/meta/object_meta.hpp"

namespace kube {

/// Returns metadata for a patch that applies only to this version of this object. The server answers 409 otherwise.
api::Json guard_of(const api::ObjectMeta& meta);

/// Returns the JSON merge patch (RFC 7396) of …/status from `before` to `after`, guarded by uid and resourceVersion.
/// Fields in neither of them are preserved. `before` must be the status read together with `meta`.
api::Json guarded_status_patch(const api::ObjectMeta& meta, const api::Json& before, api::Json after);

}  // namespace kube
