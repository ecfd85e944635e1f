#pragma once

#include <algorithm>
#include <optional>

#include "base/clock.hpp"

namespace kube {

/// What a successful reconcile asks for: to be called when something changes, or also after a while.
struct Requeue {
  std::optional<base::Duration> after;  ///< nullopt: only when something changes

  static Requeue await_change() { return {}; }
  static Requeue in(base::Duration delay) { return {std::max(delay, base::Duration::zero())}; }

  friend bool operator==(const Requeue&, const Requeue&) = default;
};

}  // namespace kube
