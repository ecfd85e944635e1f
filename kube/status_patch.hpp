#pragma once

/// How both controllers write a status: what changed, and only onto the very object that the change was decided on.

#include "api/json/json.hpp"
#include "api/meta/object_meta.hpp"

namespace controllers {

/// metadata of a patch that fits this version of this object only: the server answers 409 to any other.
api::Json guard_of(const api::ObjectMeta& meta);

/// JSON merge patch (RFC 7396) of …/status from `before` to `after`, guarded by uid and resourceVersion. Fields that
/// neither has survive. `before` must be what `meta` came with.
api::Json guarded_status_patch(const api::ObjectMeta& meta, const api::Json& before, api::Json after);

}  // namespace controllers
