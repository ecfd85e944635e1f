#pragma once

#include <cstdint>
#include <vector>

#include "scheduling/overlay.hpp"
#include "scheduling/scoring/score_weights.hpp"

namespace scheduling {

/// What the cluster's scheduler is taken to want: kube-scheduler's default profile, or that with packing.
enum class NodeScoring {
  kLeastAllocated,  ///< the emptier node is the better one; the default
  kMostAllocated,   ///< the fuller one is
};

/// kube-scheduler's scores for the free capacity on a node with the pod on it: NodeResourcesFit (LeastAllocated or
/// MostAllocated) and NodeResourcesBalancedAllocation, both over cpu and memory, weight 1 each, in whole points. A pod
/// that asks for no cpu or memory counts as 100m and 200Mi in the first one.
class ResourceScores {
 public:
  static constexpr int kBest = 200;
  static constexpr std::uint8_t kNoCapacity = 255;  ///< too little cpu or memory, or no place for one more pod

  /// REQUIRES: the weights of fit and balance are 0 or 1.
  ResourceScores(const ClusterSnapshot& cluster, NodeScoring scoring, const ScoreWeights& weights = kDefaultWeights);

  /// 0 to kBest, or kNoCapacity. REQUIRES: `cluster` is over the same snapshot; the pod is not counted on the node.
  std::uint8_t score(const Overlay& cluster, const RequestSet& requests, NodeIndex node) const;

 private:
  int points(std::int64_t free, std::int64_t all, double percent_per_unit) const;

  NodeScoring scoring_;
  int fit_weight_;
  int balance_weight_;
  std::vector<double> percent_per_cpu_;  ///< by node: 100 / allocatable
  std::vector<double> percent_per_memory_;
};

}  // namespace scheduling
