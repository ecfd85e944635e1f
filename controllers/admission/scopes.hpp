#pragma once

/// Counting part of admission: the limits that apply to an Evacuation, their usage, and the entries waiting for them.
/// Pure bookkeeping without a lock; AdmissionQueue holds the lock and decides.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"
#include "api/limits.hpp"
#include "controllers/admission/rate.hpp"
#include "controllers/admission/request.hpp"
#include "controllers/admission/waiting_line.hpp"

namespace controllers {

/// Properties of a node that the limits depend on.
struct NodeFacts {
  std::string zone;           ///< empty if in no zone
  std::int64_t max_pods = 0;  ///< allocatable
  friend bool operator==(const NodeFacts&, const NodeFacts&) = default;
};
NodeFacts node_facts(const api::Node& node);

class AdmissionScopes {
 public:
  using Ids = std::vector<std::string>;
  enum class Part {
    kDeparture,  ///< released when the pod is gone: cluster, source node, namespace, zone
    kWorkload,   ///< held until the replacement is Ready
    kArrival,    ///< target node; held like kWorkload, but limited in time for manual Evacuations
  };

  explicit AdmissionScopes(const api::AdmissionLimits& cluster) { set_cluster_limits(cluster, {}); }
  AdmissionScopes(const AdmissionScopes&) = delete;
  AdmissionScopes& operator=(const AdmissionScopes&) = delete;

  void set_cluster_limits(const api::AdmissionLimits& limits, base::TimePoint now) {
    change(cluster_, limits, now);
    reopen_all();
  }
  /// Sets the limits of a policy. nullopt if it was deleted or was never seen: none of its Evacuations is admitted
  /// until it exists, and its last limits stay in force for what they hold. `hold_reason` is the reason to admit none;
  /// if empty the limits decide.
  void set_policy_limits(const std::string& policy, const std::optional<api::AdmissionLimits>& limits,
                         const std::string& hold_reason, base::TimePoint now);
  /// From now on manual Evacuations leave a fifth of the cluster's total to policies, rounded down, and at least one
  /// slot. A total of 1 cannot be shared. Call before the first attach().
  void keep_share_for_policies() { keeps_share_ = true; }
  /// Empties the token buckets when this replica becomes the leader, because it does not know the admissions of its
  /// predecessor.
  void drain_rates(base::TimePoint now);
  /// `facts` is nullopt if the node is gone. Returns true if its zone changed, so that Evacuations from it belong to
  /// other scopes now.
  bool set_node(const std::string& node, std::optional<NodeFacts> facts);

  /// Returns the scopes of the request, narrow ones first. Each attach() needs a detach() of the returned ids.
  Ids attach(const AdmissionRequest& request);
  void detach(const Ids& ids);

  /// Number of slots needed in each scope by several Evacuations that begin together.
  using Needs = std::map<std::string, std::int64_t>;
  Needs needs_of(const std::vector<const Ids*>& members, const std::string& pod_group) const;

  /// In the workload's scope all members of one PodGroup count as one; empty: no PodGroup.
  void count(const Ids& ids, Part part, int by, const std::string& pod_group = {});
  /// Returns the first scope without free capacity for an entry that waits at `order`, or whose capacity is saved for a
  /// PodGroup before it; nullptr if none exists. `has_workload`: it is counted in its workload scopes already.
  const std::string* first_full(const Ids& ids, base::TimePoint now, const AdmissionOrder& order,
                                bool has_workload = false) const;
  const std::string* first_full(const Needs& needs, base::TimePoint now, const AdmissionOrder& order) const;
  /// Returns a limit that the needs exceed even on an idle cluster; nullopt if none exists. "" stands for the
  /// limits of the cluster.
  std::optional<std::string> too_small(const Needs& needs, std::int64_t count) const;
  /// Whether the policy admits none of its Evacuations now. False for the empty policy.
  bool is_held(const std::string& policy) const {
    const auto level = policies_.find(policy);
    return level != policies_.end() && !level->second.hold_reason.empty();
  }
  /// Whether one more arrival is allowed on request.target_node.
  bool target_has_capacity(const AdmissionRequest& request) const;
  /// Whether the cluster's total has free capacity and its rate has tokens.
  bool cluster_has_capacity(base::TimePoint now, std::int64_t count = 1) const {
    return total_has_capacity(count) && !next_cluster_token(now, count);
  }
  /// When the cluster's rate has `count` tokens again; nullopt if it has them now or there is no rate.
  std::optional<base::TimePoint> next_cluster_token(base::TimePoint now, std::int64_t count = 1) const {
    if (!cluster_.rate || cluster_.rate->has_token(now, count)) return std::nullopt;
    return cluster_.rate->next_token(now, count);
  }
  /// Takes the tokens of one admission. REQUIRES: all scopes had free capacity.
  void take_tokens(const std::string& policy, base::TimePoint now);
  /// Records an admission for the namespace: other waiting namespaces come before its next one. REQUIRES: a request of
  /// the namespace is attached.
  void take_turn(const std::string& ns) { scopes_.at("namespace/" + ns).turn = ++turn_count_; }
  /// Number of the last admission of the namespace, for WaitingLine. A new namespace starts with the current number.
  std::uint64_t last_admission_of(const std::string& ns) const {
    const auto scope = scopes_.find("namespace/" + ns);
    return scope == scopes_.end() ? turn_count_ : scope->second.turn;
  }
  /// Returns the tokens of the newest admission, which was not used.
  void give_tokens_back(const std::string& policy);
  bool total_has_capacity(std::int64_t count = 1) const {
    const auto limit = total_limit();
    return !limit || total_used_ + count <= *limit;
  }
  std::int64_t total_used() const { return total_used_; }
  std::optional<std::int64_t> total_limit() const;
  std::optional<std::int64_t> namespace_limit() const;  ///< of the cluster

