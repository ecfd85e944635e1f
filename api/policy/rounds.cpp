#include "api/policy/rounds.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "api/json/lenient.hpp"

namespace api {

std::optional<RoundsStatus> rounds_status_of(const Json& status) {
  const Json* json = lenient::object(status, "rounds");
  if (json == nullptr) return std::nullopt;
  RoundsStatus rounds;
  rounds.phase = lenient::text(*json, "phase");
  if (rounds.phase != "Leveling" && rounds.phase != "Packing" && rounds.phase != "Stopped") return std::nullopt;
  rounds.strategy = lenient::text(*json, "strategy");
  rounds.round = std::max(lenient::small_integer(*json, "round"), 1);
  rounds.reason = lenient::text(*json, "reason");
  rounds.waiting = lenient::boolean(*json, "waiting");
  rounds.planned = lenient::small_integer(*json, "planned");
  rounds.moved = lenient::small_integer(*json, "moved");
  rounds.nodes = lenient::small_integer(*json, "nodes");
  rounds.nodes_in_use = lenient::small_integer(*json, "nodesInUse");
  rounds.imbalance = lenient::number(*json, "imbalance").value_or(0);
  rounds.nodes_freed = lenient::small_integer(*json, "nodesFreed");
  rounds.planned_at = lenient::time(*json, "plannedAt");
  return rounds;
}

void put_rounds_status(Json& status, const std::optional<RoundsStatus>& rounds) {
  if (!rounds) return;
  Json json = {{"strategy", rounds->strategy},   {"round", rounds->round},
               {"phase", rounds->phase},         {"waiting", rounds->waiting},
               {"planned", rounds->planned},     {"moved", rounds->moved},
               {"nodes", rounds->nodes},         {"nodesInUse", rounds->nodes_in_use},
               {"imbalance", rounds->imbalance}, {"nodesFreed", rounds->nodes_freed}};
  put_text(json, "reason", rounds->reason);
  put_time(json, "plannedAt", rounds->planned_at);
  status["rounds"] = std::move(json);
}

}  // namespace api
