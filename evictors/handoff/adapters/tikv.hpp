#pragma once

#include <memory>

#include "evictors/handoff/adapter.hpp"

namespace evictors {

/// TiKV under TiDB operator: `tidb.pingcap.com/evict-leader: delete-pod`; the operator moves the leaders away and
/// deletes the pod.
std::unique_ptr<HandoffAdapter> tikv_adapter();

}  // namespace evictors
