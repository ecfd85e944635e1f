#pragma once

/// Objects in which every member differs from its default.

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"

namespace test_api {

api::EvacuationSpec populated_evacuation_spec();
api::EvacuationStatus populated_evacuation_status();
api::DeschedulerPolicySpec populated_policy_spec();
/// Webhooks, except for migrate, which is a Job.
api::EvacuationHooks populated_hooks();
api::Hook populated_job_hook();
api::DeschedulerPolicyStatus populated_policy_status();

/// Small registry of evictors, for error messages that list it.
inline const std::vector<std::string_view> kEvictors = {"eviction-api", "annotation"};
/// Registry for objects that use more evictors.
inline const std::vector<std::string_view> kAllEvictors = {"eviction-api", "annotation", "stateful-handoff"};

/// Usage sources and gates with the members that exclude those of the populated ones.
std::vector<api::UsageSource> other_usage_sources();
std::vector<api::PolicyGate> other_gates();

}  // namespace test_api
