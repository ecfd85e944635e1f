#pragma once

/// How the lifetime strategies go through the cluster.

#include <vector>

#include "planner/strategies/lifetime/criteria.hpp"
#include "planner/strategies/lifetime/terminal_pods.hpp"
#include "planner/strategies/listing.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

Subject subject_of(const StrategyContext& context, PodIndex pod);

/// One strategy's way through the cluster. Keeps references to everything.
class LifeTimeListing {
 public:
  LifeTimeListing(const StrategyContext& context, NominationSink& sink, const PodScope& scope, const Criteria& criteria,
                  const TerminalPods& terminal_pods);

  /// Pods of `node`, in any state, that are in scope, meet the criteria, may leave and have somewhere to go, by name.
  /// Pods that are protected or have nowhere to go are reported.
  std::vector<PodIndex> movable_pods_on(NodeIndex node);

  /// Offers such pods of all nodes, the oldest first. A node or namespace at its limit does not end it: the next pod
  /// may be elsewhere.
  void offer_oldest_first();
  /// The same, but asks of all pods whether they have somewhere to go before the first one leaves.
  void offer_oldest_first_upstream();
  /// One of the two, by the policy's compatibility.
  void offer_compatibly();

 private:
  struct AgedPod {
    base::TimePoint created;
    PodIndex pod = 0;
  };

  bool is_wanted(PodIndex pod);
  bool is_kept(PodIndex pod);
  bool goes_nowhere(PodIndex pod);
  /// Whether or not they have somewhere to go.
  std::vector<AgedPod> pods_on_all_nodes();
  static void sort_oldest_first(std::vector<AgedPod>& pods);
  void prefetch_ahead(const std::vector<AgedPod>& pods, std::size_t at) const;
  NominationResult offer(PodIndex pod);

  const StrategyContext& context_;
  NominationSink& sink_;
  scheduling::CachedSelector in_scope_;
  const Criteria& criteria_;
  TerminalPodRules terminal_;
};

}  // namespace strategies
