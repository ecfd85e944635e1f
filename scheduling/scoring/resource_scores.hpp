#pragma once

#include <cstdint>
#include <vector>

#include "scheduling/overlay.hpp"
#include "scheduling/scoring/scheduler_rules.hpp"

namespace scheduling {

/// What the cluster's scheduler is taken to want: kube-scheduler's default profile, or that with packing.
enum class NodeScoring {
  kLeastAllocated,  ///< the emptier node is the better one; the default
  kMostAllocated,   ///< the fuller one is
};

/// kube-scheduler's scores for the free capacity on a node with the pod on it: NodeResourcesFit (LeastAllocated or
/// MostAllocated) and NodeResourcesBalancedAllocation, both over cpu and memory, weight 1 each, in whole points. In the
/// first one every container counts with at least 100m and 200Mi unless it says how much it wants (ScoredRequests).
class ResourceScores {
 public:
  static constexpr int kBest = 200;
  static constexpr std::uint8_t kNoCapacity = 255;  ///< too little cpu or memory, or no place for one more pod

  /// REQUIRES: the weights of fit and balance are 0 or 1.
  ResourceScores(const ClusterSnapshot& cluster, NodeScoring scoring, const SchedulerRules& rules = {});

  /// 0 to kBest, or kNoCapacity, for one more pod that asks for as much as `pod`. REQUIRES: `cluster` is over the same
  /// snapshot.
  std::uint8_t score(const Overlay& cluster, PodIndex pod, NodeIndex node) const;

 private:
  /// Of one node and resource: what there is, and what was asked for and scored before the pod and with it.
  struct Amounts {
    std::int64_t all;
    std::int64_t used, used_with;
    std::int64_t scored_with;
    double percent_per_unit;
  };
  Amounts amounts(const Overlay& cluster, PodIndex pod, NodeIndex node, ResourceIndex resource) const;
  int fit_points(const Amounts& amounts) const;
  int balance_points(const Amounts& cpu, const Amounts& memory) const;

  NodeScoring scoring_;
  SchedulerRules rules_;
  std::vector<double> percent_per_cpu_;  ///< by node: 100 / allocatable
  std::vector<double> percent_per_memory_;
};

}  // namespace scheduling
