#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>

#include "base/clock.hpp"

namespace controllers {

/// Lock around one policy's cycle. Threads work on one policy at a time; a search releases the lock.
class PolicyLock {
 public:
  using Progress = std::function<void()>;

  /// `progress` returns a heartbeat callback bound to the calling thread, and is called by the thread that takes the
  /// lock. Any thread may call the heartbeat. Empty disables heartbeats.
  explicit PolicyLock(std::function<Progress()> progress) : progress_of_this_thread_(std::move(progress)) {}

  /// Holds the lock. Must not be nested.
  class Guard {
   public:
    explicit Guard(PolicyLock& of) : of_(of) {
      of_.begin(of_.progress_of_this_thread_ ? of_.progress_of_this_thread_() : [] {});
    }
    ~Guard() { of_.unlock(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    PolicyLock& of_;
  };

  /// Releases the lock during a search, so that other policies can run. The destructor waits for the lock. REQUIRES: a
  /// Guard exists in this thread, and is_searching() is false.
  class ScopedUnlock {
   public:
    explicit ScopedUnlock(PolicyLock& of) : of_(of), progress_(of.progress_) {
      of_.is_searching_ = true;
      of_.unlock();
    }
    ~ScopedUnlock() {
      of_.begin(std::move(progress_));
      of_.is_searching_ = false;
    }
    ScopedUnlock(const ScopedUnlock&) = delete;
    ScopedUnlock& operator=(const ScopedUnlock&) = delete;

   private:
    PolicyLock& of_;
    Progress progress_;
  };

  /// Whether a policy is searching with the lock released. REQUIRES: within a Guard.
  bool is_searching() const { return is_searching_; }
  /// Heartbeat of the thread that holds the lock, for any thread that works for it. REQUIRES: within a Guard.
  const Progress& progress() const { return progress_; }

 private:
  /// Waits with heartbeats, because another policy may hold the lock for minutes while it creates Evacuations.
  void begin(Progress progress) {
    std::unique_lock guard(mutex_);
    while (is_taken_) {
      if (free_.wait_for(guard, kHeartbeatInterval) == std::cv_status::timeout) progress();
    }
    is_taken_ = true;
    progress_ = std::move(progress);
  }
  void unlock() {
    const std::scoped_lock guard(mutex_);
    is_taken_ = false;
    free_.notify_one();
  }

  static constexpr base::seconds kHeartbeatInterval{1};  ///< While waiting for the lock

  std::function<Progress()> progress_of_this_thread_;
  // Replaces std::timed_mutex, which GCC 12's ThreadSanitizer does not support.
  std::mutex mutex_;
  std::condition_variable free_;
  bool is_taken_ = false;      ///< Guarded by mutex_. While it is set, the Guard owns all members below
  bool is_searching_ = false;  ///< whether a policy is searching with the lock released
  Progress progress_;          ///< heartbeat of the thread that holds the lock
};

}  // namespace controllers
