#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "planner/strategies/defragmentation/rules.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// What moving pods costs those who own them. Of two plans that free as much with as many moves the lesser one is made.
struct Disturbance {
  std::int64_t reluctant = 0;  ///< pods that would rather not be evicted (api::well_known::kPreferNoEviction)
  std::int64_t priority = 0;   ///< sum of the pods' priorities
  std::int64_t grace = 0;      ///< sum of their grace periods, in seconds

  Disturbance& operator+=(const Disturbance& other) {
    reluctant += other.reluctant;
    priority += other.priority;
    grace += other.grace;
    return *this;
  }
  friend auto operator<=>(const Disturbance&, const Disturbance&) = default;
};

/// A node that can be emptied as far as its pods go.
struct FreeableNode {
  NodeIndex node;
  std::uint32_t rank = 0;  ///< DefragmentationRules::empty_first; the lowest goes first
  double load = 0;         ///< sum of the sizes of its pods
  double effort = 0;       ///< how many moves emptying it takes, about
  Disturbance disturbance{};
};

/// A node that stays, and the pod of it that may not leave.
struct HeldNode {
  NodeIndex node;
  PodIndex pod;
  scheduling::Refusal refusal;
};

/// What a defragmentation has to work with: which pods may move, which nodes they could empty, which nodes take them.
/// Keeps references to what it is made of. One thread.
class DefragmentationProblem {
 public:
  DefragmentationProblem(const StrategyContext& context, NominationSink& sink, const DefragmentationRules& rules);
  /// The same with a cluster of its own (WhatIf::detached()), for another thread. REQUIRES: judge_all().
  DefragmentationProblem(const DefragmentationProblem& of, const scheduling::WhatIf& cluster)
      : DefragmentationProblem(of) {
    cluster_ = &cluster;
  }

  const scheduling::ClusterSnapshot& base() const { return cluster_->base(); }
  const scheduling::WhatIf& cluster() const { return *cluster_; }
  const DefragmentationRules& rules() const { return rules_; }

  // --- pods
  /// nullopt: the pod may leave its node in this cycle, if it has a place to go to.
  const std::optional<scheduling::Refusal>& objection_to(PodIndex pod) const;
  bool may_move(PodIndex pod) const { return !objection_to(pod); }
  /// Asks that of all pods on nodes that are looked at, so that nobody need be asked any more.
  void judge_all() const;
  const Disturbance& disturbance(PodIndex pod) const { return (*disturbances_)[pod]; }
  /// Runs on a node that is looked at, and does not go with it.
  bool has_to_stay_somewhere(PodIndex pod) const;
  /// The pod's largest share of an average node: what it costs to place.
  double size(PodIndex pod) const { return sizes_[base().request_set_of(pod)]; }
  /// Of a pod that asks for these, in thousandths.
  double size_of(std::int64_t cpu, std::int64_t memory) const {
    return std::max(cpu_share(static_cast<double>(cpu)), memory_share(static_cast<double>(memory)));
  }
  /// Of an average node.
  double cpu_share(double milli) const { return milli / average_cpu_; }
  double memory_share(double milli) const { return milli / average_memory_; }
  /// Some ask for much more cpu for each byte than others.
  bool has_unlike_pods() const { return has_unlike_pods_; }
  /// Of those on nodes that are looked at a tenth is smaller.
  double small_size() const { return small_size_; }
  /// Some pod waits for a node.
  bool has_pods_without_node() const { return !base().unscheduled_pods().empty(); }
  /// So many pods of its owner may move in one plan.
  std::size_t most_of_workload(PodIndex pod) const;

  // --- nodes
  /// Those looked at.
  std::span<const NodeIndex> nodes() const { return context_.nodes; }
  /// The pods on a node that is looked at which do not go with it, the largest first.
  const std::vector<PodIndex>& pods_on(NodeIndex node) const { return pods_[node]; }
  /// Some pod runs on it that may not leave, or that nobody wants to leave.
  bool is_held(NodeIndex node) const { return is_held_[node]; }
  std::size_t held_nodes() const { return held_nodes_; }
  const std::vector<HeldNode>& held() const { return held_; }
  /// Sorted by node; those that are empty already among them.
  const std::vector<FreeableNode>& freeable() const { return freeable_; }
  /// Looked at and open to pods.
  bool takes(NodeIndex node) const { return takes_[node]; }
  const std::vector<NodeIndex>& taking() const { return taking_; }
  /// So much of the resource, in thousandths, is not to be used by pods that arrive.
  std::int64_t headroom(NodeIndex node, scheduling::ResourceIndex resource) const;

 private:
  bool goes_with_node(PodIndex pod) const;
  DefragmentationProblem(const DefragmentationProblem&) = default;
  void find_taking();
  void find_disturbances();
  void find_sizes();
  void find_small_size();
  void find_unlike_pods();
  void add_node(NodeIndex node);
  void rank_nodes();
  std::optional<scheduling::Refusal> find_objection(PodIndex pod) const;

  const StrategyContext& context_;
  const scheduling::WhatIf* cluster_;
  NominationSink& sink_;
  const DefragmentationRules& rules_;
  std::shared_ptr<const std::vector<Disturbance>> disturbances_;  ///< by pod
  std::vector<double> sizes_;                                     ///< by set of requests
  double small_size_ = 0;
  bool has_unlike_pods_ = false;
  double average_cpu_ = 1;  ///< of the nodes that take pods
  double average_memory_ = 1;
  std::vector<bool> is_in_scope_;
  std::vector<bool> is_held_;
  std::size_t held_nodes_ = 0;
  std::vector<std::vector<PodIndex>> pods_;  ///< by node
  std::vector<FreeableNode> freeable_;
  std::vector<HeldNode> held_;
  std::vector<bool> takes_;
  std::vector<NodeIndex> taking_;
  std::vector<std::pair<scheduling::ResourceIndex, double>> headroom_;  ///< shares of a node
  mutable std::vector<std::uint32_t> known_;  ///< by pod: 0 not asked yet, else 1 + position in objections_
  mutable std::vector<std::optional<scheduling::Refusal>> objections_;
};

/// How many pods of each owner moves disrupt.
class WorkloadCounts {
 public:
  explicit WorkloadCounts(const DefragmentationProblem& problem);
  /// One more pod of its owner may move.
  bool allows(PodIndex pod) const;
  void add(PodIndex pod, int by);

 private:
  const DefragmentationProblem& problem_;
  std::vector<std::uint32_t> moved_;  ///< by owner; empty: there is no limit
};

}  // namespace strategies
