#pragma once

#include <string>

#include "advisor/placement/report.hpp"
#include "api/json/json.hpp"

namespace cmd::advise {

/// For people. Names of tenants do not steer the terminal.
std::string placement_text(const advising::PlacementReport& report);

/// {nodes, busy, now: {freed, moves, bound, boundReason}, findings: [{cause, namespace, kind, name, pods, nodes, risk,
/// why, change, then, gainedNodes, savedMoves}], unplanned, alerts: [{name, percent, meaning, expression}]}. What
/// nobody planned has no `then`.
api::Json placement_json(const advising::PlacementReport& report);

}  // namespace cmd::advise
