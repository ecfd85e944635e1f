#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>

namespace strategies {

/// Runs all tasks, in any order and possibly concurrently on its own threads, and returns when all have finished. If
/// empty, tasks run sequentially. Results must be the same either way.
using Executor = std::function<void(std::span<const std::function<void()>> tasks)>;
inline void run_all(const Executor& executor, std::span<const std::function<void()>> tasks) {
  if (executor) return executor(tasks);
  for (const auto& task : tasks) task();
}

/// Bounds a search by a number of steps, which is deterministic, and by a stop request. One step examines one node. Not
/// thread-safe.
class SearchBudget {
 public:
  SearchBudget(std::int64_t steps, std::function<bool()> should_stop)
      : steps_(steps), should_stop_(std::move(should_stop)) {}

  void spend(std::size_t steps) { steps_ -= static_cast<std::int64_t>(steps); }
  std::int64_t left() const { return steps_; }
  void grant(std::int64_t steps) { steps_ = steps; }
  /// Returns true if the steps are used up or a stop was requested. A stop request is permanent.
  bool is_over() {
    if (!is_stopped_) is_stopped_ = should_stop_ && should_stop_();
    return is_stopped_ || steps_ <= 0;
  }
  /// Returns true if a stop was requested, regardless of steps.
  bool is_stopped() const { return is_stopped_; }

 private:
  std::int64_t steps_;
  std::function<bool()> should_stop_;
  bool is_stopped_ = false;
};

/// Deterministic pseudo-random generator (SplitMix64).
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// Returns a value in [0, 1).
  double fraction() { return static_cast<double>(next() >> 11) / 9007199254740992.0; }
  /// Returns a value in [0, end). REQUIRES: end > 0.
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(next() % end); }
  /// Returns a value in 1 ± `width`.
  double about_one(double width) { return 1 + width * (2 * fraction() - 1); }

 private:
  std::uint64_t state_;
};

}  // namespace strategies
