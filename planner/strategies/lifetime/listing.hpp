#pragma once

/// Pod iteration shared by the lifetime strategies.

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

  /// Returns the pods on `node`, in any state, that are in scope, meet the criteria, may leave and fit elsewhere, by
  /// name. Reports protected pods and pods that fit nowhere.
  std::vector<PodIndex> movable_pods_on(NodeIndex node);

  /// Offers matching pods of all nodes, the oldest first. Continues after a node or namespace reaches its limit,
  /// because the next pod may be elsewhere.
  void offer_oldest_first();
  /// Like offer_oldest_first(), but checks all pods for other nodes before the first offer.
  void offer_oldest_first_upstream();
  /// Calls the variant for the policy's compatibility.
  void offer_compatibly();

 private:
  struct AgedPod {
    base::TimePoint created;
    PodIndex pod = 0;
  };

  bool is_wanted(PodIndex pod);
  bool is_kept(PodIndex pod);
  bool fits_nowhere(PodIndex pod);
  /// Includes pods that fit nowhere else.
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
