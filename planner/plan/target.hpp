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

namespace planner {

using scheduling::ClusterSnapshot;
using scheduling::NodeIndex;
using scheduling::PodIndex;
using scheduling::Refusal;
using scheduling::WhatIf;
using strategies::Goal;
using strategies::NominationResult;

/// Node on which the scheduler is expected to put a replacement.
struct Placement {
  std::optional<NodeIndex> node;  ///< nullopt if no node fits, or the scheduler's choice does not help
  /// Set if `node` is nullopt because the scheduler rates this node, which does not help, at least as high as any that
  /// helps.
  std::optional<NodeIndex> competing_node;
  bool fits_nowhere = false;  ///< no node passes the filters
  /// Set with competing_node: a node that helps and has the same rating, so that the scheduler's choice is random.
  std::optional<NodeIndex> tied{};
};

/// Predicts on which node the scheduler puts the replacement of a pod: among the nodes that pass every predicate, the
/// one with the best sum of free capacity (ResourceScores) and preferences (Preferences). Breaks ties by number of
/// pods, then by name.
///
/// Caches the capacity scores of all nodes per request set and updates only changed nodes, so that a query costs about
/// as much as the few nodes it examines. If more than Preferences::kComparedNodes nodes pass the filters, the scheduler
/// itself samples nodes; this class then examines those with the most free capacity. Memory: one byte per node and
/// request set, for at most kMaxRankings sets.
class TargetPredictor {
 public:
  TargetPredictor(const ClusterSnapshot& cluster, scheduling::NodeScoring scoring,
                  const scheduling::SchedulerRules& rules = {});

  /// With a `goal`, Placement::node is set only if `goal` accepts it and all nodes that the scheduler rates as high.
  /// Without a goal all nodes are acceptable. REQUIRES: all calls use the same WhatIf of the same snapshot (copy this
  /// object together with the WhatIf); the pod is on no node, unless OldPod::kStays.
  Placement predict(const WhatIf& cluster, PodIndex pod, const Goal& goal = {},
                    scheduling::OldPod old_pod = scheduling::OldPod::kGone);

  /// Predicts the node if the new pod has a placement hint. Among the nodes that `goal` accepts, takes the one that the
  /// scheduler rates highest, and returns it if the scheduler chooses it when it is hinted. Returns nullopt if the
  /// scheduler would still choose another node or choose randomly, or if more nodes pass the filters than the scheduler
  /// is certain to examine. REQUIRES: as for predict().
  std::optional<NodeIndex> predict_hinted(const WhatIf& cluster, PodIndex pod, const Goal& goal,
                                          scheduling::OldPod old_pod = scheduling::OldPod::kGone);

  /// Capacity scores of nodes.
  struct Scores {
    std::vector<std::uint8_t> of_node;  ///< ResourceScores::kNoCapacity if the pod does not fit
    std::array<std::uint32_t, scheduling::ResourceScores::kBest + 1> count{};  ///< number of nodes per score

    void reset(std::size_t nodes) { *this = {std::vector(nodes, scheduling::ResourceScores::kNoCapacity), {}}; }
    void set(NodeIndex node, std::uint8_t score);
  };
  /// Nodes ranked by free capacity for one request set.
  struct Ranking {
    Scores all;
    Scores open;                    ///< without nodes that have a soft taint; empty if no node has one
    std::size_t seen = 0;           ///< number of changes of the WhatIf already applied
    std::uint64_t soft_taints = 0;  ///< soft_taints_state_ for which it is valid
  };

 private:
  static constexpr std::size_t kMaxRankings = 1024;

  Ranking& ranking_of(const WhatIf& cluster, PodIndex pod);
  void rank(Ranking& ranking, const WhatIf& cluster, PodIndex pod, NodeIndex node) const;
  void update_soft_taints(const WhatIf& cluster);

  scheduling::SchedulerRules rules_;
  scheduling::ResourceScores scores_;
  std::vector<scheduling::SoftTaint> soft_taints_;       ///< soft taints at the last query
  std::uint64_t soft_taints_state_ = 0;                  ///< incremented when the soft taints change
  bool has_few_open_nodes_;                              ///< at most kComparedNodes nodes are schedulable by all pods
  std::unordered_map<std::uint32_t, Ranking> rankings_;  ///< by request set
};

/// Returns true if a controller creates a new pod when this one is deleted, and the scheduler can choose its node.
bool has_replacement(const ClusterSnapshot& cluster, PodIndex pod);

/// Returns true if the replacement is created, and can be placed, while the pod still terminates. False for a
/// StatefulSet, which waits for the pod's end, and for a volume that only one pod may use.
bool is_replaced_at_once(const ClusterSnapshot& cluster, PodIndex pod);

}  // namespace planner
