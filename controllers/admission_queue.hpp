#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "api/core.hpp"
#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "controllers/evacuation_decide.hpp"

namespace controllers {

/// What limits need to know about an Evacuation that wants to begin an attempt.
struct AdmissionRequest {
  api::ObjectKey key;
  std::string pod_uid;
  std::string node;
  std::string workload;  ///< concurrency group or the controller's UID; empty: no workload limit
  std::string policy;    ///< empty: hand-made
  std::int32_t priority = 0;
  base::TimePoint created{};
  std::int32_t attempt = 1;                   ///< the one that begins
  std::optional<std::int32_t> workload_size;  ///< replicas, for percentages
};
/// `pod` may be nullptr (no workload known then).
AdmissionRequest admission_request(const api::Evacuation& evacuation, const api::Pod* pod,
                                   std::optional<std::int32_t> workload_size);

struct Admission {
  Slot slot;
  std::string duplicate_of;  ///< name of the Evacuation that already acts on this pod; empty: none
};

/// Who may act at the same time (protocols 6.8). One object in the leader decides for all workers, under one lock, so
/// no two admissions race. Slots are derived from the phases that the store shows plus reservations that it does not
/// show yet; they are never counted up and down by hand, so none gets lost. Waiting ones go by priority, age, name; one
/// that waits for its node, namespace, workload or policy does not hold up those behind it. Cost per event: O(log n) of
/// the waiting ones, whatever their number.
class AdmissionQueue {
 public:
  /// Told about waiting Evacuations that were admitted; called without the lock held.
  using Wake = std::function<void(const api::ObjectKey&)>;

  AdmissionQueue(api::InFlightLimits cluster, Wake wake);

  void set_cluster_limits(api::InFlightLimits limits);
  /// nullopt: the policy is gone or sets none.
  void set_policy_limits(const std::string& policy, std::optional<api::InFlightLimits> limits);
  /// For percentages of the total.
  void set_node_count(std::size_t nodes);

  /// From the Evacuation informer: `before` is nullptr for a new one, `after` for a deleted one.
  void observe(const api::Evacuation* before, const api::Evacuation* after);

  /// Asks for the slot, or waits in line. Idempotent: a granted one stays granted until the store shows the attempt.
  Admission request(const AdmissionRequest& request);

  /// The Evacuation does not want to begin (any more): leaves the line and gives an unused reservation back.
  void withdraw(const api::ObjectKey& key);

  /// Name of the Evacuation that has the older claim on the same pod; empty: none.
  std::string duplicate_of(const api::Evacuation& evacuation) const;

  struct Usage {
    std::int64_t in_flight = 0;
    std::int64_t waiting = 0;
    std::optional<std::int64_t> limit;  ///< of the whole cluster
  };
  Usage usage() const;

 private:
  enum class ScopeKind { kTotal, kNode, kNamespace, kWorkload };

  /// Highest priority first, then oldest, then by name.
  using Order = std::tuple<std::int64_t, base::TimePoint, api::ObjectKey>;

  struct Scope {
    ScopeKind kind = ScopeKind::kTotal;
    std::string policy;  ///< empty: the cluster's limit
    std::string name;    ///< of the node, namespace or workload
    std::int64_t used = 0;
    std::optional<std::int32_t> size;  ///< replicas of the workload
    std::set<Order> parked;            ///< waiting because of this scope
    std::size_t users = 0;             ///< entries that refer to it
  };

  struct Entry {
    std::string uid;  ///< of the Evacuation: a deleted and re-made one starts over
    std::string pod_uid;
    base::TimePoint created{};
    std::vector<std::string> scopes;
    bool holds_slot = false;      ///< by the phase in the store
    bool holds_workload = false;  ///< Verifying: only the workload's slot
    std::int32_t reserved = 0;    ///< attempt admitted but not yet seen in the store; 0: none
    std::int32_t wanted = 1;      ///< attempt it asks for
    bool began = false;           ///< some attempt, by the store: its claim on the pod stands
    bool counted_slot = false;
    bool counted_workload = false;
    std::optional<Order> waiting;
    std::string parked_at;  ///< scope id; empty while waiting: in ready_
  };

  // All REQUIRE mutex_ held.
  Entry& entry_for(const api::ObjectKey& key, const std::string& uid, const std::string& pod_uid,
                   base::TimePoint created);
  void set_scopes(Entry& entry, const AdmissionRequest& request);
  void drop_scopes(Entry& entry);
  std::vector<std::string> add_scopes(const AdmissionRequest& request);
  Scope& scope(const std::string& id) { return scopes_.at(id); }
  std::optional<std::int64_t> limit_of(const Scope& scope) const;
  bool has_room(const Scope& scope) const;
  void recount(Entry& entry);
  void count(const Entry& entry, bool workload_part, int by);
  void leave_line(Entry& entry);
  void reopen(const Entry& entry);
  void line_up(Entry& entry, const Order& order);
  void park(Entry& entry, const std::string& scope_id);
  const std::string* full_scope(const Entry& entry) const;
  void pull_from_opened();
  void pump(std::vector<api::ObjectKey>& admitted);
  void erase(const api::ObjectKey& key);
  std::string claimant(const api::ObjectKey& key, const Entry& entry) const;
  api::Blocker blocker_for(const Entry& entry) const;
  void reopen_all();
  void wake(const std::vector<api::ObjectKey>& admitted, const api::ObjectKey* except = nullptr) const;

  const Wake wake_;
  mutable std::mutex mutex_;
  api::InFlightLimits cluster_;
  std::map<std::string, api::InFlightLimits> policies_;
  std::size_t nodes_ = 0;
  std::map<api::ObjectKey, Entry> entries_;
  std::unordered_map<std::string, std::set<api::ObjectKey>> by_pod_;
  std::unordered_map<std::string, Scope> scopes_;
  std::set<Order> ready_;         ///< waiting, and nothing narrower than the cluster's total is known to hold them
  std::set<std::string> opened_;  ///< scopes that may have room for a parked one
  std::int64_t total_used_ = 0;
};

}  // namespace controllers
