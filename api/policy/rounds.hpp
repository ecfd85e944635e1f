#pragma once

/// status.rounds of a DeschedulerPolicy: where a strategy that works in rounds is, and all that the next leader needs to
/// go on (docs/strategies/alternating-utilization.md).

#include <cstdint>
#include <optional>
#include <string>

#include "api/json/json.hpp"
#include "base/clock.hpp"

namespace api {

struct RoundsStatus {
  std::string strategy;
  std::int32_t round = 0;                     ///< from 1 on
  std::string phase;                          ///< Leveling, Packing, or Stopped
  std::string reason;                         ///< of Stopped: Converged, NoProgress, MaxRounds or NotSettled
  bool waiting = false;                       ///< what was moved has not settled yet
  std::int32_t planned = 0;                   ///< moves of the last cycle in this phase; 0: it found none
  std::int32_t moved = 0;                     ///< moves of this round so far
  std::int32_t nodes = 0;                     ///< looked at when the round began, or when it stopped
  std::int32_t nodes_in_use = 0;              ///< of those, nodes with pods that do not go with their node
  double imbalance = 0;                       ///< of the nodes in use, in points, at the same time
  std::int32_t nodes_freed = 0;               ///< by all finished rounds
  std::optional<base::TimePoint> planned_at;  ///< start of the last cycle that planned moves
  friend bool operator==(const RoundsStatus&, const RoundsStatus&) = default;
};

/// status.rounds; nullopt: it has none, or one without a known phase.
std::optional<RoundsStatus> rounds_status_of(const Json& status);
void put_rounds_status(Json& status, const std::optional<RoundsStatus>& rounds);

}  // namespace api
