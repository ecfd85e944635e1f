#pragma once

#include <cstdint>

#include "planner/scheduling/scoring/scheduler_rules.hpp"
#include "planner/scheduling/what_if.hpp"

namespace scheduling {

/// What the cluster's scheduler is taken to want: kube-scheduler's default profile, or that with packing.
enum class NodeScoring {
  kLeastAllocated,  ///< the emptier node is the better one; the default
  kMostAllocated,   ///< the fuller one is
};

/// kube-scheduler's scores for the free capacity on a node with the pod on it: NodeResourcesFit (LeastAllocated or
/// MostAllocated) and NodeResourcesBalancedAllocation, both over cpu and memory, weight 1 each, in whole points. Every
/// step is computed and cut off as in kube-scheduler, so that ties and favourites are the same. In NodeResourcesFit
/// every container counts with at least 100m and 200Mi unless it says how much it wants (ScoredRequests).
class ResourceScores {
 public:
  static constexpr int kBest = 200;
  static constexpr std::uint8_t kNoCapacity = 255;  ///< too little cpu or memory, or no place for one more pod

  /// REQUIRES: the weights of fit and balance are 0 or 1.
  explicit ResourceScores(NodeScoring scoring, const SchedulerRules& rules = {}) : scoring_(scoring), rules_(rules) {}

  /// 0 to kBest, or kNoCapacity, for one more pod that asks for as much as `pod`.
  std::uint8_t score(const WhatIf& cluster, PodIndex pod, NodeIndex node) const;

 private:
  /// One resource of one node, in the scheduler's units (comparable()): what there is, and what is requested and scored
  /// before the pod comes and with it.
  struct Amounts {
    std::int64_t all;
    std::int64_t used, used_with;
    std::int64_t scored_with;
  };
  static Amounts amounts(const WhatIf& cluster, PodIndex pod, NodeIndex node, ResourceIndex resource);
  int fit_points(const Amounts& amounts) const;
  int balance_points(const Amounts& cpu, const Amounts& memory) const;

  NodeScoring scoring_;
  SchedulerRules rules_;
};

}  // namespace scheduling
