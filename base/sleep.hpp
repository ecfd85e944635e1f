#pragma once

#include <stop_token>

#include "base/clock.hpp"

namespace base {

/// Sleeps for `delay` or until stop is requested, whichever comes first. Returns false if stop is requested.
bool sleep_unless_stopped(Duration delay, std::stop_token stop);

}  // namespace base
