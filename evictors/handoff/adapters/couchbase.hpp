#pragma once

#include <memory>

#include "evictors/handoff/adapter.hpp"

namespace evictors {

/// Couchbase Server: `cao.couchbase.com/reschedule`, or an eviction that the reschedule hook takes over.
std::unique_ptr<HandoffAdapter> couchbase_adapter();

}  // namespace evictors
