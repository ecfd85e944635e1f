#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace base {

/// Runs all tasks in any order on at most `threads` threads including the calling thread, and returns after the last
/// one. An exception does not stop the other tasks; the first one is rethrown at the end.
inline void run_parallel(std::span<const std::function<void()>> tasks, std::size_t threads) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr thrown;
  const auto work = [&] {
    for (std::size_t at = next++; at < tasks.size(); at = next++) {
      try {
        tasks[at]();
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!thrown) thrown = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads && i < tasks.size(); ++i) others.emplace_back(work);
    work();
  }
  if (thrown) std::rethrow_exception(thrown);
}

inline std::size_t core_count() {
  return std::thread::hardware_concurrency() > 0 ? std::thread::hardware_concurrency() : 1;
}

inline void run_on_all_cores(std::span<const std::function<void()>> tasks) { run_parallel(tasks, core_count()); }

}  // namespace base
