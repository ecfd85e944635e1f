#pragma once

#include "base/clock.hpp"

namespace cmd {

/// SIGINT and SIGTERM as a waitable condition. Construct before other threads start, so that they inherit the blocked
/// signals.
class Interrupted {
 public:
  Interrupted();
  ~Interrupted();
  Interrupted(const Interrupted&) = delete;
  Interrupted& operator=(const Interrupted&) = delete;

  bool yet() const;
  /// Returns true if a signal has arrived.
  bool wait(base::milliseconds at_most) const;

 private:
  int descriptor_ = -1;
};

}  // namespace cmd
