#pragma once

#include <algorithm>
#include <optional>

#include "base/clock.hpp"

namespace kube {

/// Result of a successful reconcile: when to reconcile the key again.
struct Requeue {
  std::optional<base::Duration> after;  ///< nullopt waits for the next change

  static Requeue await_change() { return {}; }
  static Requeue in(base::Duration delay) { return {std::max(delay, base::Duration::zero())}; }

  friend bool operator==(const Requeue&, const Requeue&) = default;
};

}  // namespace kube
