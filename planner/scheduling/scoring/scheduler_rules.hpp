#pragma once

/// What of kube-scheduler's choice changed from version to version. Pure.

#include <optional>
#include <span>
#include <string_view>

#include "planner/scheduling/scoring/score_weights.hpp"

namespace scheduling {

/// NodeResourcesBalancedAllocation, from the shares of cpu and memory that are requested, each at most 1. Whole points:
/// each formula, and s, is cut off.
enum class BalanceFormula {
  /// 100 × (1 − |cpu − memory|), with what pods without requests are supposed to ask for; 0 when a share is 1.
  kDifference,
  /// s = 100 × (1 − |cpu − memory| / 2), with what pods ask for.
  kDeviation,
  /// 50 + (50 + s with the pod − s without it) / 2, from the two values of s in whole points.
  kImprovement,
};

/// How one version chooses. By default as the newest that we know.
struct SchedulerRules {
  BalanceFormula balance = BalanceFormula::kImprovement;
  bool balance_skips_pods_without_requests = true;  ///< of cpu and memory: they get no points for it anywhere
  /// InterPodAffinity spreads its points from 0 on, also where no candidate has 0; else from the least on.
  bool affinity_counts_from_zero = false;
  bool spread_cuts_off = false;  ///< PodTopologySpread: fractions of its sums; else they are rounded
  /// The built-in spread leaves out nodes that lack the label of the host or of the zone; else they are zones.
  bool built_in_spread_needs_labels = false;
  ScoreWeights weights{};  ///< of its default profile
  friend bool operator==(const SchedulerRules&, const SchedulerRules&) = default;
};

/// One change of the rules.
struct SchedulerChange {
  int since;                ///< Kubernetes 1.`since`: the first minor version whose newest release has it
  std::string_view change;  ///< the pull request of kubernetes/kubernetes that brought it
  void (*apply)(SchedulerRules& rules);
};
/// In order, from api::kOldestSchedulerMinor to api::kNewestSchedulerMinor.
std::span<const SchedulerChange> scheduler_changes();

/// Of Kubernetes 1.`minor`; outside of what is known those of the nearest version.
SchedulerRules scheduler_rules(int minor);

/// The minor version in "v1.32.1-gke.7", or in "1.32"; nullopt: it is none of Kubernetes 1.
std::optional<int> minor_version(std::string_view version);

}  // namespace scheduling