  // --- entries waiting at a scope. A scope with waiting entries is kept even if no entry is attached to it any more (a
  // PodGroup waits at a scope of one member); then it blocks none.
  /// `need`: number of slots that it waits for. If that is more than one, entries behind it wait as well.
  void park(const std::string& id, const AdmissionOrder& order, std::int64_t need = 1);
  void unpark(const std::string& id, const AdmissionOrder& order);
  /// Marks scopes that may have free capacity for an entry parked there.
  void reopen(const Ids& ids);
  void reopen_all() {
    for (const auto& [id, scope] : scopes_) {
      if (!scope.parked.empty()) opened_.insert(id);
    }
  }
  void reopen(const std::string& id) { opened_.insert(id); }
  /// Removes and returns the next entry to try from a reopened scope with free capacity. Returns one entry per scope;
  /// the next one follows after its next reopen().
  std::optional<AdmissionOrder> take_next(base::TimePoint now);
  /// For each policy with a rate: the first waiting entry and when its tokens are available.
  std::vector<std::pair<api::ObjectKey, base::TimePoint>> next_in_rates(base::TimePoint now) const;
  std::int64_t parked() const;
  /// Returns true if an Evacuation that waits at one of these scopes could go if one that counts there left. Ignores
  /// the workload scopes unless `with_workload`.
  bool is_waited_for(const Ids& ids, bool with_workload) const;
  bool total_is_full() const {
    const auto limit = total_limit();
    return limit && *limit > 0 && total_used_ >= *limit;
  }

  /// Usage of all scopes of one kind, over the limits of the cluster and of policies.
  struct Fullness {
    std::int64_t waiting = 0;  ///< number of Evacuations that wait at one of them
    double fullest = 0;        ///< maximum of used / limit, over limits above 0
  };
  /// By kind, with a fixed set of names: total, node, target-node, namespace, workload, zone, rate.
  std::map<std::string_view, Fullness> fullness() const;

  /// Describes the scope and its limit. An empty id stands for the cluster's total or, if that has free capacity, its
  /// rate.
  api::Blocker blocker(const std::string& id) const;

 private:
  enum class Kind { kTotal, kNode, kTargetNode, kNamespace, kWorkload, kZone, kRate, kManual, kOwner };
  struct Level {
    api::AdmissionLimits limits;
    std::optional<AdmissionRate> rate;  ///< set exactly if limits.rate is
    std::string hold_reason;            ///< why a policy admits none, empty if its limits decide
  };
  struct Scope {
    Kind kind = Kind::kTotal;
    std::string policy;  ///< empty for a limit of the cluster
    std::string name;    ///< name of the node, namespace, workload or zone
    std::int64_t used = 0;
    std::optional<std::int32_t> size{};  ///< replicas of the workload
    WaitingLine parked{};
    /// Number of counted members by PodGroup; for workload scopes only.
    std::map<std::string, std::int64_t> pod_groups{};
    std::size_t users = 0;   ///< number of attached requests
    std::uint64_t turn = 0;  ///< number of its last admission; for the cluster's namespace scopes only
  };

  static Part part_of(Kind kind) {
    if (kind == Kind::kWorkload || kind == Kind::kOwner) return Part::kWorkload;
    return kind == Kind::kTargetNode ? Part::kArrival : Part::kDeparture;
  }
  void attach_level(const AdmissionRequest& request, const std::string& policy, const std::string& prefix, Ids& ids);
  void attach_one(Kind kind, const std::string& policy, const std::string& name, std::string id, Ids& ids);
  void reopen_if_waiting(const std::string& id) {
    const auto at = scopes_.find(id);
    if (at != scopes_.end() && !at->second.parked.empty()) opened_.insert(id);
  }
  void reopen_around(const std::string& node, const std::string& zone);
  std::optional<std::int64_t> limit_of(const Scope& scope) const;
  std::optional<std::int64_t> manual_limit() const;  ///< nullopt if they may take the whole total
  void attach_manual(const AdmissionRequest& request, Ids& ids);
  const AdmissionRate* rate_of(const Scope& scope) const;
  bool has_capacity(const Scope& scope, base::TimePoint now, std::int64_t need = 1) const;
  /// Whether the scope is the total of a policy with a hold reason.
  bool is_held_by_policy(const Scope& scope) const { return scope.kind == Kind::kTotal && is_held(scope.policy); }
  bool can_never(const Scope& scope, std::int64_t need) const;
  /// Whether a PodGroup before `order` waits here for more than one slot, so that free capacity is saved for it.
  bool kept_for_pod_group(const Scope& scope, const AdmissionOrder& order) const {
    const auto first = scope.parked.first(turn_);
    return first && first->need > 1 && WaitingLine::goes_before(first->order, order, turn_);
  }
  void erase_if_unused(std::unordered_map<std::string, Scope>::iterator scope) {
    if (scope->second.users > 0 || !scope->second.parked.empty()) return;
    opened_.erase(scope->first);
    scopes_.erase(scope);
  }
  static void change(Level& level, const api::AdmissionLimits& limits, base::TimePoint now);

  Level cluster_;
  std::map<std::string, Level> policies_;
  std::unordered_map<std::string, NodeFacts> nodes_;
  std::unordered_map<std::string, std::int64_t> zone_sizes_;
  std::unordered_map<std::string, Scope> scopes_;
  std::set<std::string> opened_;
  std::int64_t total_used_ = 0;
  bool keeps_share_ = false;
  std::uint64_t turn_count_ = 0;  ///< number of the latest admission
  const WaitingLine::Turn turn_ = [this](const std::string& ns) { return last_admission_of(ns); };
};

}  // namespace controllers
