#pragma once

/// Catalog of all strategies.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/json/field_path.hpp"
#include "api/json/json.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// A namespace named in a strategy's arguments, and its path.
struct NamedNamespace {
  std::string path;
  std::string name;
  bool excluded = false;  ///< its pods are excluded
  friend bool operator==(const NamedNamespace&, const NamedNamespace&) = default;
};

/// One entry of spec.strategies with its arguments parsed, ready to run. Copies share the strategy.
struct StrategySpec {
  std::size_t position;  ///< index in spec.strategies
  std::shared_ptr<const Strategy> strategy;
};

/// spec.strategies with the arguments parsed. Created once when a policy is decoded, and shared by its planning cycles.
/// Immutable and safe to share between threads.
struct StrategySpecs {
  std::vector<StrategySpec> runnable;      ///< in the order of the spec, without entries that have errors
  api::FieldErrors errors;                 ///< for example "spec.strategies[1].args.thresholds.cpu: 120 is above 100"
  api::FieldErrors conflicts;              ///< entries that conflict with an earlier one
  std::vector<NamedNamespace> namespaces;  ///< named in arguments, including those of entries with errors

  /// Longest time window in which a strategy counts restarts, or nullopt if no strategy does.
  std::optional<base::seconds> restart_window() const;
  /// Usage needs of all strategies, without duplicates, in the order of the spec.
  std::vector<UsageNeed> usage_needs() const;
  /// Returns true if a strategy sets soft taints.
  bool soft_taints() const;
  /// Returns true if `strategy`, or any strategy if empty, sets soft taints with the key `taint`.
  bool asks_for(std::string_view taint, std::string_view strategy = {}) const;
  /// Returns the first MultiCycle strategy, or nullptr if there is none.
  const MultiCycle* multi_cycle() const;
  /// Returns `errors`, then `conflicts`. Empty means valid.
  api::FieldErrors problems() const;
};

/// Parses the arguments of all entries. Unknown fields are errors.
StrategySpecs parse_strategies(const std::vector<api::StrategyChoice>& choices,
                               const api::FieldPath& path = api::FieldPath("spec.strategies"));

/// Appends all namespaces named by `include` and `exclude` of `namespaces` and `evictableNamespaces`, at any depth, in
/// the order of the arguments' keys. `path` is the path of the arguments.
void append_named_namespaces(const api::Json& args, const api::FieldPath& path, std::vector<NamedNamespace>& found);

/// Names of all strategies in alphabetical order.
std::vector<std::string_view> known_strategies();

/// Returns true if the strategy plans its moves in waves (api::PlannedMove::wave).
bool plans_in_waves(std::string_view strategy);
/// Returns true if a move of the strategy with this reason leaves a node that is to become empty.
bool empties_node(std::string_view strategy, std::string_view reason);

/// Returns the problems() of parse_strategies(). Empty means valid.
api::FieldErrors validate(const std::vector<api::StrategyChoice>& choices);

}  // namespace strategies
