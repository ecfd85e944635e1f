#pragma once

#include <memory>

#include "evictors/handoff/adapter.hpp"

namespace evictors {

/// Kafka under Strimzi: `strimzi.io/manual-rolling-update`, or an eviction that the drain cleaner's webhook takes over.
/// The operator rolls the pod (same name, new UID); it has no way to report failure.
std::unique_ptr<HandoffAdapter> strimzi_adapter();

}  // namespace evictors
