#pragma once

#include <cstdint>

#include "planner/scheduling/scoring/scheduler_rules.hpp"
#include "planner/scheduling/what_if.hpp"

namespace scheduling {

/// Scoring profile that the cluster's scheduler is assumed to use: kube-scheduler's default, or its variant with
/// packing.
enum class NodeScoring {
  kLeastAllocated,  ///< emptier nodes are preferred; the default
  kMostAllocated,   ///< fuller nodes are preferred
};

/// kube-scheduler's scores for the free capacity of a node with the pod added: NodeResourcesFit (LeastAllocated or
/// MostAllocated) and NodeResourcesBalancedAllocation, both over cpu and memory, weight 1 each, in whole points. Every
/// step is computed and truncated as in kube-scheduler, so that ties and winners are the same. In NodeResourcesFit a
/// container without a request counts with 100m cpu and 200Mi memory (ScoredRequests).
class ResourceScores {
 public:
  static constexpr int kBest = 200;
  static constexpr std::uint8_t kNoCapacity = 255;  ///< not enough cpu or memory, or no capacity for another pod

  /// REQUIRES: the weights of fit and balance are 0 or 1.
  explicit ResourceScores(NodeScoring scoring, const SchedulerRules& rules = {}) : scoring_(scoring), rules_(rules) {}

  /// Returns 0 to kBest, or kNoCapacity, for one additional pod with the requests of `pod`.
  std::uint8_t score(const WhatIf& cluster, PodIndex pod, NodeIndex node) const;

 private:
  /// One resource of one node, in the scheduler's units (comparable()): allocatable, and requested and scored amounts
  /// before the pod arrives and with it.
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
