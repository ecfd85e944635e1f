#pragma once

#include "api/descheduler_policy.hpp"
#include "evictors/registry.hpp"
#include "planner/strategies/catalog.hpp"

namespace controllers {

/// Everything that is wrong with a spec: its fields, its strategies' args, its evictors' parameters. What two of the
/// checks find at one field is said once, in the first one's words. Empty = valid.
api::FieldErrors problems_of(const api::DeschedulerPolicySpec& spec, const evictors::EvictorRegistry& registry);
/// The same where the strategies' arguments are parsed already.
api::FieldErrors problems_of(const api::DeschedulerPolicySpec& spec, const strategies::StrategySpecs& strategies,
                             const evictors::EvictorRegistry& registry);

}  // namespace controllers
