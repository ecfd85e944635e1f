#pragma once

/// The one place that lists the strategies.

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/json/field_path.hpp"
#include "planner/strategies/named_namespaces.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// One entry of spec.strategies with its arguments parsed, ready to run. Copies share the strategy.
struct StrategySpec {
  std::size_t position;  ///< in spec.strategies
  std::shared_ptr<const Strategy> strategy;
};

/// spec.strategies with the arguments parsed. It is made once when a policy is decoded, and shared by its planning
/// cycles. Nothing in it changes, so it is safe to share between threads.
struct StrategySpecs {
  std::vector<StrategySpec> runnable;      ///< in the order of the spec; entries with errors are left out
  api::FieldErrors errors;                 ///< such as "spec.strategies[1].args.thresholds.cpu: 120 is above 100"
  api::FieldErrors conflicts;              ///< entries that do not go together with an earlier one
  std::vector<NamedNamespace> namespaces;  ///< that the arguments name, those of entries with errors included

  /// The longest time window in which one of them counts restarts; absent: none counts them so.
  std::optional<base::seconds> restart_window() const;
  /// Of all of them, each once, in the order of the spec.
  std::vector<scheduling::UsageNeed> usage_needs() const;
  /// True if one of them asks for soft taints.
  bool soft_taints() const;
  /// True if one of that name does for taints with this key; "": any.
  bool asks_for(std::string_view taint, std::string_view strategy = {}) const;
  /// The one that works in rounds; nullptr: none does.
  const Strategy* in_rounds() const;
  /// `errors`, then `conflicts`; empty = valid.
  api::FieldErrors problems() const;
};

/// Parses the arguments of every entry strictly.
StrategySpecs parse_strategies(const std::vector<api::StrategyChoice>& choices,
                               const api::FieldPath& path = api::FieldPath("spec.strategies"));

/// Names that can be used, in alphabetical order.
std::vector<std::string_view> known_strategies();

/// True if the moves of that strategy are made in waves (api::PlannedMove::wave).
bool plans_in_waves(std::string_view strategy);
/// True if a move of that strategy for that reason leaves a node that is to become empty.
bool empties_node(std::string_view strategy, std::string_view reason);

/// The problems() of parse_strategies(); empty = valid.
api::FieldErrors validate(const std::vector<api::StrategyChoice>& choices);

}  // namespace strategies
