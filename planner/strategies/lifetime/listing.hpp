#pragma once

/// Pod iteration shared by the lifetime strategies.

#include <functional>
#include <vector>

#include "planner/strategies/lifetime/criteria.hpp"
#include "planner/strategies/lifetime/terminal_pods.hpp"
#include "planner/strategies/listing.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

Subject subject_of(const StrategyContext& context, PodIndex pod);

/// Iteration of one strategy over the cluster. Keeps references to all arguments.
class LifeTimeListing {
 public:
  LifeTimeListing(const StrategyContext& context, NominationSink& sink, const PodScope& scope, const Criteria& criteria,
                  const TerminalPods& terminal_pods);

  /// Offers matching pods, in any state, node by node in the order of `sort`; by name if it is empty.
  void offer_by_node(const std::function<void(std::vector<PodIndex>& pods)>& sort = {});
  /// Offers matching pods of all nodes, the oldest first. Continues after a node or namespace reaches its limit,
  /// because the next pod may be elsewhere. In upstream mode checks all pods for other nodes before the first offer.
  void offer_oldest_first();

 private:
  struct AgedPod {
    base::TimePoint created;
    PodIndex pod = 0;
  };

  std::vector<PodIndex> movable_pods_on(NodeIndex node);
  bool is_kept(PodIndex pod);
  bool fits_nowhere(PodIndex pod);
  std::vector<AgedPod> pods_on_all_nodes();
  void prefetch_ahead(const std::vector<AgedPod>& pods, std::size_t at) const;
  std::string reason_for(PodIndex pod) const { return criteria_.words_for(subject_of(context_, pod)); }

  const StrategyContext& context_;
  NominationSink& sink_;
  scheduling::CachedSelector in_scope_;
  const Criteria& criteria_;
  TerminalPodRules terminal_;
};

/// Offers the pods of a strategy with a scope, criteria and rules for terminal pods, the oldest first.
template <typename S>
base::Status offer_oldest_first(const StrategyContext& context, NominationSink& sink, const S& strategy) {
  const Criteria criteria = strategy.criteria();
  LifeTimeListing(context, sink, strategy.scope, criteria, strategy.terminal_pods).offer_oldest_first();
  return base::Done{};
}

}  // namespace strategies
