#pragma once

/// spec.scheduler.version: version of kube-scheduler that a policy's plans assume.

#include <optional>

#include "api/json/strict_object.hpp"

namespace api {

/// Minor versions of Kubernetes 1 whose scheduler is known.
inline constexpr int kOldestSchedulerMinor = 20;
inline constexpr int kNewestSchedulerMinor = 36;

/// Reads `version`: "Auto", which leaves `minor` absent, or "1.20" to "1.36". Reports any other value.
void read_scheduler_version(StrictObject& object, std::optional<int>& minor);

}  // namespace api
