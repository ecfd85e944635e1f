#pragma once

#include <utility>

#include "api/descheduler_policy.hpp"
#include "api/json/json.hpp"

namespace api {

/// Both, encoded as far as a merge patch from the first to the second needs. It is the same patch that encode_status()
/// of both would give.
std::pair<Json, Json> encode_change(const DeschedulerPolicyStatus& before, const DeschedulerPolicyStatus& after);

}  // namespace api
