#pragma once

#include <string>
#include <vector>

#include "planner/snapshot/cached_selector.hpp"
#include "planner/strategies/common_args.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Nominates pods whose node affinity is violated, or would be met better elsewhere
/// (upstream-semantics.md#node-affinity).
class RemovePodsViolatingNodeAffinity final : public Strategy {
 public:
  static constexpr std::string_view kName = "RemovePodsViolatingNodeAffinity";

  struct Args {
    PodScope scope;
    std::vector<std::string> types;  ///< Processed in this order
    friend bool operator==(const Args&, const Args&) = default;

    /// Errors are added to the errors of `args`.
    static Args read(api::StrictObject& args);
  };

  explicit RemovePodsViolatingNodeAffinity(Args args) : args_(std::move(args)) {}
  std::string_view name() const override { return kName; }
  StrategyPhase phase() const override { return StrategyPhase::kDeschedule; }
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const override;

 private:
  struct Type {
    std::string_view reason;
    /// Returns whether the node violates the pod's affinity, or another node meets it better.
    bool (*violates)(const StrategyContext& context, PodIndex pod, NodeIndex node);
    /// Returns the predicate of nodes that are better than `here`.
    Goal (*goal)(const StrategyContext& context, PodIndex pod, NodeIndex here);
    bool (*violates_upstream)(const StrategyContext& context, PodIndex pod, NodeIndex node);
    /// Refusal of a pod that violates the affinity and fits no better node.
    scheduling::Refusal no_better_node;
  };
  /// Nominates the lowest priority first, and only for a better node.
  void nominate_by(const Type& type, const StrategyContext& context, NominationSink& sink) const;
  /// Nominates in the order of the listing, for any destination.
  void nominate_by_upstream(const Type& type, const StrategyContext& context, NominationSink& sink) const;
  std::vector<PodIndex> violating_pods_on(NodeIndex node, const Type& type, scheduling::CachedSelector& in_scope,
                                          const StrategyContext& context, NominationSink& sink) const;
  bool may_move(const Type& type, PodIndex pod, NodeIndex node, const StrategyContext& context,
                NominationSink& sink) const;

  Args args_;
};

}  // namespace strategies
