#pragma once

#include "api/core/kinds.hpp"
#include "api/meta/well_known.hpp"

namespace api {

/// A taint that some policy of ours put: PreferNoSchedule, with one of our keys. Whoever else uses such a key with
/// another effect keeps it.
inline bool is_soft_taint(const Taint& taint) {
  return taint.effect == TaintEffect::kPreferNoSchedule && well_known::is_soft_taint(taint.key);
}

}  // namespace api
