#pragma once

/// The counted side of admission: which limits an Evacuation falls under, how full they are, and who waits because of
/// which. Pure bookkeeping without a lock: AdmissionQueue has the lock and decides.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"
#include "api/limits.hpp"
#include "controllers/admission/rate.hpp"
#include "controllers/admission/request.hpp"
#include "controllers/admission/waiting_line.hpp"

namespace controllers {

/// What limits need to know about a node.
struct NodeFacts {
  std::string zone;           ///< empty: in no zone
  std::int64_t max_pods = 0;  ///< allocatable
  friend bool operator==(const NodeFacts&, const NodeFacts&) = default;
};
NodeFacts node_facts(const api::Node& node);

class AdmissionScopes {
 public:
  using Ids = std::vector<std::string>;
  enum class Part {
    kDeparture,  ///< what is free again when the pod is gone: cluster, source node, namespace, zone
    kWorkload,   ///< what is held until the replacement is Ready
    kArrival,    ///< the target node: as long, but for manual ones that take their time
  };

  explicit AdmissionScopes(const api::AdmissionLimits& cluster) { set_cluster_limits(cluster, {}); }
  AdmissionScopes(const AdmissionScopes&) = delete;
  AdmissionScopes& operator=(const AdmissionScopes&) = delete;

  void set_cluster_limits(const api::AdmissionLimits& limits, base::TimePoint now);
  /// nullopt: it was deleted, or nobody has seen it. Then nothing more of it is admitted until it is made again; its
  /// last limits stay for what it holds. `brake`: why nothing more of it is admitted; empty: the limits decide.
  void set_policy_limits(const std::string& policy, const std::optional<api::AdmissionLimits>& limits,
                         const std::string& hold_reason, base::TimePoint now);
  /// From now on manual Evacuations leave a fifth of the cluster's total to policies, rounded down, and at least one
  /// slot. A total of 1 cannot be shared. Call before the first attach().
  void keep_share_for_policies() { keeps_share_ = true; }
  /// This replica leads from now on, and does not know what its predecessor admitted: no tokens are saved up.
  void drain_rates(base::TimePoint now);
  /// nullopt: the node is gone. True: its zone changed, so whoever leaves it falls under other scopes now.
  bool set_node(const std::string& node, std::optional<NodeFacts> facts);

  /// The scopes that the request falls under, narrow ones first. Each attach() needs a detach() of the same ids.
  Ids attach(const AdmissionRequest& request);
  void detach(const Ids& ids);

  /// How much each scope has to give to several that begin together, by scope.
  using Needs = std::map<std::string, std::int64_t>;
  Needs needs_of(const std::vector<const Ids*>& members, const std::string& pod_group) const;

  /// In the workload's scope all members of one `PodGroup` count as one; empty: no PodGroup.
  void count(const Ids& ids, Part part, int by, const std::string& pod_group = {});
  /// The first scope that has no free capacity for one that waits at `order`, or keeps what it has for a PodGroup
  /// before it; nullptr: all have. `has_workload`: it counts in the scopes of its workload already.
  const std::string* first_full(const Ids& ids, base::TimePoint now, const AdmissionOrder& order,
                                bool has_workload = false) const;
  const std::string* first_full(const Needs& needs, base::TimePoint now, const AdmissionOrder& order) const;
  /// A limit that so many can never be within, even alone; empty: there is none. The cluster's own has the id "".
  std::optional<std::string> too_small(const Needs& needs, std::int64_t count) const;
  /// May one more be expected on request.target_node?
  bool target_has_capacity(const AdmissionRequest& request) const;
  /// Free capacity in the cluster's total, and a token of its rate?
  bool cluster_has_capacity(base::TimePoint now, std::int64_t count = 1) const {
    return total_has_capacity(count) && !next_cluster_token(now, count);
  }
  /// When the cluster's rate has `count` tokens again; nullopt: it has, or there is no such limit.
  std::optional<base::TimePoint> next_cluster_token(base::TimePoint now, std::int64_t count = 1) const;
  /// One was admitted: takes its tokens. REQUIRES: there was free capacity everywhere.
  void take_tokens(const std::string& policy, base::TimePoint now);
  /// One of the namespace was admitted: the others that wait come before its next one. REQUIRES: one of its requests is
  /// attached.
  void take_turn(const std::string& ns);
  /// When the namespace had its last turn, for WaitingLine. One that was not there before had its turn just now.
  std::uint64_t turn_of(const std::string& ns) const;
  /// The newest admission was not used.
  void give_tokens_back(const std::string& policy);
  bool total_has_capacity(std::int64_t count = 1) const;
  std::int64_t total_used() const { return total_used_; }
  std::optional<std::int64_t> total_limit() const;
  std::optional<std::int64_t> namespace_limit() const;  ///< the cluster's

