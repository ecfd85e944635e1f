#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "planner/scheduling/scoring/preference_index.hpp"
#include "planner/scheduling/scoring/soft_taint_table.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"
#include "planner/snapshot/selector_cache.hpp"

namespace scheduling {

class FitQuery;
enum class FitLevel;

/// Partition of the nodes by their value of one label. Nodes without the label are in no domain.
struct Topology {
  static constexpr std::uint32_t kNone = 0xffffffff;
  std::vector<std::uint32_t> domain_of;        ///< indexed by node
  std::vector<std::string_view> domain_names;  ///< in the order in which they were first seen
  bool covers_all = true;                      ///< every node has the label
};

/// A snapshot with pods moved: a hypothetical cluster. Takes four bytes per pod plus the sums of the nodes. The
/// snapshot is shared and must outlive it. Even const methods are not thread-safe: topologies, label matches and
/// anti-affinity terms are cached and shared with copies.
class WhatIf {
 public:
  explicit WhatIf(const ClusterSnapshot& base);
  /// Returns a copy with an empty cache that shares no mutable state, so that another thread may use it.
  WhatIf detached() const;

  const ClusterSnapshot& base() const { return *base_; }
  /// Returns the pod's current node, or kNoNode if it is on none.
  NodeIndex node_of(PodIndex pod) const { return node_of_[pod]; }
  /// Returns true if move() was called for the pod, even if it has returned to its node.
  bool is_moved(PodIndex pod) const { return moved_[pod]; }
  /// Resources held by the active pods currently on each node, in thousandths.
  const NodeResources& used() const { return used_; }
  /// Free capacity of the node, in thousandths. Negative if the node is overcommitted.
  std::int64_t free(NodeIndex node, ResourceIndex resource) const {
    return saturating_subtract(base_->allocatable().get(node, resource), used_.get(node, resource));
  }
  /// Resources of used(), as the scheduler's scoring counts them.
  const ScoredSums& scored() const { return scored_; }
  /// Resources that the pod takes on the node: those it holds on its base node, its requests elsewhere.
  const RequestSet& requests_on(PodIndex pod, NodeIndex node) const {
    return node == base_->node_of(pod) ? base_->held(pod).amounts : base_->requests(pod);
  }

  /// Nodes whose sums changed, in the order of the changes, one entry per change. Entries are only appended.
  const std::vector<NodeIndex>& changes() const { return changes_; }

  /// Moves the pod to `to`. kNoNode only removes it from its node.
  void move(PodIndex pod, NodeIndex to);

  /// Reverts the pod to its node in the snapshot. It then counts as never moved.
  void restore(PodIndex pod);

  /// Sets the taint on exactly these nodes, replacing any taint of the same key and value in the snapshot. Affects the
  /// scheduler's scores only, not its filters.
  void set_soft_taint(SoftTaint taint);
  const std::vector<SoftTaint>& soft_taints() const { return soft_->all; }
  bool has_soft_taint(NodeIndex node) const { return soft_->bears[node]; }
  /// Current table. set_soft_taint() replaces it.
  const std::shared_ptr<const SoftTaintTable>& soft_taint_table() const { return soft_; }

  /// Partition of the nodes by the label `key`. Valid as long as this object.
  const Topology& topology(std::string_view key) const;

  /// Returns a query of where the pod could run. At kScheduler the last query is cached until another pod moves, so
  /// that filters, strategies and the plan share it.
  std::shared_ptr<const FitQuery> fit_query(PodIndex pod, FitLevel level) const;

  /// Matches of selectors with the snapshot's pods.
  SelectorCache& selector_cache() const;

  /// Index for Preferences. Built on first use.
  const PreferenceIndex& preference_index() const;

  /// Calls `each` with every pod currently on the node, including terminal pods, arrivals last.
  template <typename F>
  void for_each_on(NodeIndex node, F&& each) const {
    for (const PodIndex pod : base_->pods_on(node)) {
      if (node_of_[pod] == node) each(pod);
    }
    if (arrivals_.empty()) return;
    for (const PodIndex pod : arrivals_[node]) each(pod);
  }

 private:
  /// Cached facts about the snapshot. Copies of the WhatIf share it.
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
  /// Indexed by node: pods from other base nodes; empty if no pod was moved.
  std::vector<std::vector<PodIndex>> arrivals_;
  std::shared_ptr<const SoftTaintTable> soft_;  ///< never null
  std::shared_ptr<Cache> cache_;
  std::uint64_t state_ = 0;  ///< changes with each move; unique across this WhatIf and its copies
};

}  // namespace scheduling
