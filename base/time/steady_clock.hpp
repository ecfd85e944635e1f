#pragma once

#include "base/clock.hpp"

namespace base {

/// For delays: nobody sets it, and it goes on while the machine sleeps. Its instants count from the machine's start:
/// they may be compared with each other and mean nothing elsewhere.
class SteadyClock final : public Clock {
 public:
  TimePoint now() const override;
};

}  // namespace base
