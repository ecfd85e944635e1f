#pragma once

/// Codec of spec.evictability of a DeschedulerPolicy. Internal to api/; the types are in api/descheduler_policy.hpp.

#include "api/descheduler_policy.hpp"
#include "api/json/strict_object.hpp"

namespace api {

void read_evictability(StrictObject& object, Evictability& evictability);
Json encode_evictability(const Evictability& evictability);

}  // namespace api
