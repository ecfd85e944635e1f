#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "planner/scheduling/predicates.hpp"
#include "planner/scheduling/scoring/scheduler_rules.hpp"

namespace scheduling {

/// Number of pods per topology domain.
class DomainCounts {
 public:
  void reserve(std::size_t pods) { pods_.reserve(pods); }
  void add(std::uint32_t domain) { pods_.push_back(domain); }
  /// Prepares the counts for reading. `domains` is the number of domains. REQUIRES: called once, after the last add().
  void seal(std::size_t domains);
  std::int64_t at(std::uint32_t domain) const;
  std::int64_t least() const { return least_; }
  std::int64_t most() const { return most_; }

 private:
  std::vector<std::uint32_t> pods_;                             ///< before seal(): domain of each pod
  std::vector<std::pair<std::uint32_t, std::int64_t>> sparse_;  ///< after seal() if few pods: sorted by domain
  std::vector<std::int64_t> dense_;                             ///< after seal() otherwise: indexed by domain
  std::int64_t least_ = 0;
  std::int64_t most_ = 0;
};

/// Preferences of one pod other than free capacity, as scored by kube-scheduler's default profile with the weights and
/// arithmetic of SchedulerRules:
/// * TaintToleration: PreferNoSchedule taints.
/// * NodeAffinity: preferred terms.
/// * InterPodAffinity: the pod's own preferred terms, those of other pods that select it, and required affinity of
///   others.
/// * PodTopologySpread: ScheduleAnyway constraints. A pod of a ReplicaSet, StatefulSet or ReplicationController without
///   any constraint gets the built-in ones: over nodes with maxSkew 3 and zones with maxSkew 5.
///
/// ImageLocality is not scored. Siblings are determined by owner instead of by the selectors of owner and services.
/// Reads the WhatIf as it was at construction.
class Preferences {
 public:
  explicit Preferences(const FitQuery& query, const SchedulerRules& rules = {});
  /// Adds a preferred node term of weight api::kPlacementHintWeight for `hinted`.
  Preferences(const FitQuery& query, const SchedulerRules& rules, NodeIndex hinted);

  /// Returns the weighted sum for each candidate, 0 to 900 with the default weights. Sums depend on the set of
  /// candidates. REQUIRES: `candidates` contains all nodes that pass the filters.
  std::vector<int> scores(std::span<const NodeIndex> candidates) const;

  /// Returns true if no node can have a higher score, regardless of the candidates.
  bool is_best(NodeIndex node) const;
  /// Returns true if the node has a soft taint of this operator that the pod does not tolerate.
  bool avoids(NodeIndex node) const;
  /// Returns true if the pod tolerates a soft taint that some node has. Otherwise avoids() holds for all nodes with
  /// one.
  bool tolerates_some_soft_taint() const { return tolerates_some_; }
  /// Returns a lower bound of the points that the node loses against a candidate for which is_best() holds. Above
  /// kExactLossNodes nodes this is an estimate that assumes most nodes to be candidates.
  int min_loss(NodeIndex node) const;
  static constexpr std::size_t kExactLossNodes = 16;

  /// Maximum number of nodes up to which kube-scheduler scores all of them.
  static constexpr std::size_t kComparedNodes = 100;

 private:
  /// Sums of the weights of terms that select the pod, over one topology.
  struct AffinityScores {
    const Topology* topology;
    std::unordered_map<std::uint32_t, std::int64_t> weight;  ///< by domain
    std::int64_t best = 0;
    std::int64_t worst = 0;
  };
  struct Spread {
    const Topology* topology;
    bool over_nodes;
    std::int64_t max_skew;
    DomainCounts pods;
  };

  void find_taints();
  void add_soft_taints(const std::shared_ptr<const SoftTaintTable>& soft);
  void add_up_untolerated();
  void find_affinity_scores();
  void add_own_terms();
  void add_terms_of_others();
  AffinityScores* affinity_scores_over(std::string_view key);
  void find_spread();
  void spread_over(std::string_view key, std::int64_t max_skew, std::span<const NodeIndex> places);
  void find_default_spread();
  bool lacks_built_in_topology(NodeIndex node) const;

  std::int64_t untolerated_taints(NodeIndex node) const;
  std::int64_t node_preference(NodeIndex node) const;
  std::int64_t affinity_score(NodeIndex node) const;
  bool lacks_topology(NodeIndex node) const;
  std::vector<double> spread_weights(std::span<const NodeIndex> candidates) const;
  std::int64_t spread_score(NodeIndex node, std::span<const double> weights) const;
  std::int64_t affinity_loss(NodeIndex node) const;
  std::int64_t spread_loss(NodeIndex node) const;
  void add_spread(std::span<const NodeIndex> candidates, int weight, std::vector<int>& scores) const;

  const FitQuery& query_;
  const PreferenceIndex& index_;
  const SchedulerRules rules_;
  NodeIndex hinted_ = kNoNode;
  /// Number of untolerated taints per node, sorted by node.
  std::vector<std::pair<NodeIndex, std::int64_t>> untolerated_;
  std::shared_ptr<const SoftTaintTable>
      soft_table_;  ///< if not null, replaces untolerated_: no soft taint is tolerated
  std::int64_t most_untolerated_ = 0;
  bool tolerates_some_ = false;            ///< the pod tolerates some soft taint that nodes have
  std::int64_t most_node_preference_ = 0;  ///< sum of the weights of the pod's preferred node terms
  std::vector<AffinityScores> affinity_scores_;
  std::unordered_map<const Topology*, std::size_t> affinity_scores_at_;
  std::vector<Spread> spread_;
  bool needs_all_topologies_ = false;  ///< nodes without one of the labels get no score
};

/// Returns the candidates with the best sum of capacity and preference scores, any of which the scheduler may choose.
/// `capacity` contains one score per candidate (ResourceScores). REQUIRES: `candidates` contains all nodes that pass
/// the filters, as for Preferences::scores().
std::vector<NodeIndex> best_nodes(const Preferences& preferences, std::span<const NodeIndex> candidates,
                                  std::span<const int> capacity);

}  // namespace scheduling
