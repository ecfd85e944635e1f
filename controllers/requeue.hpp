#pragma once

#include <optional>

#include "base/clock.hpp"

namespace controllers {

/// What a reconcile that succeeded asks for: to be called again after a while, or only when something changes.
/// An error means back-off.
class Requeue {
 public:
  static Requeue await_change() { return Requeue(std::nullopt); }
  static Requeue in(base::Duration delay) { return Requeue(delay); }

  std::optional<base::Duration> delay() const { return delay_; }
  friend bool operator==(const Requeue&, const Requeue&) = default;

 private:
  explicit Requeue(std::optional<base::Duration> delay) : delay_(delay) {}
  std::optional<base::Duration> delay_;
};

}  // namespace controllers
