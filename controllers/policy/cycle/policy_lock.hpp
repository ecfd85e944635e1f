#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>

#include "base/clock.hpp"

namespace controllers {

/// A lock for which one waits with a sign of life now and then. Not std::timed_mutex, which GCC 12's ThreadSanitizer
/// does not know.
class HeartbeatMutex {
 public:
  /// Calls `waiting` whenever `patience` has passed in vain.
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

/// The turns that the threads of policies take: one works on its policy at a time, but for a search, beside which other
/// policies have theirs.
class PolicyLock {
 public:
  using Progress = std::function<void()>;

  /// `progress`: asked in the thread that waits for a turn for what is told, by any thread, that its work gets on.
  /// Empty: nobody is told.
  explicit PolicyLock(std::function<Progress()> progress) : progress_of_this_thread_(std::move(progress)) {}

  /// A policy's turn: waits for it, and ends it. Not to be nested.
  class Guard {
   public:
    explicit Guard(PolicyLock& of);
    ~Guard() { of_.lock_.unlock(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    PolicyLock& of_;
  };

  /// A search in the middle of a policy's turn, when others have theirs. Its end waits for the turn. REQUIRES: within a
  /// Guard, and is_searching() is false.
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

  /// Some policy is searching, out of its turn. REQUIRES: within a Guard.
  bool is_searching() const { return is_searching_; }
  /// Whoever has the turn gets on: to be called by any thread that works for it. Never empty. REQUIRES: within a Guard.
  const Progress& progress() const { return progress_; }

 private:
  void begin(Progress progress);

  std::function<Progress()> progress_of_this_thread_;
  HeartbeatMutex lock_;        ///< held while a policy has its turn: guards all below
  bool is_searching_ = false;  ///< some policy is, out of its turn
  Progress progress_;          ///< of whoever has the turn
};

}  // namespace controllers
