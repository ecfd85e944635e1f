#pragma once

/// Server-side apply and metadata.managedFields. Honest about: who owns which field, conflicts with other managers,
/// force, and the removal of fields that a manager stops applying and nobody else owns. Limits: lists merge by the
/// CRD's x-kubernetes-list-type (set, map) or, for built-in kinds, by the strategic-merge keys; everything else is
/// atomic; updates of built-in kinds are tracked only once an apply has touched the object; no reset of fields by
/// version.

#include <string>
#include <string_view>

#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "simulator/api/failure.hpp"
#include "simulator/registry/registry.hpp"

namespace simulator {

/// Who writes.
struct FieldWriter {
  std::string manager;
  std::string subresource;
  base::TimePoint now{};
  bool force = false;  ///< apply only
};

/// `live` (null: create) with `config` applied. 409 with one cause per conflict when another manager owns a field
/// that `config` would change, unless forced.
Outcome<api::Json> apply_fields(const ServedResource& resource, const api::Json& live, const api::Json& config,
                                const FieldWriter& writer);

/// Writes into `after`'s metadata.managedFields what a create or update (`before` null: create) by `writer` changed.
void track_update(const ServedResource& resource, const api::Json& before, api::Json& after, const FieldWriter& writer);

}  // namespace simulator
