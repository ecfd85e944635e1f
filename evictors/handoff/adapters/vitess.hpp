#pragma once

#include <memory>

#include "evictors/handoff/adapter.hpp"

namespace evictors {

/// Vitess under PlanetScale's operator: the drain.planetscale.com annotations; we evict after `finished`, which may be
/// withdrawn.
std::unique_ptr<HandoffAdapter> vitess_adapter();

}  // namespace evictors
