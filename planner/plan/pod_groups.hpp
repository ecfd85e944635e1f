#pragma once

/// PodGroups in a plan (docs/concepts/pod-groups.md): all pods of a group are nominated, or none.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "planner/plan/cycle_limits.hpp"
#include "planner/plan/target.hpp"
#include "planner/scheduling/evictability_rules.hpp"
#include "planner/scheduling/pdb_budget.hpp"
#include "planner/scheduling/what_if.hpp"
#include "planner/snapshot/cached_selector.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"

namespace planner {

/// PodGroups of a snapshot, computed on first use. Keeps a reference to the snapshot.
class PodGroups {
 public:
  struct Members {
    std::string name;
    /// Pods in the order in which they leave, without terminal and terminating ones.
    std::vector<PodIndex> pods;
  };

  explicit PodGroups(const ClusterSnapshot& cluster);
  /// Returns the group of the pod, or nullptr if it leaves alone. Valid as long as this object.
  const Members* of(PodIndex pod);

 private:
  void find_all();

  const ClusterSnapshot& cluster_;
  scheduling::CachedSelector labels_may_name_pod_group_;
  bool found_all_ = false;
  std::unordered_map<std::string, Members> pod_groups_;  ///< by "<namespace>/<name>"
  std::unordered_map<PodIndex, const Members*> by_pod_;
};

/// Tries to move a PodGroup on copies of a plan's state. The copies become the plan's next state if all pods can leave.
class PodGroupWhatIf {
 public:
  struct Inputs {
    const ClusterSnapshot& cluster;
    const api::InFlightLimits& in_flight;
    const scheduling::EvictabilityRules& evictability;
    const std::unordered_set<NodeIndex>& nodes;  ///< nodes in scope
    bool spend_pdbs = true;
  };
  struct Move {
    PodIndex pod;
    std::optional<NodeIndex> to;
  };
  /// Why the PodGroup stays.
  struct Reason {
    std::string_view reason;  ///< static text: GroupNotRunning, GroupMemberStays, GroupOverLimit, GroupDoesNotFit
    std::string message;
  };
  using KeepRule = std::function<std::optional<Refusal>(PodIndex)>;
  using GoalOf = std::function<Goal(PodIndex)>;

  PodGroupWhatIf(Inputs inputs, const WhatIf& what_if, const CycleLimits& limits,
                 const scheduling::PdbBudgets& budgets);

  /// Returns the moves of the group, or nullopt if the group stays (see refusal()). Skips members that are already
  /// leaving. Call at most once. `predictor` is a copy of the plan's own; `goal_of` returns the goal of a member, empty
  /// if any node is acceptable.
  std::optional<std::vector<Move>> run(const PodGroups::Members& pod_group, TargetPredictor predictor,
                                       const KeepRule& kept, const GoalOf& goal_of);
  const Reason& refusal() const { return refusal_; }
  /// Reason for a PodGroup with more than api::kMaxPodsOfPodGroup pods, which admission would never start.
  static Reason too_large(const PodGroups::Members& pod_group);

  CycleLimits limits;
  scheduling::PdbBudgets budgets;

 private:
  bool member_may_go(const PodGroups::Members& pod_group, PodIndex pod, const KeepRule& kept);
  bool within_in_flight(const PodGroups::Members& pod_group, const std::vector<PodIndex>& leaving);
  std::string why_nowhere(const std::string& pod, const Placement& placement) const;
  bool refuse(std::string_view reason, const PodGroups::Members& pod_group, std::string why);

  const Inputs inputs_;
  WhatIf what_if_;
  Reason refusal_;
};

}  // namespace planner
