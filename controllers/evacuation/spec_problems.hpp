#pragma once

#include "api/evacuation.hpp"
#include "evictors/registry.hpp"

namespace controllers {

/// Validates the fields of the spec and the parameters of its evictors. Returns at most one problem per field; empty if
/// valid.
api::FieldErrors problems_of(const api::EvacuationSpec& spec, const evictors::EvictorRegistry& registry);

}  // namespace controllers
