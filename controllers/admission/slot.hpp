#pragma once

#include <optional>
#include <string>

#include "api/evacuation.hpp"
#include "base/clock.hpp"

namespace controllers {

/// What the admission queue said.
struct Slot {
  enum class State { kNotAsked, kGranted, kWaiting };
  State state = State::kNotAsked;
  std::optional<api::Blocker> limit;          ///< kWaiting: what is full; nullopt: not known yet, see retry_at
  std::string reserved_node{};                ///< kGranted: node where free capacity for a surge pod is held
  std::optional<base::TimePoint> retry_at{};  ///< kWaiting: asking before makes no sense
};

}  // namespace controllers
