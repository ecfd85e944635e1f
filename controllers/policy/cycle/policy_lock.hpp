#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>

#include "base/clock.hpp"

namespace controllers {

/// Mutex that calls a heartbeat while waiting. Replaces std::timed_mutex, which GCC 12's ThreadSanitizer does not
/// support.
class HeartbeatMutex {
 public:
  /// Calls `waiting` after each `patience` spent waiting.
  void lock(base::Duration patience, const std::function<void()>& waiting) {
    std::unique_lock guard(mutex_);
    while (is_taken_) {
      if (free_.wait_for(guard, patience) == std::cv_status::timeout) waiting();
    }
    is_taken_ = true;
  }
  void unlock() {
    const std::scoped_lock guard(mutex_);
    is_taken_ = false;
    free_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable free_;
  bool is_taken_ = false;
};

/// Lock around one policy's cycle. Threads work on one policy at a time, except during a search, which releases the
/// lock.
class PolicyLock {
 public:
  using Progress = std::function<void()>;

  /// `progress` returns a heartbeat callback bound to the calling thread, and is called by the thread that takes the
  /// lock. Any thread may call the heartbeat. Empty disables heartbeats.
  explicit PolicyLock(std::function<Progress()> progress) : progress_of_this_thread_(std::move(progress)) {}

  /// Holds the lock. Must not be nested.
  class Guard {
   public:
    explicit Guard(PolicyLock& of);
    ~Guard() { of_.lock_.unlock(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    PolicyLock& of_;
  };

  /// Releases the lock during a search, so that other policies can run. The destructor waits for the lock. REQUIRES: a
  /// Guard exists in this thread, and is_searching() is false.
  class ScopedUnlock {
   public:
    explicit ScopedUnlock(PolicyLock& of);
    ~ScopedUnlock();
    ScopedUnlock(const ScopedUnlock&) = delete;
    ScopedUnlock& operator=(const ScopedUnlock&) = delete;

   private:
    PolicyLock& of_;
    Progress progress_;
  };

  /// Whether a policy is searching with the lock released. REQUIRES: within a Guard.
  bool is_searching() const { return is_searching_; }
  /// Heartbeat of the thread that holds the lock, callable by any thread that works for it. Never empty. REQUIRES:
  /// within a Guard.
  const Progress& progress() const { return progress_; }

 private:
  void begin(Progress progress);

  std::function<Progress()> progress_of_this_thread_;
  HeartbeatMutex lock_;        ///< held by the Guard; guards all members below
  bool is_searching_ = false;  ///< whether a policy is searching with the lock released
  Progress progress_;          ///< heartbeat of the thread that holds the lock
};

}  // namespace controllers
