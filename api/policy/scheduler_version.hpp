#pragma once

/// spec.scheduler.version: which kube-scheduler a policy's plans assume.

#include <optional>

#include "api/json/strict_object.hpp"

namespace api {

/// Kubernetes 1.NN: the versions whose scheduler we know.
inline constexpr int kOldestSchedulerMinor = 20;
inline constexpr int kNewestSchedulerMinor = 36;

/// `version`: "Auto", which leaves `minor` absent, or "1.20" to "1.36". Complains about any other.
void read_scheduler_version(StrictObject& object, std::optional<int>& minor);

}  // namespace api
