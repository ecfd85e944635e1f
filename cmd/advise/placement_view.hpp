#pragma once

#include <string>

#include "advisor/placement/report.hpp"
#include "api/json/json.hpp"

namespace cmd::advise {

/// Returns the human-readable report. Control characters in names are escaped.
std::string placement_text(const advisor::PlacementReport& report);

/// Returns {nodes, busy, now: {freed, moves, bound, boundReason}, findings: [{cause, namespace, kind, name, pods,
/// nodes, risk, why, change, then, gainedNodes, savedMoves}], unplanned, alerts: [{name, percent, meaning,
/// expression}]}. Findings for which no plan was computed have no `then`.
api::Json placement_json(const advisor::PlacementReport& report);

}  // namespace cmd::advise
