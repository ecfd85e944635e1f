#pragma once

#include <thread>

namespace cmd {

/// Nothing where no thread runs.
inline void stop_and_join(std::jthread& thread) {
  thread.request_stop();
  if (thread.joinable()) thread.join();
}

}  // namespace cmd
