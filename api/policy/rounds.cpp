#include "api/policy/rounds.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json/fields.hpp"

namespace api {

template <>
inline constexpr auto kFields<RoundsStatus> = std::tuple{always("strategy", &RoundsStatus::strategy),
                                                         always("round", &RoundsStatus::round),
                                                         always("phase", &RoundsStatus::phase),
                                                         field("reason", &RoundsStatus::reason),
                                                         always("waiting", &RoundsStatus::waiting),
                                                         always("planned", &RoundsStatus::planned),
                                                         always("moved", &RoundsStatus::moved),
                                                         always("nodes", &RoundsStatus::nodes),
                                                         always("nodesInUse", &RoundsStatus::nodes_in_use),
                                                         always("imbalance", &RoundsStatus::imbalance),
                                                         always("nodesFreed", &RoundsStatus::nodes_freed),
                                                         field("plannedAt", &RoundsStatus::planned_at)};

std::optional<RoundsStatus> rounds_status_of(const Json& status) {
  std::optional<RoundsStatus> rounds;
  lenient::read(status, "rounds", rounds);
  if (!rounds) return std::nullopt;
  if (rounds->phase != "Leveling" && rounds->phase != "Packing" && rounds->phase != "Stopped") return std::nullopt;
  rounds->round = std::max(rounds->round, 1);
  return rounds;
}

void put_rounds_status(Json& status, const std::optional<RoundsStatus>& rounds) {
  if (rounds) status["rounds"] = encode_fields(*rounds);
}

}  // namespace api