  // --- who waits because of one scope. A scope stays as long as somebody waits there, though nobody is attached to it
  // any more (a PodGroup waits where one of its members was): then it holds up nobody.
  /// `need`: how much it waits for; those behind it wait, too, when that is more than one.
  void park(const std::string& id, const AdmissionOrder& order, std::int64_t need = 1);
  void unpark(const std::string& id, const AdmissionOrder& order);
  /// These may have free capacity for one that is parked there.
  void reopen(const Ids& ids);
  void reopen_all();
  void reopen(const std::string& id) { opened_.insert(id); }
  /// The next one to try of those parked in reopened scopes with free capacity; one of each scope, the others of that
  /// scope follow at its next reopen().
  std::optional<AdmissionOrder> take_next(base::TimePoint now);
  /// Who waits first for a policy's next token, and when it comes; one for each policy.
  std::vector<std::pair<api::ObjectKey, base::TimePoint>> next_in_rates(base::TimePoint now) const;
  std::int64_t parked() const;
  /// Returns true if an Evacuation that waits at one of these could go if one of those inside left.
  bool is_waited_for(const Ids& ids) const { return is_waited_for(ids, true); }
  /// Returns is_waited_for() without the workload scopes.
  bool is_departure_waited_for(const Ids& ids) const { return is_waited_for(ids, false); }
  bool total_is_full() const {
    const auto limit = total_limit();
    return limit && *limit > 0 && total_used_ >= *limit;
  }

  /// Of all scopes of one kind, of the cluster's limits and of policies' together.
  struct Fullness {
    std::int64_t waiting = 0;  ///< Evacuations that wait because of one of them
    double fullest = 0;        ///< used / limit of the one where that is highest; of those with a limit above 0
  };
  /// By kind, in a fixed set of names: total, node, target-node, namespace, workload, zone, rate.
  std::map<std::string_view, Fullness> fullness() const;

  /// Names the scope and its limit; empty id: the cluster's total or, if that has free capacity, its rate.
  api::Blocker blocker(const std::string& id) const;

 private:
  enum class Kind { kTotal, kNode, kTargetNode, kNamespace, kWorkload, kZone, kRate, kManual, kOwner };
  struct Level {
    api::AdmissionLimits limits;
    std::optional<AdmissionRate> rate;  ///< exactly with limits.rate
    std::string hold_reason;            ///< a policy's: why nothing more of it is admitted
  };
  struct Scope {
    Kind kind = Kind::kTotal;
    std::string policy;  ///< empty: the cluster's limit
    std::string name;    ///< of the node, namespace, workload or zone
    std::int64_t used = 0;
    std::optional<std::int32_t> size{};  ///< replicas of the workload
    WaitingLine parked{};
    std::map<std::string, std::int64_t> pod_groups{};  ///< members counted, by PodGroup; a workload's only
    std::size_t users = 0;                             ///< attached
    std::uint64_t turn = 0;                            ///< of the cluster's scope of a namespace: its last one
  };

  static Part part_of(Kind kind);
  bool is_waited_for(const Ids& ids, bool with_workload) const;
  void attach_level(const AdmissionRequest& request, const std::string& policy, const std::string& prefix, Ids& ids);
  void attach_one(Kind kind, const std::string& policy, const std::string& name, std::string id, Ids& ids);
  void reopen_if_waiting(const std::string& id);
  void reopen_around(const std::string& node, const std::string& zone);
  std::optional<std::int64_t> limit_of(const Scope& scope) const;
  std::optional<std::int64_t> manual_limit() const;  ///< nullopt: they may take the whole total
  void attach_manual(const AdmissionRequest& request, Ids& ids);
  std::int64_t whole_of(const Scope& scope) const;
  bool has_capacity(const Scope& scope, base::TimePoint now, std::int64_t need = 1) const;
  /// The policy whose total it is lets nothing more in.
  bool is_braked(const Scope& scope) const;
  bool can_never(const Scope& scope, std::int64_t need) const;
  /// A PodGroup before `order` waits there for more than one: what becomes free is saved up for it.
  bool kept_for_pod_group(const Scope& scope, const AdmissionOrder& order) const;
  void erase_if_unused(std::unordered_map<std::string, Scope>::iterator scope);
  static void change(Level& level, const api::AdmissionLimits& limits, base::TimePoint now);

  Level cluster_;
  std::map<std::string, Level> policies_;
  std::unordered_map<std::string, NodeFacts> nodes_;
  std::unordered_map<std::string, std::int64_t> zone_sizes_;
  std::unordered_map<std::string, Scope> scopes_;
  std::set<std::string> opened_;
  std::int64_t total_used_ = 0;
  bool keeps_share_ = false;
  std::uint64_t policy_lock_ = 0;  ///< taken so far
  const WaitingLine::Turn turn_ = [this](const std::string& ns) { return turn_of(ns); };
};

}  // namespace controllers
