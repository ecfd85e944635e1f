#pragma once

/// The one place that lists the strategies.

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/json/field_path.hpp"
#include "strategies/strategy.hpp"

namespace strategies {

/// One strategy of a policy, ready to run.
struct ConfiguredStrategy {
  std::size_t position;  ///< in spec.strategies
  std::unique_ptr<const Strategy> strategy;
};

/// Names that can be used, in alphabetical order.
std::vector<std::string_view> known_strategies();

/// Parses every choice's args strictly and appends complaints such as
/// "spec.strategies[1].args.thresholds.cpu: 120 is above 100"; choices with complaints are left out.
std::vector<ConfiguredStrategy> make_strategies(const std::vector<api::StrategyChoice>& choices,
                                                api::FieldErrors& errors,
                                                const api::FieldPath& path = api::FieldPath("spec.strategies"));

/// The longest time window in which one of them counts restarts; absent: none counts them so.
std::optional<base::seconds> restart_window(const std::vector<api::StrategyChoice>& choices);

/// make_strategies() without keeping the strategies; empty = valid.
api::FieldErrors validate(const std::vector<api::StrategyChoice>& choices);

}  // namespace strategies
