#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/strategies/common_args.hpp"
#include "planner/strategies/load/measured_load.hpp"
#include "planner/strategies/load/node_pools.hpp"
#include "planner/strategies/strategy.hpp"
#include "planner/strategies/utilization/move_rules.hpp"
#include "planner/strategies/utilization/node_classes.hpp"
#include "planner/strategies/utilization/usage_args.hpp"

namespace strategies {

/// Empties underutilized nodes onto the others, so that an autoscaler can remove them
/// (upstream-semantics.md#high-node-utilization). Empties whole nodes only. If all nodes are underutilized, empties
/// the emptier ones onto the fuller ones.
class HighNodeUtilization final : public Strategy, public Balancer {
 public:
  static constexpr std::string_view kName = "HighNodeUtilization";

  struct Args {
    /// A node at or below all of `low` is underutilized. With measured load, nodes are filled up to `high`. Applies to
    /// nodes in no pool; if empty, those nodes are left alone.
    Thresholds thresholds;
    std::optional<UsageArgs> usage;  ///< nullopt means by requests
    std::vector<NodePool> pools;
    std::int32_t number_of_nodes = 0;  ///< Act only if more nodes than this are underutilized
    std::vector<std::string> excluded_namespaces;
    bool only_thresholding_resources = false;  ///< Only pods that request one of the resources
    bool ignore_daemon_sets = false;  ///< Compare thresholds with the usage of pods that do not belong to their node
    /// Internal, not an argument: use soft taints to keep replacements off emptied and empty nodes.
    bool soft_taint = false;
    friend bool operator==(const Args&, const Args&) = default;

    /// Errors are added to the errors of `args`.
    static Args read(api::StrictObject& args);
  };

  explicit HighNodeUtilization(Args args) : args_(std::move(args)) {}
  std::string_view name() const override { return kName; }
  StrategyPhase phase() const override { return StrategyPhase::kBalance; }
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const override;
  StrategyNeeds needs() const override;
  std::optional<BalanceSubject> balances(const StrategyContext& context) const override;
  std::string caution(bool is_upstream) const override;

 private:
  base::Status empty_by_requests(const StrategyContext& context, NominationSink& sink, const PoolNodes& pool,
                                 NodeClassification& classes) const;
  /// Returns the filter of pods that are ignored when judging whether a node is underutilized.
  UsageWithoutPods::IsLeftOut left_out() const {
    return args_.ignore_daemon_sets ? is_leaving_or_node_bound : is_leaving;
  }
  std::size_t low_without_daemon_sets(const StrategyContext& context, const std::vector<NodeUsage>& counting,
                                      const std::vector<double>& low, const std::vector<std::string>& resources) const;
  base::Status empty_by_load(const StrategyContext& context, NominationSink& sink) const;
  bool is_too_few(std::size_t underused) const;
  /// Returns why nothing is moved, or "" if nodes are to be emptied. `judged` is the number of judged nodes.
  std::string why_idle(std::size_t underused, std::size_t judged, const NodeClassification& classes) const;
  /// Empties whole nodes, by requests.
  void relieve(const StrategyContext& context, NominationSink& sink, const std::vector<std::string>& resources,
               MoveRules rules) const;
  /// Empties whole nodes, by measured load.
  void relieve_by_load(const StrategyContext& context, NominationSink& sink, const MeasuredLoad& load,
                       const PoolNodes& pool, NodeClassification& classes) const;
  /// Moves as many pods as possible from nodes that may then stay, as upstream does.
  void relieve_upstream(const StrategyContext& context, NominationSink& sink, const std::vector<std::string>& resources,
                        std::size_t thresholds, MoveRules rules) const;
  std::function<bool(const api::Pod&)> wanted_pods() const;

  Args args_;
};

}  // namespace strategies
