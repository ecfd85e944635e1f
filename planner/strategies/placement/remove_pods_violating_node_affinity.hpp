#pragma once

#include <string>
#include <vector>

#include "planner/snapshot/cached_selector.hpp"
#include "planner/strategies/common_args.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Nominates pods whose node affinity is not met, or would be met better elsewhere
/// (upstream-semantics.md#node-affinity).
class RemovePodsViolatingNodeAffinity final : public Strategy {
 public:
  static constexpr std::string_view kName = "RemovePodsViolatingNodeAffinity";

  struct Args {
    PodScope scope;
    std::vector<std::string> types;  ///< worked through in this order
    friend bool operator==(const Args&, const Args&) = default;

    /// Complaints go to the object's list.
    static Args read(api::StrictObject& args);
  };

  explicit RemovePodsViolatingNodeAffinity(Args args) : args_(std::move(args)) {}
  std::string_view name() const override { return kName; }
  StrategyPhase phase() const override { return StrategyPhase::kDeschedule; }
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const override;

 private:
  struct Type {
    std::string_view reason;
    /// The pod's node breaks the affinity, or another one meets it better.
    bool (*violates)(const StrategyContext& context, PodIndex pod, NodeIndex node);
    /// Nodes that are better than `here`.
    Goal (*goal)(const StrategyContext& context, PodIndex pod, NodeIndex here);
    bool (*violates_upstream)(const StrategyContext& context, PodIndex pod, NodeIndex node);
    /// Refusal of a pod that violates the affinity and fits on no better node.
    scheduling::Refusal no_better_node;
  };
  /// The lowest priority first, and only for a better node.
  void nominate_by(const Type& type, const StrategyContext& context, NominationSink& sink) const;
  /// In the order of the listing, wherever the replacement is placed.
  void nominate_by_upstream(const Type& type, const StrategyContext& context, NominationSink& sink) const;
  std::vector<PodIndex> violating_pods_on(NodeIndex node, const Type& type, scheduling::CachedSelector& in_scope,
                                          const StrategyContext& context, NominationSink& sink) const;
  bool may_move(const Type& type, PodIndex pod, NodeIndex node, const StrategyContext& context,
                NominationSink& sink) const;

  Args args_;
};

}  // namespace strategies
