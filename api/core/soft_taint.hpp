#pragma once

#include "api/core/kinds.hpp"
#include "api/meta/well_known.hpp"

namespace api {

/// Returns true for a taint written by a policy of this operator: PreferNoSchedule with one of its keys. A taint with
/// such a key and another effect belongs to another component.
inline bool is_soft_taint(const Taint& taint) {
  return taint.effect == TaintEffect::kPreferNoSchedule && well_known::is_soft_taint(taint.key);
}

}  // namespace api
