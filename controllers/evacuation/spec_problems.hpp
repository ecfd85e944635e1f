#pragma once

#include "api/evacuation.hpp"
#include "evictors/registry.hpp"

namespace controllers {

/// Everything that is wrong with the spec: its fields and its evictors' parameters, one problem for each field. Empty:
/// valid.
api::FieldErrors problems_of(const api::EvacuationSpec& spec, const evictors::EvictorRegistry& registry);

}  // namespace controllers
