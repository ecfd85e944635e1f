#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "planner/scheduling/predicates.hpp"
#include "planner/scheduling/scoring/scheduler_rules.hpp"

namespace scheduling {

/// Pods counted by topology domain.
class DomainCounts {
 public:
  void reserve(std::size_t pods) { pods_.reserve(pods); }
  void add(std::uint32_t domain) { pods_.push_back(domain); }
  /// REQUIRES: called once, after the last add(); `domains` is how many there are.
  void seal(std::size_t domains);
  std::int64_t at(std::uint32_t domain) const;
  std::int64_t least() const { return least_; }
  std::int64_t most() const { return most_; }

 private:
  std::vector<std::uint32_t> pods_;                             ///< before seal(): their domains
  std::vector<std::pair<std::uint32_t, std::int64_t>> sparse_;  ///< after it: sorted, or
  std::vector<std::int64_t> dense_;                             ///< all domains
  std::int64_t least_ = 0;
  std::int64_t most_ = 0;
};

/// What one pod prefers beside free capacity, as the default profile of kube-scheduler scores it: TaintToleration
/// (PreferNoSchedule taints), preferred NodeAffinity, InterPodAffinity (the pod's own preferred terms, those of others
/// about it, and others' required affinity) and PodTopologySpread (its ScheduleAnyway constraints, or for a pod of a
/// ReplicaSet, StatefulSet or ReplicationController without any constraint the built-in ones: over nodes with maxSkew 3
/// and zones with maxSkew 5), with the weights and arithmetic of SchedulerRules. ImageLocality is left out, and pods
/// count as siblings by their owner, not by the selectors of owner and services. Sees the overlay as it was when it was
/// made.
class Preferences {
 public:
  explicit Preferences(const FitQuery& query, const SchedulerRules& rules = {});
  /// The same with one more preferred node term, of weight api::kPlacementHintWeight, for `hinted`.
  Preferences(const FitQuery& query, const SchedulerRules& rules, NodeIndex hinted);

  /// The weighted sum for each candidate, 0 to 900 with the default weights. It depends on who the others are, so
  /// REQUIRES: `candidates` are all nodes that pass the filters.
  std::vector<int> scores(std::span<const NodeIndex> candidates) const;

  /// No node can score more, whoever the candidates are.
  bool is_best(NodeIndex node) const;
  /// The node bears a soft taint of ours that the pod does not tolerate.
  bool avoids(NodeIndex node) const;
  /// Else it avoids all nodes with one.
  bool tolerates_some_soft_taint() const { return tolerates_some_; }
  /// So many points at least it scores less than a candidate that is_best(). Above kExactLossNodes nodes a guess that
  /// takes most nodes for candidates.
  int least_loss(NodeIndex node) const;
  static constexpr std::size_t kExactLossNodes = 16;

  /// Up to so many nodes kube-scheduler compares all of them.
  static constexpr std::size_t kComparedNodes = 100;

 private:
  /// Sums of the weights of terms that speak about the pod, over one topology.
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
  void weigh_others(const SelectorCache::TermOfOthers& terms);
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
  std::vector<std::pair<NodeIndex, std::int64_t>> untolerated_;  ///< sorted; by taints that the pod does not tolerate
  std::shared_ptr<const SoftTaintTable> only_soft_;              ///< then these count instead, all of them
  std::int64_t most_untolerated_ = 0;
  bool tolerates_some_ = false;            ///< of the soft taints that nodes bear
  std::int64_t most_node_preference_ = 0;  ///< sum of the weights of its preferred node terms
  std::vector<AffinityScores> affinity_scores_;
  std::unordered_map<const Topology*, std::size_t> affinity_scores_at_;
  std::vector<Spread> spread_;
  bool needs_all_topologies_ = false;  ///< nodes without one of the labels score nothing
};

/// The candidates that the scheduler would take, by free capacity and preferences together. `capacity` has one score
/// each (ResourceScores). All that share the best sum: the scheduler takes any of them. REQUIRES: as for
/// Preferences::scores().
std::vector<NodeIndex> best_nodes(const Preferences& preferences, std::span<const NodeIndex> candidates,
                                  std::span<const int> capacity);

}  // namespace scheduling
