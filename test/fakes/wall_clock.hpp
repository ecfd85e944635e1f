#pragma once

#include "base/clock.hpp"

namespace fakes {

/// Time of day on the operator's machine. An administrator may set it. Delays must not use it.
class WallClock final : public base::Clock {
 public:
  explicit WallClock(const base::Clock& steady) : steady_(steady) {}
  base::TimePoint now() const override { return steady_.now() + step; }
  base::Duration step{};

 private:
  const base::Clock& steady_;
};

}  // namespace fakes
