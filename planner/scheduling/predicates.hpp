#pragma once

/// May this pod run on that node? The scheduler's filters, one small rule each, in visible lists.

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "planner/scheduling/refusal.hpp"
#include "planner/scheduling/what_if.hpp"
#include "planner/snapshot/matching.hpp"

namespace scheduling {

/// How much is asked of a node.
enum class FitLevel {
  kBasic,      ///< upstream descheduler's nodeFit (upstream-semantics.md#node-fit), exact to the boundary
  kScheduler,  ///< everything that kube-scheduler's filters look at
};

/// Where a replacement is asked for: whether the pod itself is gone by then. While it terminates it holds its room, its
/// ports and its volumes, and speaks in affinities; only topology spread leaves it out.
enum class OldPod { kGone, kStays };

/// Calls `each` with the active pods, `owner` left out, that its term speaks about.
void for_each_covered(const api::PodAffinityTerm& term, PodIndex owner, const WhatIf& cluster,
                      const std::function<void(PodIndex)>& each);

/// The constraint of `pod` counts pods on this node: nodeAffinityPolicy and nodeTaintsPolicy.
bool is_counted_node(const api::TopologySpreadConstraint& constraint, const api::Pod& pod, const api::Node& node);

/// The topologies of a pod's spread constraints, hard or soft ones, that some node has no part in. kube-scheduler
/// leaves a node that lacks one of them out of the counts of all.
using PatchyTopologies = std::vector<const Topology*>;
PatchyTopologies patchy_topologies(const api::Pod& pod, bool schedule_anyway, const WhatIf& cluster);
bool has_all(const PatchyTopologies& topologies, NodeIndex node);

class FitQuery;
using Predicate = std::optional<Refusal> (*)(const FitQuery& query, NodeIndex node);

/// Where one pod could run. Works out once what all nodes share, then judges node by node.
/// Sees the overlay as it was when the query was made: make another one after a move (WhatIf::fit_query does). The pod
/// itself never stands in its own way at kScheduler, unless it stays; at kBasic only where upstream says so.
class FitQuery {
 public:
  FitQuery(const WhatIf& cluster, PodIndex pod, FitLevel level, OldPod old_pod = OldPod::kGone);

  /// The first rule that objects, in the order of the level's list; nullopt: the pod fits.
  std::optional<Refusal> refusal(NodeIndex node) const;
  bool fits(NodeIndex node) const { return !refusal(node); }
  /// The same at kScheduler as if the node had room for everything that is requested.
  std::optional<Refusal> refusal_beside_room(NodeIndex node) const;
  /// fits() at kScheduler as if the node had capacity for all requests of the pod, and the pod no topology spread
  /// constraints.
  bool fits_beside_room_and_spread(NodeIndex node) const;

  const WhatIf& cluster() const { return *cluster_; }
  const ClusterSnapshot& base() const { return cluster_->base(); }
  PodIndex index() const { return pod_; }
  const api::Pod& pod() const { return base().pod(pod_); }
  /// `other` is there when the pod, or its replacement, comes.
  bool counts(PodIndex other) const { return other != pod_ || old_pod_ == OldPod::kStays; }

  /// Topology domains that are closed to the pod, by its own anti-affinity or by that of pods already there.
  struct ClosedDomains {
    const Topology* topology;
    std::string_view key;
    bool own;
    std::vector<bool> closed;  ///< by domain
  };
  /// One required affinity term: domains where a pod that satisfies all terms runs.
  struct WantedDomains {
    const Topology* topology;
    std::string_view key;
    std::vector<bool> open;
  };
  /// One DoNotSchedule constraint: how many pods it counts in each domain.
  struct SpreadCount {
    const api::TopologySpreadConstraint* constraint;
    const Topology* topology;
    std::vector<std::int64_t> pods;  ///< by domain
    std::int64_t fewest = 0;
    std::int64_t self = 0;  ///< 1 when the constraint counts the pod itself
  };
  /// A claim of the pod that is not bound. None where storage classes are not known: then nothing can be said.
  struct WaitingClaim {
    std::string_view name;
    bool exists;                                      ///< false: an ephemeral volume's, made with the replacement
    const api::StorageClass* storage_class;           ///< nullptr: there is none of that name
    std::vector<const api::PersistentVolume*> ready;  ///< volumes that are there, and fit it
    api::Quantity size{};                             ///< that is asked for; 0: it does not say
  };
  /// A volume that a CSI driver attaches to the node.
  struct Attachment {
    std::string_view driver;
    std::string_view volume;  ///< name of the PersistentVolume; "": it is still to be made
  };
  const std::vector<WaitingClaim>& waiting_claims() const { return waiting_; }
  const std::vector<Attachment>& attachments() const { return attachments_; }
  const std::vector<ClosedDomains>& closed_domains() const { return closed_; }
  const std::vector<WantedDomains>& wanted_domains() const { return wanted_; }
  const std::vector<SpreadCount>& spread_counts() const { return spread_; }
  /// The first host port of the pod that it cannot have beside `other`; nullptr: there is none.
  const api::HostPort* port_taken_by(const api::Pod& other) const;

