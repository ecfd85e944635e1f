#include "controllers/policy/cycle/policy_lock.hpp"

#include <utility>

namespace controllers {
namespace {

/// Whoever waits for its turn says so often that it is alive.
constexpr base::seconds kTurnPatience{1};

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

/// Another one's may take minutes where it makes thousands of Evacuations.
void PolicyLock::begin(Progress progress) {
  lock_.lock(kTurnPatience, progress);
  progress_ = std::move(progress);
}

}  // namespace controllers
