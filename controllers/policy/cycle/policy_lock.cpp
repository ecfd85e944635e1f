#include "controllers/policy/cycle/policy_lock.hpp"

#include <utility>

namespace controllers {
namespace {

/// Interval of heartbeats while waiting for the lock.
constexpr base::seconds kHeartbeatInterval{1};

}  // namespace

PolicyLock::Guard::Guard(PolicyLock& of) : of_(of) {
  of_.begin(of_.progress_of_this_thread_ ? of_.progress_of_this_thread_() : [] {});
}

PolicyLock::ScopedUnlock::ScopedUnlock(PolicyLock& of) : of_(of), progress_(of.progress_) {
  of_.is_searching_ = true;
  of_.lock_.unlock();
}

PolicyLock::ScopedUnlock::~ScopedUnlock() {
  of_.begin(std::move(progress_));
  of_.is_searching_ = false;
}

/// Waits with heartbeats, because another policy may hold the lock for minutes while it creates thousands of
/// Evacuations.
void PolicyLock::begin(Progress progress) {
  lock_.lock(kHeartbeatInterval, progress);
  progress_ = std::move(progress);
}

}  // namespace controllers
