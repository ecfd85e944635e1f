#pragma once

#include <memory>

#include "evictors/handoff/adapter.hpp"

namespace evictors {

/// Our own two-way protocol (wire-protocols.md#handoff-protocol); the same code as the evictor `annotation`.
std::unique_ptr<HandoffAdapter> generic_adapter();

}  // namespace evictors
