#pragma once

/// Objects in which every member is set to something that is no default.

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"

namespace test_api {

api::EvacuationSpec populated_evacuation_spec();
api::EvacuationStatus populated_evacuation_status();
api::DeschedulerPolicySpec populated_policy_spec();
api::DeschedulerPolicyStatus populated_policy_status();

/// The registry as it is in this version.
inline const std::vector<std::string_view> kEvictors = {"eviction-api", "annotation"};

}  // namespace test_api
