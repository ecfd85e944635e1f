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

/// How a strategy classes nodes, collected pool by pool and reported to the sink. Keeps references to both.
class NodeClassification {
 public:
  NodeClassification(const StrategyContext& context, NominationSink& sink) : context_(context), sink_(sink) {}

  /// `reason` is called only for rows that the sink keeps.
  void add(NodeIndex node, api::NodeClass node_class, const std::function<std::string()>& reason);
  /// The nodes that the table does not know.
  void add_rest(const LoadTable& load);
  /// The nodes looked at that are not among those of the pools.
  void add_nodes_in_no_pool(std::vector<NodeIndex> in_pools);
  /// Why nothing is moved in a pool; "" is the strategy's own.
  void note(std::string_view pool, const std::string& text);
  /// To the sink. Call it once, behind all pools.
  void report();

  /// Names of the cordoned underutilized nodes that were added so far, "n-1 and 3 more"; "": there are none.
  std::string cordoned_under() const;

 private:
  static constexpr std::size_t kClasses = 6;

  const StrategyContext& context_;
  NominationSink& sink_;
  api::NodeClasses classes_;
  std::array<std::vector<api::ClassifiedNode>, kClasses> rows_;  ///< by class
  std::vector<std::string> cordoned_under_;                      ///< the first of them
};

/// "cpu 62.5 % of allocatable", "pods 13 of 110 (11.8 %)".
std::string describe_share(const NodeUsage& node, std::size_t resource, std::string_view name);
/// "gpu.example.com/a, which it does not publish"; "": it publishes some of each of the first `thresholds` resources.
std::string describe_unpublished(const NodeUsage& node, const std::vector<std::string>& resources,
                                 std::size_t thresholds);

/// The first resource above its percentage. A resource that the node does not publish is at 0.
std::optional<std::size_t> resource_above(const NodeUsage& node, const std::vector<double>& percents,
                                          const std::vector<std::string>& resources);
/// What decides that a node is above `percents`, or that it is not.
std::string describe_against(const NodeUsage& node, const std::vector<double>& percents,
                             const std::vector<std::string>& resources, std::string_view thresholds);
/// Measured load against percentages: "measured cpu 72.1 %, above targetThresholds 50 %".
std::string describe_load(const LoadTable& load, NodeIndex node, const std::vector<double>& percents,
                          std::string_view thresholds);
/// Behind describe_load() where the last samples do not bear the class out yet.
inline constexpr std::string_view kNotConfirmed = ", not confirmed by enough samples yet (hysteresis)";
/// The node publishes some of one of the first `thresholds` resources.
bool is_in_scope(const NodeUsage& node, std::size_t thresholds);

/// Why a strategy that needs underutilized nodes does nothing. `under`: those that take part.
std::string describe_too_few(std::size_t under, std::int32_t number_of_nodes, const NodeClassification& classes);

}  // namespace strategies
