#pragma once

/// Patches as the API server applies them. Pure; hostile input yields a Failure, never a crash.

#include <string_view>

#include "api/json/json.hpp"
#include "simulator/api/failure.hpp"

namespace simulator {

/// RFC 7386.
Outcome<api::Json> apply_merge_patch(api::Json object, const api::Json& patch);

/// RFC 6902, as Kubernetes' library does it: at most 10,000 operations, and `replace` of an absent member adds it.
/// A failing `test` and a path that is not there are 422; a malformed operation is 400.
Outcome<api::Json> apply_json_patch(const api::Json& object, const api::Json& patch);

/// Strategic merge for built-in kinds: lists with a merge key merge by it (containers by name, conditions by type,
/// ownerReferences by uid…), finalizers as a set, all other lists are replaced; $patch, $retainKeys, $setElementOrder
/// and $deleteFromPrimitiveList are obeyed. Custom resources do not support it (415 is the caller's).
Outcome<api::Json> apply_strategic_merge(const api::Json& object, const api::Json& patch);

/// The merge key of the list `field` of a built-in kind inside `parent` (the field name around it), "" for a list that
/// is replaced whole. Also used by server-side apply.
std::string_view merge_key(std::string_view parent, std::string_view field);
/// True for lists of plain values that merge as sets.
bool merges_as_set(std::string_view field);

}  // namespace simulator
