#pragma once

/// status.rounds of a DeschedulerPolicy.

#include <optional>
#include <string>

#include "api/json/json.hpp"

namespace api {

/// State of a strategy whose plan takes several cycles, sufficient for the next leader to continue. Only the strategy
/// reads `value` (strategies::MultiCycle).
struct StrategyState {
  std::string strategy;
  std::string value;  ///< JSON object as compact text
  friend bool operator==(const StrategyState&, const StrategyState&) = default;
};

/// Returns nullopt if status.rounds is missing or not an object.
std::optional<StrategyState> strategy_state_of(const Json& status);
/// REQUIRES: state.value, if any, is a JSON object.
void put_strategy_state(Json& status, const std::optional<StrategyState>& state);

}  // namespace api
