#pragma once

/// The status of a DeschedulerPolicy on the wire. Internal to api/: encode_status() and encode_change() are in
/// api/descheduler_policy.hpp.

#include <nlohmann/json_fwd.hpp>

#include "api/descheduler_policy.hpp"

namespace api {

/// Never fails: what cannot be read, or has another type, counts as absent.
DeschedulerPolicyStatus policy_status_of(const Json& json);

}  // namespace api
