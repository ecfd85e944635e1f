#include "base/sleep.hpp"

#include <condition_variable>
#include <mutex>

namespace base {

bool sleep_unless_stopped(Duration delay, std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any asleep;
  std::unique_lock lock(mutex);
  asleep.wait_for(lock, stop, delay, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace base
