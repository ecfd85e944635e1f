#pragma once

#include "api/descheduler_policy.hpp"
#include "evictors/registry.hpp"
#include "planner/strategies/catalog.hpp"

namespace controllers {

/// Validates a spec: its fields, the args of its strategies, and the parameters of its evictors. If two checks find a
/// problem at the same field, only the first is reported. Empty if valid.
api::FieldErrors problems_of(const api::DeschedulerPolicySpec& spec, const evictors::EvictorRegistry& registry);
/// Validates a spec whose strategies' arguments are already parsed.
api::FieldErrors problems_of(const api::DeschedulerPolicySpec& spec, const strategies::StrategySpecs& strategies,
                             const evictors::EvictorRegistry& registry);

}  // namespace controllers
