#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "planner/scheduling/predicates.hpp"
#include "planner/scheduling/scoring/resource_scores.hpp"
#include "planner/scheduling/what_if.hpp"
#include "planner/strategies/strategy.hpp"

namespace planning {

/// Where the scheduler would put a replacement.
struct Placement {
  std::optional<scheduling::NodeIndex> node;  ///< nullopt: nowhere, or not where it helps
  /// With no node: one that the scheduler likes at least as well as any that helps, and that does not help.
  std::optional<scheduling::NodeIndex> competing_node;
  bool fits_nowhere = false;  ///< no node passes the filters
  /// With a competing node: one that helps and that the scheduler likes as well, so that chance decides.
  std::optional<scheduling::NodeIndex> tied{};
};

/// Predicts where the scheduler puts the replacement of a pod: of the nodes that pass every predicate, the one with
/// the best sum of free capacity (ResourceScores) and preferences (Preferences); ties by the number of pods, then by
/// name. Keeps the nodes' free capacity scores for each set of requests and looks again only at nodes that changed, so
/// asking costs about as much as the nodes that are tried, mostly few. Where more than Preferences::kComparedNodes
/// nodes pass the filters the scheduler itself looks only at some of them; so does this, at those with the best free
/// capacity. Scores: one byte for each node and set of requests, at most kMaxRankings sets.
class TargetPredictor {
 public:
  TargetPredictor(const scheduling::ClusterSnapshot& cluster, scheduling::NodeScoring scoring,
                  const scheduling::SchedulerRules& rules = {});

  /// With a `goal` the node is one that it accepts, and so are all that the scheduler likes as well; without, all nodes
  /// will do. REQUIRES: `cluster` is over the same snapshot, and always the same one (a copy of this object goes with a
  /// copy of the overlay); the pod is on no node, unless it stays.
  Placement predict(const scheduling::WhatIf& cluster, scheduling::PodIndex pod, const strategies::Goal& goal = {},
                    scheduling::OldPod old_pod = scheduling::OldPod::kGone);

  /// Where the replacement goes when its new pod prefers one node by name (a placement hint): of the nodes that `goal`
  /// accepts the one that the scheduler likes best by itself, if it then takes that one. nullopt: it would still take
  /// another, chance decides, or more nodes pass the filters than the scheduler is sure to look at. REQUIRES: as
  /// predict().
  std::optional<scheduling::NodeIndex> predict_hinted(const scheduling::WhatIf& cluster, scheduling::PodIndex pod,
                                                      const strategies::Goal& goal,
                                                      scheduling::OldPod old_pod = scheduling::OldPod::kGone);

  /// The nodes by their free capacity for one set of requests.
  struct Ranking {
    using Counts = std::array<std::uint32_t, scheduling::ResourceScores::kBest + 1>;
    std::vector<std::uint8_t> score;  ///< by node; ResourceScores::kNoCapacity: too small
    Counts with_score;                ///< how many nodes
    std::vector<std::uint8_t> open;   ///< the same without those that bear a soft taint; empty: none does
    Counts with_open;
    std::size_t seen = 0;           ///< how many of the overlay's changes it knows
    std::uint64_t soft_taints = 0;  ///< of which state of the soft taints
  };

 private:
  static constexpr std::size_t kMaxRankings = 1024;

  Ranking& ranking_of(const scheduling::WhatIf& cluster, scheduling::PodIndex pod);
  void rank(Ranking& ranking, const scheduling::WhatIf& cluster, scheduling::PodIndex pod,
            scheduling::NodeIndex node) const;
  void look_at_soft_taints(const scheduling::WhatIf& cluster);

  scheduling::SchedulerRules rules_;
  scheduling::ResourceScores scores_;
  std::vector<scheduling::SoftTaint> soft_taints_;       ///< as they were last
  std::uint64_t soft_taints_state_ = 0;                  ///< how often they changed
  bool has_few_open_nodes_;                              ///< that take any pod
  std::unordered_map<std::uint32_t, Ranking> rankings_;  ///< by set of requests
};

/// True if somebody makes a new pod when this one goes, and the scheduler is free to choose its node.
bool has_replacement(const scheduling::ClusterSnapshot& cluster, scheduling::PodIndex pod);

/// True if the replacement is made, and can be placed, while the pod still terminates. A StatefulSet waits for its end,
/// and so does a volume that only one pod may have.
bool is_replaced_at_once(const scheduling::ClusterSnapshot& cluster, scheduling::PodIndex pod);

}  // namespace planning
