#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "planner/snapshot/cluster_snapshot.hpp"

namespace scheduling {

/// Applies a batch of pod changes to a snapshot. Indexes of a single pod are updated immediately; finish() recomputes
/// what many pods share.
class ClusterSnapshot::Update {
 public:
  explicit Update(ClusterSnapshot& cluster) : cluster_(cluster) {}

  using Pods = SnapshotInput::List<api::Pod>;
  static bool is_rebuild_cheaper(std::size_t changes, std::size_t pods);

  void remove(const api::ObjectMeta& pod);
  void take(const std::shared_ptr<const api::Pod>& pod);
  /// Applies all changes by rebuilding everything about pods, which leaves no pod number unused. Both lists must be
  /// sorted.
  void rebuild(const Pods& gone, const Pods& now);
  /// Call when the lists of namespaces or PodDisruptionBudgets contain other names.
  void namespaces_are_due() { namespaces_due_ = true; }
  void problems_are_due() { problems_due_ = true; }
  void finish();

 private:
  struct NewPod {
    std::shared_ptr<const api::Pod> object;
    NodeIndex node;
  };

  // Single pods (update.cpp).
  NodeIndex node_for(const api::Pod& pod) const;
  std::uint32_t position_of(const api::ObjectMeta& meta, const NamespaceEntry& ns) const;
  std::vector<PodIndex>::iterator place_in(NamespaceEntry& ns, PodIndex pod) const;
  std::optional<PodIndex> find(const api::ObjectMeta& meta) const;
  void insert(NewPod pod);
  void withdraw(PodIndex pod);
  void replace_object(PodIndex pod, std::shared_ptr<const api::Pod> object);
  std::shared_ptr<const api::Pod> admit(const std::shared_ptr<const api::Pod>& pod, NodeIndex node);
  void forget_problems_of(const std::shared_ptr<const api::Pod>& pod);
  static bool is_lost(const api::Pod& pod, NodeIndex node);
  static bool is_staying(const PodEntry& entry) { return !entry.terminal && !entry.terminating; }
  void describe(PodEntry& entry);
  std::uint32_t intern_asked();
  std::uint32_t intern_images(const api::Pod& pod);
  std::uint32_t intern_owner(const std::string& uid);
  void add_to_owners(PodEntry& entry);
  void remove_from_owners(const PodEntry& entry);
  void touch(const PodEntry& entry);
  void recompute_sums(NodeIndex node);
  void report_problems();

  // Pod numbers (numbering.cpp).
  std::vector<NewPod> extract_remaining_pods();
  std::vector<PodIndex> number_all(const std::vector<NewPod>& pods);
  void forget_pods();
  std::size_t slot_of(NodeIndex node) const { return std::min<std::size_t>(node, cluster_.nodes_.size()); }
  PodIndex open_place(NodeIndex node, const api::ObjectMeta& meta);
  std::optional<PodIndex> find_place(std::size_t slot, const api::ObjectMeta& meta);
  PodIndex place_before(PodIndex first, PodIndex last, const api::ObjectMeta& meta) const;
  void renumber(PodIndex from, PodIndex to);
  std::optional<PodIndex> make_place(std::size_t slot, PodIndex next);
  static constexpr std::size_t kNoSlot = static_cast<std::size_t>(-1);
  void spread(std::size_t short_slot = kNoSlot);
  void place_entries(const std::vector<PodIndex>& places);
  void renumber_all(const std::vector<PodIndex>& number);
  bool is_sparse() const;

  // Namespaces and labels (groups.cpp).
  void sort_namespaces();
  void number_groups();
  void form_groups(NamespaceEntry& ns);
  void join_group(PodIndex pod);
  void leave_group(PodIndex pod);
  void place_group(NamespaceEntry& ns, std::uint32_t group);
  void assign_groups(const NamespaceEntry& ns, std::size_t first, std::size_t last);
  void derive_namespaces();

  // Affinity (affinity.cpp).
  static bool is_counted(const PodEntry& entry) { return entry.is_anti_affine && !entry.terminal; }
  void add_to_affinity_index(PodIndex pod);
  void remove_from_affinity_index(PodIndex pod);
  void renumber_affinity(PodIndex from, PodIndex to);
  template <typename F>
  void for_each_kind_list(const PodEntry& entry, F&& each);
  using Kinds = std::vector<AntiAffineGroup>;
  Kinds::iterator kind_of(Kinds& kinds, const PodEntry& entry) const;
  void derive_affinity();
  void add_anti_affine(AntiAffineGroup kind);

  // Bounds on affinity terms (term_limits.cpp).
  void count_terms(const PodEntry& entry, int by);
  void limit_terms();
  void report_crowded() const;
  struct WithTerms;
  std::vector<WithTerms> pods_with_terms() const;
  std::set<std::size_t> uses_beyond_bounds(std::span<const WithTerms> pods, std::span<std::size_t> use_of) const;
  void ignore_terms_of(PodIndex pod);
  void restore_terms_of(PodIndex pod, std::shared_ptr<const api::Pod> given);

  const api::ObjectMeta& meta_of(PodIndex pod) const { return cluster_.pods_[pod].object->meta; }

  ClusterSnapshot& cluster_;
  std::vector<NodeIndex> nodes_;          ///< nodes whose sums may have changed
  std::vector<std::string_view> images_;  ///< scratch buffer of intern_images()
  std::string joined_images_;             ///< scratch buffer of intern_images()
  PodRequests asked_;                     ///< requests of the pod described last; reused for its storage
  bool order_due_ = false;                ///< a namespace got its first pod or lost its last one
  bool groups_due_ = false;               ///< a namespace gained or lost groups
  bool namespaces_due_ = false;           ///< namespaces, and the affinity that refers to them, must be derived again
  bool problems_due_ = false;
  bool terms_due_ = false;  ///< a pod with affinity was added, removed or changed
};

}  // namespace scheduling
