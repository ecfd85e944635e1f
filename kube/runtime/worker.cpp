#include "kube/runtime/worker.hpp"

#include <algorithm>
#include <exception>

namespace kube {

base::Result<Requeue> Worker::guarded(const api::ObjectKey& key) {
  try {
    return reconcile_(key);
  } catch (const std::exception& bug) {
    ++counts_.exceptions;
    return base::Error{base::ErrorCode::kInvalid, std::string("bug: exception in reconcile: ") + bug.what()};
  } catch (...) {
    ++counts_.exceptions;
    return base::Error{base::ErrorCode::kInvalid, "bug: unknown exception in reconcile"};
  }
}

void Worker::work_on(const api::ObjectKey& key) {
  const auto result = guarded(key);
  if (result) {
    ++counts_.succeeded;
    queue_.forget(key);
    if (result->after) queue_.add_after(key, *result->after);
  } else {
    ++counts_.failed;
    const bool expected =
        result.error().code == base::ErrorCode::kCancelled || result.error().code == base::ErrorCode::kConflict;
    if (expected) {
      log_.debug("reconcile failed, retrying", {base::kv("key", key.to_string()), base::kv("error", result.error())});
    } else {
      log_.error("reconcile failed", {base::kv("key", key.to_string()), base::kv("error", result.error())});
    }
    const base::Duration asked = result.error().retry_after.value_or(base::Duration::zero());
    queue_.add_rate_limited(key, std::min<base::Duration>(asked, kMaxRetryAfter));
  }
  queue_.done(key);
}

void Worker::run(std::stop_token stop) {
  while (const auto key = queue_.take(stop)) work_on(*key);
}

bool Worker::step() {
  const auto key = queue_.try_take();
  if (!key) return false;
  work_on(*key);
  return true;
}

}  // namespace kube
