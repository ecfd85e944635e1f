#pragma once

/// Differences between versions of kube-scheduler's scoring. Pure functions.

#include <optional>
#include <span>
#include <string_view>

namespace scheduling {

/// Formula of NodeResourcesBalancedAllocation over the requested shares of cpu and memory, each at most 1. Results and
/// s are truncated to whole points.
enum class BalanceFormula {
  /// 100 × (1 − |cpu − memory|), with assumed requests for pods without any; 0 if a share is 1.
  kDifference,
  /// s = 100 × (1 − |cpu − memory| / 2), with actual requests.
  kDeviation,
  /// 50 + (50 + s with the pod − s without it) / 2, from the two values of s in whole points.
  kImprovement,
};

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

/// Scoring rules of one kube-scheduler version. Defaults to the newest known version.
struct SchedulerRules {
  BalanceFormula balance = BalanceFormula::kImprovement;
  /// A pod without cpu and memory requests gets no balance points on any node.
  bool balance_skips_pods_without_requests = true;
  /// InterPodAffinity normalizes scores from 0 even if no candidate scores 0; otherwise from the minimum score.
  bool affinity_counts_from_zero = false;
  bool spread_cuts_off = false;  ///< PodTopologySpread truncates its sums; otherwise it rounds them
  /// The built-in spread excludes nodes without the hostname or zone label; otherwise such nodes count as zones.
  bool built_in_spread_needs_labels = false;
  ScoreWeights weights{};  ///< weights of the default profile
  friend bool operator==(const SchedulerRules&, const SchedulerRules&) = default;
};

struct SchedulerChange {
  int since;                ///< first minor version, Kubernetes 1.`since`, whose newest release has the change
  std::string_view change;  ///< pull request of kubernetes/kubernetes that introduced it
  void (*apply)(SchedulerRules& rules);
};
/// Changes in order of version, from api::kOldestSchedulerMinor to api::kNewestSchedulerMinor.
std::span<const SchedulerChange> scheduler_changes();

/// Rules of Kubernetes 1.`minor`. For unknown versions, returns those of the nearest known version.
SchedulerRules scheduler_rules(int minor);

/// Returns the minor version of strings such as "v1.32.1-gke.7" or "1.32", or nullopt if it is not a version of
/// Kubernetes 1.
std::optional<int> minor_version(std::string_view version);

}  // namespace scheduling
