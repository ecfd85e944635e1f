#pragma once

#include "base/clock.hpp"

namespace cmd {

/// SIGINT and SIGTERM as a condition that can be waited for. Make one before other threads start: they inherit the
/// blocked signals.
class Interrupted {
 public:
  Interrupted();
  ~Interrupted();
  Interrupted(const Interrupted&) = delete;
  Interrupted& operator=(const Interrupted&) = delete;

  bool yet() const;
  /// Waits for a signal, at most so long. True if there was one.
  bool wait(base::milliseconds at_most) const;

 private:
  int descriptor_ = -1;
};

}  // namespace cmd
