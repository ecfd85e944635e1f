#pragma once

/// Decoder of the status of a DeschedulerPolicy, and encoders of its rows and changes. encode_status() is in
/// api/descheduler_policy.hpp.

#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "api/descheduler_policy.hpp"

namespace api {

/// Never fails: a field that cannot be read or has a wrong type counts as absent. Rows that cannot be read are skipped.
DeschedulerPolicyStatus policy_status_of(const Json& json);

/// Encodes one row, also for `explain -o json`.
Json encode_past_decision(const PastDecision& decision);

/// Encodes both statuses with only the parts needed for a merge patch from `before` to `after`. The patch equals that
/// between the results of encode_status().
std::pair<Json, Json> encode_change(const DeschedulerPolicyStatus& before, const DeschedulerPolicyStatus& after);

}  // namespace api