 private:
  void find_own_anti_affinity();
  void find_anti_affinity_of_others();
  void find_affinity();
  void find_volumes();
  void find_unbound(const api::Volume& volume, const api::PersistentVolumeClaim* claim);
  void count_spread();
  ClosedDomains* closed_for(std::string_view key, bool own);
  void sort_host_ports();
  SpreadCount count(const api::TopologySpreadConstraint& constraint, const PatchyTopologies& patchy) const;

  void choose_rules(FitLevel level);

  static constexpr std::size_t kMaxRules = 13;

  const WhatIf* cluster_;
  PodIndex pod_;
  OldPod old_pod_;
  std::array<Predicate, kMaxRules> rules_{};  ///< those that concern the pod, in their order
  std::size_t rule_count_ = 0;
  std::vector<WaitingClaim> waiting_;
  std::vector<Attachment> attachments_;
  std::vector<ClosedDomains> closed_;
  std::array<std::unordered_map<std::string_view, std::size_t>, 2> closed_by_key_;  ///< of others, and its own
  std::vector<const api::HostPort*> ports_;  ///< sorted by port, protocol and address
  std::vector<WantedDomains> wanted_;
  std::vector<SpreadCount> spread_;
};

// The rules. Pure; nullopt = no objection.
std::optional<Refusal> refuse_cordoned(const FitQuery& query, NodeIndex node);
std::optional<Refusal> refuse_cordoned_unless_tolerated(const FitQuery& query, NodeIndex node);
std::optional<Refusal> refuse_unready(const FitQuery& query, NodeIndex node);
std::optional<Refusal> refuse_node_terms(const FitQuery& query, NodeIndex node);
std::optional<Refusal> refuse_taints(const FitQuery& query, NodeIndex node);
std::optional<Refusal> refuse_neighbours(const FitQuery& query, NodeIndex node);
std::optional<Refusal> refuse_shortage(const FitQuery& query, NodeIndex node);
std::optional<Refusal> refuse_shortage_strictly(const FitQuery& query, NodeIndex node);
std::optional<Refusal> refuse_host_ports(const FitQuery& query, NodeIndex node);
std::optional<Refusal> refuse_volumes(const FitQuery& query, NodeIndex node);
std::optional<Refusal> refuse_unbound_claims(const FitQuery& query, NodeIndex node);
std::optional<Refusal> refuse_attachments(const FitQuery& query, NodeIndex node);
std::optional<Refusal> refuse_devices(const FitQuery& query, NodeIndex node);
std::optional<Refusal> refuse_closed_domain(const FitQuery& query, NodeIndex node);
std::optional<Refusal> refuse_unwanted_domain(const FitQuery& query, NodeIndex node);
std::optional<Refusal> refuse_skew(const FitQuery& query, NodeIndex node);

inline constexpr std::array<Predicate, 5> kBasicPredicates = {
    // order is part of the contract (upstream-semantics.md#node-fit)
    refuse_cordoned,    // spec.unschedulable; no toleration counts
    refuse_node_terms,  // nodeSelector and required node affinity
    refuse_taints,      // NoSchedule and NoExecute
    refuse_neighbours,  // the pod's own anti-affinity against pods of that one node
    refuse_shortage,    // requests against what is free; skipped on the pod's own node
};

/// A rule, and which pods it may object to at all: most ask for something special.
struct SchedulerRule {
  Predicate refuse;
  bool (*concerns)(const FitQuery& query) = nullptr;  ///< nullptr: every pod
};

bool has_node_terms(const FitQuery& query);
inline bool has_host_ports(const FitQuery& query) { return query.base().has_host_ports(query.index()); }
bool has_devices(const FitQuery& query);
inline bool has_volumes(const FitQuery& query) { return !query.pod().volumes.empty(); }
inline bool has_waiting_claims(const FitQuery& query) { return !query.waiting_claims().empty(); }
inline bool has_attachments(const FitQuery& query) { return !query.attachments().empty(); }
inline bool has_closed_domains(const FitQuery& query) { return !query.closed_domains().empty(); }
inline bool has_wanted_domains(const FitQuery& query) { return !query.wanted_domains().empty(); }
inline bool has_spread(const FitQuery& query) { return !query.spread_counts().empty(); }

inline constexpr std::array<SchedulerRule, 13> kSchedulerRules = {{
    // cheap and telling ones first
    {refuse_cordoned_unless_tolerated},            // spec.unschedulable, unless the pod tolerates its taint
    {refuse_unready},                              // Ready is not True
    {refuse_node_terms, has_node_terms},           // nodeSelector and required node affinity
    {refuse_taints},                               // NoSchedule and NoExecute
    {refuse_shortage_strictly},                    // requests, sidecars, overhead, extended resources, number of pods
    {refuse_host_ports, has_host_ports},           // same port and protocol on an overlapping address
    {refuse_volumes, has_volumes},                 // zone or node of the bound volumes
    {refuse_unbound_claims, has_waiting_claims},   // where the volumes of the others could be made
    {refuse_devices, has_devices},                 // node of the allocated devices (ResourceClaims)
    {refuse_attachments, has_attachments},         // how many volumes a CSI driver attaches to a node
    {refuse_closed_domain, has_closed_domains},    // anti-affinity, the pod's own and that of others
    {refuse_unwanted_domain, has_wanted_domains},  // required affinity
    {refuse_skew, has_spread},                     // topology spread, DoNotSchedule
}};

/// One pod, one node.
std::optional<Refusal> first_refusal(const WhatIf& cluster, PodIndex pod, NodeIndex node, FitLevel level);
/// Position in `nodes` of one that the pod fits, its present node left out: the first from position `first` on, round
/// the end.
std::optional<std::size_t> find_other_node(const WhatIf& cluster, PodIndex pod, std::span<const NodeIndex> nodes,
                                           FitLevel level, std::size_t first = 0);

/// Why a pod fits on none of some nodes, by rule. Keeps the views of the refusals: use it while the snapshot lives.
class Misfits {
 public:
  explicit Misfits(const ClusterSnapshot& cluster) : cluster_(cluster) {}

  void add(NodeIndex node, const Refusal& refusal);
  std::size_t nodes() const { return nodes_; }
  /// The refusal that most nodes share, with their number. REQUIRES: nodes() > 0
  struct Group {
    Refusal refusal;  ///< of `node`, the first one
    NodeIndex node;
    std::size_t count = 0;
  };
  const Group& largest() const;
  /// "2 of 3 nodes: the pod does not tolerate the taint gpu (n-1 and 1 more); 1 of 3 nodes: …"; at most kMaxNamed
  /// rules. "" without nodes.
  std::string text() const;

 private:
  static constexpr std::size_t kMaxNamed = 3;

  const ClusterSnapshot& cluster_;
  std::vector<Group> groups_;  ///< by reason and subject
  std::size_t nodes_ = 0;
};

/// Why the pod fits on none of the nodes that `is_asked` accepts, its own left out; a rule about anything but requests
/// is named before the free capacity. Asks at most kMaxAsked nodes. No nodes: none is asked, or one of them takes the
/// pod.
inline constexpr std::size_t kMaxAsked = 1000;
Misfits misfits_of(const WhatIf& cluster, PodIndex pod, FitLevel level,
                   const std::function<bool(NodeIndex node)>& is_asked);

}  // namespace scheduling
