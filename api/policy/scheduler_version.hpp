#pragma once

namespace api {

/// Minor versions of Kubernetes 1 whose scheduler is known, for spec.scheduler.version.
inline constexpr int kOldestSchedulerMinor = 20;
inline constexpr int kNewestSchedulerMinor = 36;

}  // namespace api
