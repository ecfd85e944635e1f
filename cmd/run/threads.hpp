#pragma once

#include <thread>

namespace cmd {

/// Stops and joins the thread. No-op if it is not running.
inline void stop_and_join(std::jthread& thread) {
  thread.request_stop();
  if (thread.joinable()) thread.join();
}

}  // namespace cmd
