#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/descheduler_policy/node_classes.hpp"
#include "planner/strategies/load/load_table.hpp"
#include "planner/strategies/strategy.hpp"
#include "planner/strategies/utilization/node_usage.hpp"

namespace strategies {

/// Classification of nodes by a strategy, collected per pool and reported to the sink. Keeps references to both
/// arguments.
class NodeClassification {
 public:
  NodeClassification(const StrategyContext& context, NominationSink& sink) : context_(context), sink_(sink) {}

  /// `reason` is called only for rows that the sink stores.
  void add(NodeIndex node, api::NodeClass node_class, const std::function<std::string()>& reason);
  /// Adds the nodes that are missing in the table: unknown and out of scope.
  void add_rest(const LoadTable& load);
  /// Adds the nodes in scope that belong to no pool.
  void add_nodes_in_no_pool(std::vector<NodeIndex> in_pools);
  /// Records why nothing is moved in a pool; pool "" is the strategy's own.
  void note(std::string_view pool, const std::string& text);
  /// Reports to the sink. Call once, after all pools.
  void report();

  /// Names the cordoned underutilized nodes added so far, "n-1 and 3 more". Returns "" if there are none.
  std::string cordoned_under() const;

 private:
  static constexpr std::size_t kClasses = 6;

  const StrategyContext& context_;
  NominationSink& sink_;
  api::NodeClasses classes_;
  std::array<std::vector<api::ClassifiedNode>, kClasses> rows_;  ///< By class
  std::vector<std::string> cordoned_under_;                      ///< The first kMaxNamed of them
};

/// "cpu 62.5 % of allocatable", "pods 13 of 110 (11.8 %)".
std::string describe_share(const NodeUsage& node, std::size_t resource, std::string_view name);
/// Returns text such as "gpu.example.com/a, which it does not publish", or "" if the node publishes all of the first
/// `thresholds` resources.
std::string describe_unpublished(const NodeUsage& node, const std::vector<std::string>& resources,
                                 std::size_t thresholds);

/// Returns the first resource above its percentage. An unpublished resource counts as 0 %.
std::optional<std::size_t> resource_above(const NodeUsage& node, const std::vector<double>& percents,
                                          const std::vector<std::string>& resources);
/// Describes the resource that decides whether the node is above `percents`.
std::string describe_against(const NodeUsage& node, const std::vector<double>& percents,
                             const std::vector<std::string>& resources, std::string_view thresholds);
/// Compares measured load with percentages: "measured cpu 72.1 %, above targetThresholds 50 %".
std::string describe_load(const LoadTable& load, NodeIndex node, const std::vector<double>& percents,
                          std::string_view thresholds);
/// Compares measured load with the first percentage that it exceeds: ": measured cpu 72.1 %, target 50 %". Returns ""
/// if it exceeds none.
std::string describe_excess(const LoadTable& load, NodeIndex node, const std::vector<double>& limits);
/// Suffix for describe_load() if the last samples do not confirm the class yet.
inline constexpr std::string_view kNotConfirmed = ", not confirmed by enough samples yet (hysteresis)";
/// Returns whether the node publishes at least one of the first `thresholds` resources.
bool is_in_scope(const NodeUsage& node, std::size_t thresholds);

/// Returns whether a strategy that needs more than `number_of_nodes` underutilized nodes does nothing.
bool is_too_few(std::size_t under, std::int32_t number_of_nodes);
/// Explains why a strategy that needs underutilized nodes does nothing. `under` is their number, without cordoned
/// ones.
std::string describe_too_few(std::size_t under, std::int32_t number_of_nodes, const NodeClassification& classes);

}  // namespace strategies
