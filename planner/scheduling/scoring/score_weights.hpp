#pragma once

namespace scheduling {

/// Weight of each of kube-scheduler's scores, which are 0 to 100 points each. Defaults to the current default profile.
/// Other values serve older versions, or evaluate a profile with only some of the scores.
struct ScoreWeights {
  int fit = 1;      ///< NodeResourcesFit
  int balance = 1;  ///< NodeResourcesBalancedAllocation
  int taints = 3;   ///< TaintToleration
  int node_affinity = 2;
  int pod_affinity = 2;
  int spread = 2;  ///< PodTopologySpread
  friend bool operator==(const ScoreWeights&, const ScoreWeights&) = default;
};

}  // namespace scheduling
