#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "planner/scheduling/scoring/preference_index.hpp"
#include "planner/scheduling/scoring/soft_taint_table.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"
#include "planner/snapshot/selector_cache.hpp"

namespace scheduling {

class FitQuery;
enum class FitLevel;

/// The nodes divided by their value of one label. Nodes without the label are in no domain.
struct Topology {
  static constexpr std::uint32_t kNone = 0xffffffff;
  std::vector<std::uint32_t> domain_of;        ///< by node
  std::vector<std::string_view> domain_names;  ///< in the order of first sight
  bool covers_all = true;                      ///< every node has the label
};

/// A snapshot with pods moved: what the cluster would look like. Costs four bytes per pod and the nodes' sums; the
/// snapshot itself is shared and must outlive it. Not thread-safe, reading included: it remembers topologies,
/// labels and anti-affinity terms, together with its copies.
class WhatIf {
 public:
  explicit WhatIf(const ClusterSnapshot& base);
  /// A copy that remembers nothing yet and shares nothing that changes, so that another thread may use it.
  WhatIf detached() const;

  const ClusterSnapshot& base() const { return *base_; }
  /// Where the pod is now; kNoNode: nowhere.
  NodeIndex node_of(PodIndex pod) const { return node_of_[pod]; }
  /// True once move() was called for it, even if it came back to its node.
  bool is_moved(PodIndex pod) const { return moved_[pod]; }
  /// Sum of what the active pods that are on each node now hold there.
  const NodeResources& used() const { return used_; }
  /// What is left of that on the node, in thousandths; negative: more is held there than it offers.
  std::int64_t free(NodeIndex node, ResourceIndex resource) const {
    return saturating_subtract(base_->allocatable().get(node, resource), used_.get(node, resource));
  }
  /// used(), as the scheduler's scores count.
  const ScoredSums& scored() const { return scored_; }
  /// What the pod counts for on the node: where it runs what it holds, elsewhere what it asks for.
  const RequestSet& requests_on(PodIndex pod, NodeIndex node) const {
    return node == base_->node_of(pod) ? base_->held(pod).amounts : base_->requests(pod);
  }

  /// The nodes whose sums changed, in the order of the changes, each as often as it changed. Only grows.
  const std::vector<NodeIndex>& changes() const { return changes_; }

  /// Puts the pod on `to` and takes it off where it was; kNoNode takes it off only.
  void move(PodIndex pod, NodeIndex to);

  /// Takes back what was done to the pod: it is where the snapshot has it, and counts as never moved.
  void restore(PodIndex pod);

  /// Puts the taint on these nodes and on no others, whatever they bear of the same key and value in the snapshot. No
  /// filter knows it; the scheduler's scores do.
  void set_soft_taint(SoftTaint taint);
  const std::vector<SoftTaint>& soft_taints() const { return soft_->all; }
  bool bears_soft_taint(NodeIndex node) const { return soft_->bears[node]; }
  /// As it is now; another one after set_soft_taint().
  const std::shared_ptr<const SoftTaintTable>& soft_taint_table() const { return soft_; }

  /// The nodes by their value of the label `key`. Valid as long as the overlay.
  const Topology& topology(std::string_view key) const;

  /// Where the pod could run. At kScheduler the last query is kept until another pod moves, so the
  /// filters, a strategy and the plan share it.
  std::shared_ptr<const FitQuery> fit_query(PodIndex pod, FitLevel level) const;

  /// What selectors say about the snapshot's pods.
  SelectorCache& selector_cache() const;

  /// Made when first asked for.
  const PreferenceIndex& preference_index() const;

  /// Calls `each` with every pod on the node now, arrivals last, terminal pods included.
  template <typename F>
  void for_each_on(NodeIndex node, F&& each) const {
    for (const PodIndex pod : base_->pods_on(node)) {
      if (node_of_[pod] == node) each(pod);
    }
    if (arrivals_.empty()) return;
    for (const PodIndex pod : arrivals_[node]) each(pod);
  }

 private:
  /// What was found out about the snapshot; copies of the overlay share it.
  struct Cache;

  const ScoredRequests& scored_on(PodIndex pod, NodeIndex node) const {
    return node == base_->node_of(pod) ? base_->held(pod).scored : base_->scored_requests(pod);
  }
  void leave(PodIndex pod, NodeIndex from);
  void arrive(PodIndex pod, NodeIndex to);

  const ClusterSnapshot* base_;
  std::vector<NodeIndex> node_of_;
  std::vector<bool> moved_;
  NodeResources used_;
  ScoredSums scored_;
  std::vector<NodeIndex> changes_;
  std::vector<std::vector<PodIndex>> arrivals_;  ///< by node: pods whose base node is another; empty: none anywhere
  std::shared_ptr<const SoftTaintTable> soft_;   ///< never null
  std::shared_ptr<Cache> cache_;
  std::uint64_t state_ = 0;  ///< another number after each move; no two states of an overlay and its copies share one
};

}  // namespace scheduling
