#pragma once

/// Decides whether a pod may run on a node: the scheduler's filters as one small rule each, listed in arrays.

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

/// Set of rules that a node must pass.
enum class FitLevel {
  kBasic,      ///< exactly those of upstream descheduler's nodeFit (upstream-semantics.md#node-fit)
  kScheduler,  ///< everything that kube-scheduler's filters check
};

/// Whether the pod still exists when its replacement is scheduled. A terminating pod still holds its resources, host
/// ports and volumes and takes part in affinity; only topology spread ignores it.
enum class OldPod { kGone, kStays };

/// Calls `each` with the active pods, except `owner`, that a term of `owner` selects.
void for_each_covered(const api::PodAffinityTerm& term, PodIndex owner, const WhatIf& cluster,
                      const std::function<void(PodIndex)>& each);

/// Returns true if the constraint of `pod` counts pods on this node, according to nodeAffinityPolicy and
/// nodeTaintsPolicy.
bool is_counted_node(const api::TopologySpreadConstraint& constraint, const api::Pod& pod, const api::Node& node);

/// Topologies of a pod's spread constraints that do not cover every node. kube-scheduler excludes a node that lacks one
/// of them from the counts of all constraints.
using PatchyTopologies = std::vector<const Topology*>;
PatchyTopologies patchy_topologies(const api::Pod& pod, bool schedule_anyway, const WhatIf& cluster);
bool has_all(const PatchyTopologies& topologies, NodeIndex node);

class FitQuery;
using Predicate = std::optional<Refusal> (*)(const FitQuery& query, NodeIndex node);

/// Determines where one pod could run. Computes once what all nodes share, then checks node by node. Reads the WhatIf
/// as it was at construction; create a new query after a move (WhatIf::fit_query() does). At kScheduler the pod does
/// not block itself unless OldPod::kStays; at kBasic it does so exactly where upstream does.
class FitQuery {
 public:
  FitQuery(const WhatIf& cluster, PodIndex pod, FitLevel level, OldPod old_pod = OldPod::kGone);

  /// Returns the first refusal in the order of the level's rules, or nullopt if the pod fits.
  std::optional<Refusal> refusal(NodeIndex node) const;
  bool fits(NodeIndex node) const { return !refusal(node); }
  /// Like refusal() at kScheduler, but assumes that the node has capacity for all requests.
  std::optional<Refusal> refusal_ignoring_capacity(NodeIndex node) const;
  /// Like fits() at kScheduler, but assumes that the node has capacity for all requests and ignores topology spread
  /// constraints.
  bool fits_ignoring_capacity_and_spread(NodeIndex node) const;

  const WhatIf& cluster() const { return *cluster_; }
  const ClusterSnapshot& base() const { return cluster_->base(); }
  PodIndex index() const { return pod_; }
  const api::Pod& pod() const { return base().pod(pod_); }
  /// Returns true if `other` is present when the pod or its replacement arrives.
  bool counts(PodIndex other) const { return other != pod_ || old_pod_ == OldPod::kStays; }

  /// Topology domains closed to the pod by its own anti-affinity or that of running pods.
  struct ClosedDomains {
    const Topology* topology;
    std::string_view key;
    bool own;
    std::vector<bool> closed;  ///< indexed by domain
    /// Closes the domain of the node, if it has one.
    void close(NodeIndex node);
  };
  /// Domains of one required affinity term in which a pod that satisfies all terms runs.
  struct WantedDomains {
    const Topology* topology;
    std::string_view key;
    std::vector<bool> open;
  };
  /// Number of pods that one DoNotSchedule constraint counts in each domain.
  struct SpreadCount {
    const api::TopologySpreadConstraint* constraint;
    const Topology* topology;
    std::vector<std::int64_t> pods;  ///< indexed by domain
    std::int64_t fewest = 0;
    std::int64_t self = 0;  ///< 1 if the constraint counts the pod itself
  };
  /// A claim of the pod that is not bound. Claims are omitted if the storage classes are unknown, because nothing can
  /// be decided then.
  struct WaitingClaim {
    std::string_view name;
    bool exists;  ///< false for a claim of an ephemeral volume, which is created with the replacement
    const api::StorageClass* storage_class;           ///< nullptr if the class does not exist
    std::vector<const api::PersistentVolume*> ready;  ///< existing volumes that fit the claim
    api::Quantity size{};                             ///< requested size; 0 if unspecified
  };
  /// A volume that a CSI driver attaches to the node.
  struct Attachment {
    std::string_view driver;
    std::string_view volume;  ///< name of the PersistentVolume; empty if not provisioned yet
  };
  const std::vector<WaitingClaim>& waiting_claims() const { return waiting_; }
  const std::vector<Attachment>& attachments() const { return attachments_; }
  const std::vector<ClosedDomains>& closed_domains() const { return closed_; }
  const std::vector<WantedDomains>& wanted_domains() const { return wanted_; }
  const std::vector<SpreadCount>& spread_counts() const { return spread_; }
  /// Returns the first host port of the pod that conflicts with `other`, or nullptr if there is none.
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
  std::array<Predicate, kMaxRules> rules_{};  ///< rules that concern the pod, in order
  std::size_t rule_count_ = 0;
  std::vector<WaitingClaim> waiting_;
  std::vector<Attachment> attachments_;
  std::vector<ClosedDomains> closed_;
  /// Index 0: anti-affinity of others, 1: its own.
  std::array<std::unordered_map<std::string_view, std::size_t>, 2> closed_by_key_;
  std::vector<const api::HostPort*> ports_;  ///< sorted by port, protocol and address
  std::vector<WantedDomains> wanted_;
  std::vector<SpreadCount> spread_;
};

