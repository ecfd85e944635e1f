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

/// Empties underutilized nodes onto the others, so that an autoscaler can take them away
/// (upstream-semantics.md#high-node-utilization); whole ones only, and with all nodes low the emptier ones onto the
/// fuller.
class HighNodeUtilization final : public Strategy {
 public:
  static constexpr std::string_view kName = "HighNodeUtilization";

  struct Args {
    /// At or below all of `low`: underutilized. Up to `high` nodes are filled by measured load. Of nodes in no pool;
    /// empty: these are left alone.
    Thresholds thresholds;
    std::optional<UsageArgs> usage;  ///< absent: by requests
    std::vector<NodePool> pools;
    std::int32_t number_of_nodes = 0;  ///< act only when more nodes than this are underutilized
    std::vector<std::string> excluded_namespaces;
    bool only_thresholding_resources = false;  ///< only pods that request one of the resources
    bool ignore_daemon_sets = false;           ///< thresholds are about what pods use that do not go with their node
    /// No argument of its own: replacements are kept off the nodes that are emptied, and off empty ones, by soft
    /// taints.
    bool soft_taint = false;
    friend bool operator==(const Args&, const Args&) = default;

    /// Complaints go to the object's list.
    static Args read(api::StrictObject& args);
  };

  explicit HighNodeUtilization(Args args) : args_(std::move(args)) {}
  std::string_view name() const override { return kName; }
  StrategyPhase phase() const override { return StrategyPhase::kBalance; }
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const override;
  std::vector<scheduling::UsageNeed> usage_needs() const override;
  std::optional<BalanceSubject> balances(const StrategyContext& context) const override;
  std::string caution(bool is_upstream) const override;

 private:
  base::Status empty_by_requests(const StrategyContext& context, NominationSink& sink, const PoolNodes& pool,
                                 NodeClassification& classes) const;
  /// Which pods do not count when it is judged whether a node is underutilized.
  UsageWithoutPods::IsLeftOut left_out() const { return args_.ignore_daemon_sets ? is_no_work : is_on_its_way_out; }
  std::size_t low_without_daemon_sets(const StrategyContext& context, const std::vector<NodeUsage>& counting,
                                      const std::vector<double>& low, const std::vector<std::string>& resources) const;
  base::Status empty_by_load(const StrategyContext& context, NominationSink& sink) const;
  bool is_too_few(std::size_t underused) const;
  /// "": nodes are to be emptied. Of `judged` nodes.
  std::string why_idle(std::size_t underused, std::size_t judged, const NodeClassification& classes) const;
  /// Empties whole nodes.
  void relieve(const StrategyContext& context, NominationSink& sink, const std::vector<std::string>& resources,
               MoveRules rules) const;
  /// The same by what is measured.
  void relieve_by_load(const StrategyContext& context, NominationSink& sink, const MeasuredLoad& load,
                       const PoolNodes& pool, NodeClassification& classes) const;
  /// Takes what it can from nodes that then stay.
  void relieve_upstream(const StrategyContext& context, NominationSink& sink, const std::vector<std::string>& resources,
                        std::size_t thresholds, MoveRules rules) const;
  std::function<bool(const api::Pod&)> wanted_pods() const;

  Args args_;
};

}  // namespace strategies
