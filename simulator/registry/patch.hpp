#pragma once

/// Patches as applied by the API server. Pure. Malicious input yields a Failure and never crashes.

#include <string_view>

#include "api/json/json.hpp"
#include "simulator/api/failure.hpp"

namespace simulator {

/// RFC 7386.
Outcome<api::Json> apply_merge_patch(api::Json object, const api::Json& patch);

/// Applies an RFC 6902 patch like Kubernetes' library: at most 10,000 operations, and `replace` of an absent member
/// adds it. Returns 422 for a failing `test` or a missing path, 400 for a malformed operation.
Outcome<api::Json> apply_json_patch(const api::Json& object, const api::Json& patch);

/// Applies a strategic merge patch for built-in kinds. Lists with a merge key merge by it (containers by name,
/// conditions by type, ownerReferences by uid…), finalizers merge as a set, other lists are replaced. Supports $patch,
/// $retainKeys, $setElementOrder and $deleteFromPrimitiveList. Callers must reject it for custom resources with 415.
Outcome<api::Json> apply_strategic_merge(const api::Json& object, const api::Json& patch);

/// Returns the merge key of the list `field` of a built-in kind inside `parent` (name of the enclosing field), empty
/// for a list that is replaced as a whole. Also used by server-side apply.
std::string_view merge_key(std::string_view parent, std::string_view field);
/// Returns true for lists of plain values that merge as sets.
bool merges_as_set(std::string_view field);

}  // namespace simulator
