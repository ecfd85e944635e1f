#pragma once

/// What a policy's status remembers from cycle to cycle: past decisions and restarts, on the wire. And how a status
/// that remembers much is patched.

#include <utility>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/json/json.hpp"

namespace api {

/// Lenient: rows that cannot be read are left out.
PolicyHistory policy_history_of(const Json& status);
std::vector<RestartRecord> restart_records_of(const Json& status);

/// Adds `history` and `restarts`, if there is anything in them.
void put_policy_history(Json& status, const PolicyHistory& history);
void put_restart_records(Json& status, const std::vector<RestartRecord>& records);
/// One row, also for `explain -o json`.
Json encode_past_decision(const PastDecision& decision);

/// Both, encoded as far as a merge patch from the first to the second needs. It is the same patch that encode_status()
/// of both would give.
std::pair<Json, Json> encode_change(const DeschedulerPolicyStatus& before, const DeschedulerPolicyStatus& after);

}  // namespace api