// Rules. Pure functions; nullopt means no objection.
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
    // The order is part of the contract (upstream-semantics.md#node-fit).
    refuse_cordoned,    // spec.unschedulable, regardless of tolerations
    refuse_node_terms,  // nodeSelector and required node affinity
    refuse_taints,      // NoSchedule and NoExecute
    refuse_neighbours,  // the pod's own anti-affinity against pods of the node
    refuse_shortage,    // requests against free capacity; skipped on the pod's own node
};

/// A rule, and a test whether it can object to the pod at all. Most rules concern only pods with special requirements.
struct SchedulerRule {
  Predicate refuse;
  bool (*concerns)(const FitQuery& query) = nullptr;  ///< nullptr if it concerns every pod
};

inline bool has_node_terms(const FitQuery& query) { return asks_for_nodes(query.pod()); }
inline bool has_host_ports(const FitQuery& query) { return query.base().has_host_ports(query.index()); }
bool has_devices(const FitQuery& query);
inline bool has_volumes(const FitQuery& query) { return !query.pod().volumes.empty(); }
inline bool has_waiting_claims(const FitQuery& query) { return !query.waiting_claims().empty(); }
inline bool has_attachments(const FitQuery& query) { return !query.attachments().empty(); }
inline bool has_closed_domains(const FitQuery& query) { return !query.closed_domains().empty(); }
inline bool has_wanted_domains(const FitQuery& query) { return !query.wanted_domains().empty(); }
inline bool has_spread(const FitQuery& query) { return !query.spread_counts().empty(); }

inline constexpr std::array<SchedulerRule, 13> kSchedulerRules = {{
    // Ordered so that cheap and selective rules come first.
    {refuse_cordoned_unless_tolerated},            // spec.unschedulable, unless the pod tolerates its taint
    {refuse_unready},                              // Ready is not True
    {refuse_node_terms, has_node_terms},           // nodeSelector and required node affinity
    {refuse_taints},                               // NoSchedule and NoExecute
    {refuse_shortage_strictly},                    // requests, sidecars, overhead, extended resources, number of pods
    {refuse_host_ports, has_host_ports},           // same port and protocol on an overlapping address
    {refuse_volumes, has_volumes},                 // zone or node of bound volumes
    {refuse_unbound_claims, has_waiting_claims},   // where volumes of unbound claims could be provisioned
    {refuse_devices, has_devices},                 // node of allocated devices (ResourceClaims)
    {refuse_attachments, has_attachments},         // number of volumes that a CSI driver can attach to a node
    {refuse_closed_domain, has_closed_domains},    // anti-affinity of the pod and of others
    {refuse_unwanted_domain, has_wanted_domains},  // required affinity
    {refuse_skew, has_spread},                     // topology spread, DoNotSchedule
}};

/// Returns the position in `nodes` of a node, other than its current one, that the pod fits. Starts at position `first`
/// and wraps around. Returns nullopt if it fits none.
std::optional<std::size_t> find_other_node(const WhatIf& cluster, PodIndex pod, std::span<const NodeIndex> nodes,
                                           FitLevel level, std::size_t first = 0);

/// Counts by rule why a pod fits none of some nodes. Keeps views of the refusals, so it must not outlive the snapshot.
class Misfits {
 public:
  explicit Misfits(const ClusterSnapshot& cluster) : cluster_(cluster) {}

  void add(NodeIndex node, const Refusal& refusal);
  std::size_t nodes() const { return nodes_; }
  /// Nodes with the same refusal.
  struct Group {
    Refusal refusal;  ///< of `node`, the first one
    NodeIndex node;
    std::size_t count = 0;
  };
  /// Formats the groups, for example "2 of 3 nodes: the pod does not tolerate the taint gpu (n-1 and 1 more); 1 of 3
  /// nodes: …", with at most kMaxNamed rules. Returns an empty string if no node was added.
  std::string text() const;

 private:
  static constexpr std::size_t kMaxNamed = 3;

  const ClusterSnapshot& cluster_;
  std::vector<Group> groups_;  ///< by reason and subject
  std::size_t nodes_ = 0;
};

/// Explains why the pod fits none of the nodes that `is_asked` accepts, except its own. A rule other than missing
/// capacity takes precedence. Checks at most kMaxCheckedNodes nodes. The result has no nodes if no node was checked or
/// one of them fits the pod.
inline constexpr std::size_t kMaxCheckedNodes = 1000;
Misfits misfits_of(const WhatIf& cluster, PodIndex pod, FitLevel level,
                   const std::function<bool(NodeIndex node)>& is_asked);

}  // namespace scheduling
