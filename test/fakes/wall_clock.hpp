#pragma once

#include "base/clock.hpp"

namespace fakes {

/// The time of day on the operator's machine. An administrator may set it; delays do not use it.
class WallClock final : public base::Clock {
 public:
  explicit WallClock(const base::Clock& steady) : steady_(steady) {}
  base::TimePoint now() const override { return steady_.now() + step; }
  base::Duration step{};

 private:
  const base::Clock& steady_;
};

}  // namespace fakes
