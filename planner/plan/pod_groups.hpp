#pragma once

/// Groups of pods in a plan (docs/concepts/pod-groups.md): all of a group are nominated, or none.

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

namespace planning {

/// The PodGroups of a snapshot, worked out when the first pod of one is asked for. Keeps a reference to it.
class PodGroups {
 public:
  struct Members {
    std::string name;
    std::vector<scheduling::PodIndex>
        pods;  ///< in the order in which they leave; terminal and terminating ones are out
  };

  explicit PodGroups(const scheduling::ClusterSnapshot& cluster);
  /// nullptr: the pod leaves alone. Valid as long as this object.
  const Members* of(scheduling::PodIndex pod);

 private:
  void find_all();

  const scheduling::ClusterSnapshot& cluster_;
  scheduling::CachedSelector labels_may_tell_;
  bool found_all_ = false;
  std::unordered_map<std::string, Members> pod_groups_;  ///< by "<namespace>/<name>"
  std::unordered_map<scheduling::PodIndex, const Members*> by_pod_;
};

/// Tries a PodGroup on copies of a plan's state, which are the plan's next state if all can leave.
class PodGroupWhatIf {
 public:
  struct Inputs {
    const scheduling::ClusterSnapshot& cluster;
    const api::InFlightLimits& in_flight;
    const scheduling::EvictabilityRules& evictability;
    const std::unordered_set<scheduling::NodeIndex>& nodes;  ///< the policy looks at
    bool spend_pdbs = true;
  };
  struct Move {
    scheduling::PodIndex pod;
    std::optional<scheduling::NodeIndex> to;
  };
  /// Why the PodGroup stays.
  struct Reason {
    std::string_view reason;  ///< static: GroupNotRunning, GroupMemberStays, GroupOverLimit, GroupDoesNotFit
    std::string message;
  };
  using KeepRule = std::function<std::optional<scheduling::Refusal>(scheduling::PodIndex)>;
  using GoalOf = std::function<strategies::Goal(scheduling::PodIndex)>;

  PodGroupWhatIf(Inputs inputs, const scheduling::WhatIf& what_if, const CycleLimits& limits,
                 const scheduling::PdbBudgets& budgets);

  /// Members that leave already are skipped. nullopt: the PodGroup stays, see refusal(). Call it once; `predictor` is
  /// the plan's own, as it stands; `goal_of` says where a member has to be placed; an empty goal: anywhere.
  std::optional<std::vector<Move>> run(const PodGroups::Members& pod_group, TargetPredictor predictor,
                                       const KeepRule& kept, const GoalOf& goal_of);
  const Reason& refusal() const { return refusal_; }
  /// Of a PodGroup with more than api::kMaxPodsOfPodGroup pods, which admission would never let begin.
  static Reason too_large(const PodGroups::Members& pod_group);

  CycleLimits limits;
  scheduling::PdbBudgets budgets;

 private:
  bool member_may_go(const PodGroups::Members& pod_group, scheduling::PodIndex pod, const KeepRule& kept);
  bool within_in_flight(const PodGroups::Members& pod_group, const std::vector<scheduling::PodIndex>& leaving);
  std::string why_nowhere(const std::string& pod, const Placement& placement) const;
  bool stays(std::string_view reason, const PodGroups::Members& pod_group, std::string why);

  const Inputs inputs_;
  scheduling::WhatIf what_if_;
  Reason refusal_;
};

}  // namespace planning
