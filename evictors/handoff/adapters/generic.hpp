#pragma once

#include <memory>

#include "evictors/handoff/adapter.hpp"

namespace evictors {

/// Our own two-way protocol (protocols 4.2); the same code as the evictor `annotation`.
std::unique_ptr<HandoffAdapter> generic_adapter();

}  // namespace evictors
