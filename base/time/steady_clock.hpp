#pragma once

#include "base/clock.hpp"

namespace base {

/// Monotonic clock for delays. Cannot be set, and includes the time during which the machine is suspended. Its times
/// count from the start of the machine: compare them only with each other.
class SteadyClock final : public Clock {
 public:
  TimePoint now() const override;
};

}  // namespace base
