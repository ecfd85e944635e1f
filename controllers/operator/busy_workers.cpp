#include "controllers/operator/busy_workers.hpp"

#include <algorithm>

namespace controllers {
namespace {

/// Limit after which a reconcile counts as hanging. Its calls time out after 34 s each.
constexpr base::minutes kStuckAfter{5};

/// Number of eviction workers per additional worker, which does writes that would delay the next eviction.
constexpr std::size_t kEvictionsPerWriter = 4;

}  // namespace

WorkerNumbers::WorkerNumbers(std::int32_t evictions) {
  const auto calls = static_cast<std::size_t>(evictions);
  evacuation_workers_ = calls + std::max<std::size_t>(calls / kEvictionsPerWriter, 1);
}

/// Marks a worker as busy, and as idle on destruction, however its work ends.
class BusyWorkers::Busy {
 public:
  Busy(Since& since, base::Duration::rep now) : since_(since) {
    since_ = now;
    of_this_thread = &since_;
  }
  ~Busy() {
    of_this_thread = nullptr;
    since_ = 0;
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

  static thread_local Since* of_this_thread;  ///< Start time of the calling worker, nullptr if the thread is not busy

 private:
  Since& since_;
};
thread_local BusyWorkers::Since* BusyWorkers::Busy::of_this_thread = nullptr;

kube::Worker::Reconcile BusyWorkers::timed(kube::Worker::Reconcile reconcile, std::size_t index) {
  return [this, reconcile = std::move(reconcile), index](const api::ObjectKey& key) {
    const Busy busy(since_[index], ticks());
    return reconcile(key);
  };
}

std::function<void()> BusyWorkers::progress_of_this_thread() const {
  return [this, since = Busy::of_this_thread] {
    if (since != nullptr) *since = ticks();
  };
}

base::Status BusyWorkers::alive() const {
  const base::Duration now(ticks());
  for (const Since& since : since_) {
    const base::Duration started(since.load());
    if (started != base::Duration::zero() && now - started > kStuckAfter) {
      return base::unavailable("a reconcile has not returned for " + base::format_age(now - started));
    }
  }
  return base::Done{};
}

}  // namespace controllers
