#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/well_known.hpp"
#include "planner/strategies/load/measured_load.hpp"
#include "planner/strategies/load/node_pools.hpp"
#include "planner/strategies/strategy.hpp"
#include "planner/strategies/utilization/node_classes.hpp"
#include "planner/strategies/utilization/usage_args.hpp"

namespace strategies {

/// Trimaran's score of a node at `percent` load. It grows from `target` to 100 until the target is reached, then falls
/// to 0 at 100 %, with a drop right above the target. Nodes are therefore packed up to the target, and the rest is
/// spread.
double target_load_score(double percent, double target);

/// Packs nodes up to a target percentage of measured load and spreads the load above it
/// (docs/strategies/target-load-packing.md). Pods of nodes above the target move to nodes where target_load_score() is
/// better by a margin. In a pool without such nodes, nodes with at most half of the target are emptied, completely or
/// not at all, onto the fullest nodes below the target.
class TargetLoadPacking final : public Strategy, public Balancer {
 public:
  static constexpr std::string_view kName = "TargetLoadPacking";

  struct Args {
    UsageArgs usage;
    Thresholds target;  ///< Only `high` is used; if empty, nodes in no pool are left alone
    double margin = 5;  ///< Minimum improvement of the score, 0 … 100
    bool pack = true;   ///< If false, only load above the target is spread
    std::vector<NodePool> pools;
    std::vector<std::string> excluded_namespaces;
    std::optional<std::uint32_t> evictions_per_node;
    friend bool operator==(const Args&, const Args&) = default;

    /// Errors are added to the errors of `args`.
    static Args read(api::StrictObject& args);
  };

  explicit TargetLoadPacking(Args args) : args_(std::move(args)) {}
  std::string_view name() const override { return kName; }
  StrategyPhase phase() const override { return StrategyPhase::kBalance; }
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const override;
  StrategyNeeds needs() const override {
    return {.usage = {args_.usage.need},
            .soft_taint = args_.usage.soft_taint ? api::well_known::kLoadedTaint : std::string_view()};
  }
  std::optional<BalanceSubject> balances(const StrategyContext& context) const override;

 private:
  void relieve(const StrategyContext& context, NominationSink& sink, const MeasuredLoad& load, const PoolNodes& pool,
               NodeClassification& classes) const;
  void empty(const StrategyContext& context, NominationSink& sink, const MeasuredLoad& load, const PoolNodes& pool,
             NodeClassification& classes) const;
  bool may_be_emptied(const StrategyContext& context, scheduling::NodeIndex node) const;

  Args args_;
};

}  // namespace strategies
