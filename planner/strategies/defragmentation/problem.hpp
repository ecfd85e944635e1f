#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "planner/strategies/defragmentation/defragmentation.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Cost of moving pods for their owners. Among plans that free as many nodes with as many moves, the one with the
/// lowest cost is made.
struct Disturbance {
  std::int64_t reluctant = 0;  ///< number of pods with api::well_known::kPreferNoEviction
  std::int64_t priority = 0;   ///< sum of the pods' priorities
  std::int64_t grace = 0;      ///< sum of grace periods in seconds

  Disturbance& operator+=(const Disturbance& other) {
    reluctant += other.reluctant;
    priority += other.priority;
    grace += other.grace;
    return *this;
  }
  friend auto operator<=>(const Disturbance&, const Disturbance&) = default;
};

/// A node that can be emptied as far as its own pods are concerned.
struct FreeableNode {
  NodeIndex node;
  std::uint32_t rank = 0;  ///< see Defragmentation::empty_first; lowest first
  double load = 0;         ///< sum of the sizes of its pods
  double effort = 0;       ///< approximate number of moves to empty it
  Disturbance disturbance{};
};

/// A node that must stay in use, and the pod that may not leave it.
struct HeldNode {
  NodeIndex node;
  PodIndex pod;
  Refusal refusal;
};

/// Input of a defragmentation: which pods may move, which nodes they could empty, and which nodes take pods. Keeps
/// references to all constructor arguments. Not thread-safe.
class DefragmentationProblem {
 public:
  DefragmentationProblem(const StrategyContext& context, NominationSink& sink, const Defragmentation& rules);
  /// Creates a copy on its own WhatIf (WhatIf::detached()) for another thread. REQUIRES: judge_all() was called on
  /// `of`.
  DefragmentationProblem(const DefragmentationProblem& of, const WhatIf& cluster) : DefragmentationProblem(of) {
    cluster_ = &cluster;
  }

  const ClusterSnapshot& base() const { return cluster_->base(); }
  const WhatIf& cluster() const { return *cluster_; }
  const Defragmentation& rules() const { return rules_; }

  // --- Pods
  /// Returns why the pod may not leave its node in this cycle, or nullopt if it may, provided that it fits another
  /// node.
  const std::optional<Refusal>& objection_to(PodIndex pod) const;
  bool may_move(PodIndex pod) const { return !objection_to(pod); }
  /// Computes objection_to() for all pods on nodes in scope, so that later calls only read.
  void judge_all() const;
  const Disturbance& disturbance(PodIndex pod) const { return (*disturbances_)[pod]; }
  /// Returns true if the pod runs on a node in scope and does not go with it.
  bool has_to_stay_somewhere(PodIndex pod) const;
  /// The pod's largest share of an average node, which is the cost of placing it.
  double size(PodIndex pod) const { return sizes_[base().request_set_of(pod)]; }
  /// Size of a pod with these requests, in thousandths.
  double size_of(std::int64_t cpu, std::int64_t memory) const {
    return std::max(cpu_share(static_cast<double>(cpu)), memory_share(static_cast<double>(memory)));
  }
  /// Share of an average node.
  double cpu_share(double milli) const { return milli / average_cpu_; }
  double memory_share(double milli) const { return milli / average_memory_; }
  /// Returns true if some pods request much more cpu per byte than others.
  bool has_unlike_pods() const { return has_unlike_pods_; }
  /// 10th percentile of size() over pods on in-scope nodes.
  double small_size() const { return small_size_; }
  bool has_pods_without_node() const { return !base().unscheduled_pods().empty(); }
  /// Maximum number of pods of its owner that may move in one plan.
  std::size_t max_of_workload(PodIndex pod) const;

  // --- Nodes
  /// Nodes in scope.
  std::span<const NodeIndex> nodes() const { return context_.nodes; }
  /// Pods on an in-scope node that do not go with it, largest first.
  const std::vector<PodIndex>& pods_on(NodeIndex node) const { return pods_[node]; }
  /// Returns true if a pod on the node may not leave, or the rules exclude the node from emptying.
  bool is_held(NodeIndex node) const { return is_held_[node]; }
  std::size_t held_nodes() const { return held_nodes_; }
  const std::vector<HeldNode>& held() const { return held_; }
  /// Sorted by node. Includes nodes that are already empty.
  const std::vector<FreeableNode>& freeable() const { return freeable_; }
  /// Returns true if the node is in scope and accepts pods.
  bool takes(NodeIndex node) const { return may_take_pods_[node]; }
  const std::vector<NodeIndex>& taking() const { return taking_; }
  /// Amount of the resource, in thousandths, that arriving pods must leave free.
  std::int64_t headroom(NodeIndex node, ResourceIndex resource) const;

 private:
  bool is_node_bound(PodIndex pod) const;
  DefragmentationProblem(const DefragmentationProblem&) = default;
  void find_taking();
  void find_disturbances();
  void find_sizes();
  void find_small_size();
  void find_unlike_pods();
  void add_node(NodeIndex node);
  void rank_nodes();
  std::optional<Refusal> find_objection(PodIndex pod) const;

  const StrategyContext& context_;
  const WhatIf* cluster_;
  NominationSink& sink_;
  const Defragmentation& rules_;
  std::shared_ptr<const std::vector<Disturbance>> disturbances_;  ///< indexed by pod
  std::vector<double> sizes_;                                     ///< by request set
  double small_size_ = 0;
  bool has_unlike_pods_ = false;
  double average_cpu_ = 1;  ///< over nodes that take pods
  double average_memory_ = 1;
  std::vector<bool> is_in_scope_;
  std::vector<bool> is_held_;
  std::size_t held_nodes_ = 0;
  std::vector<std::vector<PodIndex>> pods_;  ///< indexed by node
  std::vector<FreeableNode> freeable_;
  std::vector<HeldNode> held_;
  std::vector<bool> may_take_pods_;
  std::vector<NodeIndex> taking_;
  std::vector<std::pair<ResourceIndex, double>> headroom_;  ///< shares of a node
  mutable std::vector<std::uint32_t> known_;  ///< indexed by pod: 0 if unknown, otherwise 1 + position in objections_
  mutable std::vector<std::optional<Refusal>> objections_;
};

/// Number of pods per owner that moves disrupt.
class WorkloadCounts {
 public:
  explicit WorkloadCounts(const DefragmentationProblem& problem);
  /// Returns true if one more pod of its owner may move.
  bool allows(PodIndex pod) const;
  void add(PodIndex pod, int by);

 private:
  const DefragmentationProblem& problem_;
  std::vector<std::uint32_t> moved_;  ///< by owner; empty if there is no limit
};

}  // namespace strategies
