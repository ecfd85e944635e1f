#pragma once

#include <memory>

#include "evictors/handoff/adapter.hpp"

namespace evictors {

/// No operator at all: the eviction API between the policy's hooks. Recognises no pod by itself.
std::unique_ptr<HandoffAdapter> none_adapter();

}  // namespace evictors
