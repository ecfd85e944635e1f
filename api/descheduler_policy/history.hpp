#pragma once

/// Codec of the parts of a policy's status that persist between cycles: past decisions and restarts. Also encodes
/// changes of such a large status.

#include <utility>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/json/json.hpp"

namespace api {

/// Lenient: rows that cannot be read are skipped.
PolicyHistory policy_history_of(const Json& status);
std::vector<RestartRecord> restart_records_of(const Json& status);

/// Add `history` and `restarts` to `status`, unless empty.
void put_policy_history(Json& status, const PolicyHistory& history);
void put_restart_records(Json& status, const std::vector<RestartRecord>& records);
/// Encodes one row, also for `explain -o json`.
Json encode_past_decision(const PastDecision& decision);

/// Encodes both statuses with only the parts needed for a merge patch from `before` to `after`. The patch equals that
/// between the results of encode_status().
std::pair<Json, Json> encode_change(const DeschedulerPolicyStatus& before, const DeschedulerPolicyStatus& after);

}  // namespace api
