#pragma once

#include <optional>
#include <string>

#include "api/evacuation.hpp"
#include "base/clock.hpp"

namespace controllers {

/// Result of a slot request to the admission queue.
struct Slot {
  enum class State { kNotAsked, kGranted, kWaiting };
  State state = State::kNotAsked;
  std::optional<api::Blocker> limit;          ///< kWaiting: the full limit; nullopt if not known yet, see retry_at
  std::string reserved_node{};                ///< kGranted: node with the reserved capacity for a surge pod
  std::optional<base::TimePoint> retry_at{};  ///< kWaiting: earliest useful time of the next request
};

}  // namespace controllers
