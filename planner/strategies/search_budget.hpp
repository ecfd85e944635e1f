#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>

namespace strategies {

/// Calls all of the tasks, in any order and maybe side by side on threads of its own, and returns when all have ended.
/// Empty: one after the other. What they come to is the same either way.
using Executor = std::function<void(std::span<const std::function<void()>> tasks)>;
inline void run_all(const Executor& executor, std::span<const std::function<void()>> tasks) {
  if (executor) return executor(tasks);
  for (const auto& task : tasks) task();
}

/// How long a search goes on: so many steps, which are the same everywhere, and until somebody stops it. A step is one
/// look at one node. One thread.
class SearchBudget {
 public:
  SearchBudget(std::int64_t steps, std::function<bool()> should_stop)
      : steps_(steps), should_stop_(std::move(should_stop)) {}

  void spend(std::size_t steps) { steps_ -= static_cast<std::int64_t>(steps); }
  std::int64_t left() const { return steps_; }
  void grant(std::int64_t steps) { steps_ = steps; }
  /// Stays true once it was.
  bool is_over() {
    if (!is_stopped_) is_stopped_ = should_stop_ && should_stop_();
    return is_stopped_ || steps_ <= 0;
  }
  /// By somebody, steps or not.
  bool is_stopped() const { return is_stopped_; }

 private:
  std::int64_t steps_;
  std::function<bool()> should_stop_;
  bool is_stopped_ = false;
};

/// Numbers that look random and are the same for the same seed (SplitMix64).
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// From 0 to below 1.
  double fraction() { return static_cast<double>(next() >> 11) / 9007199254740992.0; }
  /// REQUIRES: end > 0.
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(next() % end); }
  /// 1, give or take `width`.
  double about_one(double width) { return 1 + width * (2 * fraction() - 1); }

 private:
  std::uint64_t state_;
};

}  // namespace strategies
