#pragma once

namespace scheduling {

/// How much each of kube-scheduler's scores counts, 0 to 100 points each: by default as in today's default profile.
/// Others are older ones', or for asking what a profile with some of the scores would do.
struct ScoreWeights {
  int fit = 1;      ///< NodeResourcesFit
  int balance = 1;  ///< NodeResourcesBalancedAllocation
  int taints = 3;   ///< TaintToleration
  int node_affinity = 2;
  int pod_affinity = 2;
  int spread = 2;  ///< PodTopologySpread
  friend bool operator==(const ScoreWeights&, const ScoreWeights&) = default;
};

inline constexpr ScoreWeights kDefaultWeights;

}  // namespace scheduling
