#pragma once

/// status.rounds of a DeschedulerPolicy: state of a strategy that works in rounds, sufficient for the next leader to
/// continue (docs/strategies/alternating-utilization.md).

#include <cstdint>
#include <optional>
#include <string>

#include "api/json/json.hpp"
#include "base/clock.hpp"

namespace api {

struct RoundsStatus {
  std::string strategy;
  std::int32_t round = 0;                     ///< starts at 1
  std::string phase;                          ///< Leveling, Packing, or Stopped
  std::string reason;                         ///< for Stopped: Converged, NoProgress, MaxRounds or NotSettled
  bool waiting = false;                       ///< moved pods have not settled yet
  std::int32_t planned = 0;                   ///< moves of the last cycle in this phase; 0 if it found none
  std::int32_t moved = 0;                     ///< moves of this round so far
  std::int32_t nodes = 0;                     ///< nodes in scope when the round began, or when it stopped
  std::int32_t nodes_in_use = 0;              ///< nodes in scope with pods other than DaemonSet and mirror pods
  double imbalance = 0;                       ///< of the nodes in use, in percentage points, at the same time
  std::int32_t nodes_freed = 0;               ///< by all finished rounds
  std::optional<base::TimePoint> planned_at;  ///< start of the last cycle that planned moves
  friend bool operator==(const RoundsStatus&, const RoundsStatus&) = default;
};

/// Reads status.rounds. Returns nullopt if it is missing or its phase is unknown.
std::optional<RoundsStatus> rounds_status_of(const Json& status);
void put_rounds_status(Json& status, const std::optional<RoundsStatus>& rounds);

}  // namespace api
