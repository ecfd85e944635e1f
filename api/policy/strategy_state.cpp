#include "api/policy/strategy_state.hpp"

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "api/json/lenient.hpp"

namespace api {

std::optional<StrategyState> strategy_state_of(const Json& status) {
  const Json* json = lenient::object(status, "rounds");
  if (json == nullptr) return std::nullopt;
  return StrategyState{text_at(*json, {"strategy"}), to_json_text(*json)};
}

void put_strategy_state(Json& status, const std::optional<StrategyState>& state) {
  if (state) status["rounds"] = Json::parse(state->value, nullptr, false);
}

}  // namespace api
