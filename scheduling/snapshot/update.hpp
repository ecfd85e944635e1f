#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "scheduling/snapshot/cluster_snapshot.hpp"
#include "scheduling/snapshot/index_update.hpp"

namespace scheduling {

/// A batch of pods on its way into a snapshot. A pod that keeps its place is renewed at once; the others are noted, and
/// finish() inserts them and works out again what depends on them.
class ClusterSnapshot::Update {
 public:
  explicit Update(ClusterSnapshot& cluster) : cluster_(cluster) {}

  /// Each in order; all that leave before the first that is taken.
  void remove(const api::Pod& pod);
  void take(const std::shared_ptr<const api::Pod>& pod);
  /// The lists of namespaces or budgets have other names.
  void namespaces_are_due() { namespaces_due_ = true; }
  void problems_are_due() { problems_due_ = true; }
  void finish();

 private:
  static constexpr std::uint32_t kUngrouped = 0xffffffff;
  struct NewPod {
    std::shared_ptr<const api::Pod> object;
    NodeIndex node;
    std::uint32_t position;   ///< in by_name_: before the pod that stands there
    PodIndex index = kNoPod;  ///< once it has a place
  };
  struct NamePosition {
    std::uint32_t position;  ///< in by_name_
    bool is_known;           ///< the pod stands there; otherwise it belongs before it
  };

  // One pod.
  NamePosition place_of(const api::ObjectMeta& meta) const;
  void renew(PodIndex pod, std::shared_ptr<const api::Pod> object);
  std::shared_ptr<const api::Pod> admit(const std::shared_ptr<const api::Pod>& pod, NodeIndex node);
  void forget_problems_of(const std::shared_ptr<const api::Pod>& pod);
  static bool is_lost(const api::Pod& pod, NodeIndex node);
  static bool is_staying(const PodEntry& entry) { return !entry.terminal && !entry.terminating; }
  void describe(PodEntry& entry);
  std::uint32_t intern_asked();
  std::uint32_t intern_owner(const std::string& uid);
  void enlist_with_owners(PodEntry& entry);
  void strike_from_owners(const PodEntry& entry);
  void touch(const PodEntry& entry);

  // All that come and go.
  void index_update();
  std::vector<PodIndex> withdraw();
  std::vector<std::uint32_t> arrivals_by_node() const;
  std::vector<PodIndex> places_in_nodes(const std::vector<std::uint32_t>& by_node) const;
  void shift_nodes(const std::vector<PodIndex>& leaving, const std::vector<std::uint32_t>& by_node);
  void renumber(const IndexUpdate& pods);
  void settle(NewPod& arrival, PodIndex at);
  std::size_t slot_of(NodeIndex node) const { return std::min<std::size_t>(node, cluster_.nodes_.size()); }

  // What is derived from them.
  void order_namespaces();
  void sort_namespaces();
  void form_groups();
  void copy_groups(const NamespaceEntry& ns, std::span<const LabelGroup> groups, std::span<const LabelStorage> labels);
  std::vector<LabelStorage> assign_groups(std::span<const NewPod> arrivals, std::span<const LabelStorage> known);
  void rank(const NamespaceEntry& ns, const std::vector<LabelStorage>& labels);
  void derive_namespaces();
  void derive_affinity();
  void add_anti_affine(AntiAffineGroup kind);
  void sum_up(NodeIndex node);
  void tell_problems();

  ClusterSnapshot& cluster_;
  std::vector<std::uint32_t> leaving_;  ///< positions in by_name_
  std::size_t removed_ = 0;             ///< those of remove(), at the front of leaving_
  std::vector<NewPod> arriving_;        ///< by name
  std::vector<NodeIndex> nodes_;        ///< whose sums may have changed
  PodRequests asked_;                   ///< of the pod that was described last, for its storage
  bool namespaces_due_ = false;         ///< and what speaks about them: affinity
  bool problems_due_ = false;
};

}  // namespace scheduling
