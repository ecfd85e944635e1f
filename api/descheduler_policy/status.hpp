#pragma once

/// Decoder of the status of a DeschedulerPolicy. Internal to api/; encode_status() and encode_change() are in
/// api/descheduler_policy.hpp.

#include <nlohmann/json_fwd.hpp>

#include "api/descheduler_policy.hpp"

namespace api {

/// Never fails: a field that cannot be read or has a wrong type counts as absent.
DeschedulerPolicyStatus policy_status_of(const Json& json);

}  // namespace api
