#pragma once

/// Server-side apply and metadata.managedFields. Implements field ownership, conflicts with other managers, force, and
/// the removal of fields that a manager stops applying and no other manager owns. Limits: lists merge by the CRD's
/// x-kubernetes-list-type (set, map) or, for built-in kinds, by the strategic-merge keys, and are atomic otherwise;
/// updates of built-in kinds are tracked only after the first apply to the object; fields are not reset by version.

#include <string>
#include <string_view>

#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "simulator/api/failure.hpp"
#include "simulator/registry/registry.hpp"

namespace simulator {

/// Identity and options of a write.
struct FieldWriter {
  std::string manager;
  std::string subresource;
  base::TimePoint now{};
  bool force = false;  ///< for apply only
};

/// Returns `live` (null for a create) with `config` applied. Unless forced, returns 409, with one cause per conflict,
/// if another manager owns a field that `config` would change.
Outcome<api::Json> apply_fields(const ServedResource& resource, const api::Json& live, const api::Json& config,
                                const FieldWriter& writer);

/// Records in `after`'s metadata.managedFields what `writer` changed by a create (`before` is null) or update.
void track_update(const ServedResource& resource, const api::Json& before, api::Json& after, const FieldWriter& writer);

}  // namespace simulator
