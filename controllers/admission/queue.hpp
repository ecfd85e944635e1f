#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/evacuation.hpp"
#include "api/limits.hpp"
#include "base/clock.hpp"
#include "controllers/admission/cooldown.hpp"
#include "controllers/admission/entry.hpp"
#include "controllers/admission/manual_arrivals.hpp"
#include "controllers/admission/request.hpp"
#include "controllers/admission/scopes.hpp"

namespace controllers {

class Reservations;

struct Admission {
  Slot slot;
  std::string duplicate_of;  ///< name of the Evacuation that already acts on this pod, empty if none
};

/// Decides which Evacuations may act concurrently (state-machine.md#limits, docs/concepts/limits.md). One object in the
/// leader decides for all workers under one lock, so admissions do not race. Slots in use are derived from the phases
/// in the store plus reservations that the store does not show yet, never from separate counters, so none leaks.
/// Order of waiting: priority, then entries not held by a PDB; among equals namespaces alternate round-robin, and age
/// and name decide within a namespace (waiting_line.hpp). An entry that waits for its node, namespace, workload, zone
/// or policy does not block those behind it. entry.hpp has the states of an entry. Cost per event: O(log n) in the
/// number of waiting entries. Thread-safe.
class AdmissionQueue {
 public:
  /// Called for waiting Evacuations that were admitted (`after` zero) or should request again later, when the next
  /// token of a rate arrives. Called without the lock. Usually WorkQueue::add_after.
  using Wake = std::function<void(const api::ObjectKey& key, base::Duration after)>;

  /// `clock` must outlive the queue.
  AdmissionQueue(api::AdmissionLimits cluster, const base::Clock& clock, Wake wake);

  /// Sets the source of capacity for the surge pods of PodGroups, which get slots and capacity in one step. Call before
  /// the first request. `reservations` must outlive the last use of the queue and must not call back; it may take a
  /// snapshot of the cluster on the thread of any call.
  void use_reservations(Reservations& reservations) { reservations_ = &reservations; }

  /// Sets how long a manual Evacuation in Verifying counts on the node where its replacement is expected; zero: as
  /// long as it waits. Call before the first request.
  void set_manual_patience(base::Duration patience) { arrivals_.set_patience(patience); }

  /// Reserves a share of the total for policies, see AdmissionScopes::keep_share_for_policies(). Call before the first
  /// request.
  void keep_share_for_policies() { scopes_.keep_share_for_policies(); }

  /// Call when this replica becomes the leader. Empties the token buckets, because the admissions of the predecessor
  /// are unknown.
  void resume();

  void set_cluster_limits(const api::AdmissionLimits& limits);
  /// Sets the limits of a policy. nullopt if the policy was deleted or is unknown: none of its Evacuations, including
  /// future ones, is admitted until it has limits again. `hold_reason` is a human-readable reason to admit none (mode
  /// DryRun, suspended); if empty the limits decide.
  void set_policy_limits(const std::string& policy, const std::optional<api::AdmissionLimits>& limits,
                         const std::string& hold_reason = {});
  /// From the node informer, for zones and percentages. `facts` is nullopt if the node is gone.
  void set_node(const std::string& node, std::optional<NodeFacts> facts);

  /// From the Evacuation informer; `before` is nullptr for a new object, `after` for a deleted one.
  void observe(const api::Evacuation* before, const api::Evacuation* after);

  /// Requests a slot, or waits for it. Idempotent: a granted slot stays granted until the store shows the attempt.
  Admission request(const AdmissionRequest& request);

  /// Changes the target node of an Evacuation that was just admitted. Returns false, without a change, if that node's
  /// limit is full.
  bool set_target_node(const api::ObjectKey& key, const std::string& node);

  /// Stops waiting and releases the reservation of an Evacuation that does not want to begin (any more). Returns its
  /// tokens as well, unless their attempt is one of the `begun` ones.
  void withdraw(const api::ObjectKey& key, std::int32_t begun = 0);
  /// Withdraws a request or reservation only if it is for an attempt after `begun`. See withdraw().
  void withdraw_later_attempts(const api::ObjectKey& key, std::int32_t begun);

  /// Call when no cache shows the Evacuation any more, or it has ended. Drops the result of a concurrent request, and
  /// the slot of a departing pod; entries that observe() shows are kept.
  void forget(const api::ObjectKey& key);

  /// Pod of a deleted Evacuation that still holds its slot because the pod was asked to leave; forget() releases the
  /// slot. nullopt if none exists.
  std::optional<AdmissionEntry::Departing> departing(const api::ObjectKey& key) const;

  /// Counts the Evacuation for its workload only from now on: its pod takes too long to leave (T38).
  void stop_counting_departing(const api::ObjectKey& key);

  /// Whether another Evacuation waits for a scope that this one holds. A PodGroup that waits for several slots
  /// counts as one.
  bool is_waited_for(const api::ObjectKey& key) const { return is_waited_for(key, true); }
  /// Returns whether another Evacuation waits for a slot that T38 releases: any but that of the workload.
  bool is_departure_waited_for(const api::ObjectKey& key) const { return is_waited_for(key, false); }

  /// Call when the state of this version cannot be stored: it holds and requests nothing until observe() shows another
  /// version. Its claim on the pod remains.
  void abandon(const api::ObjectKey& key, const std::string& resource_version);

  /// Name of the Evacuation with the older claim on the same pod, empty if none.
  std::string duplicate_of(const api::Evacuation& evacuation) const;

  /// Recent evacuations, recorded by observe().
  const CooldownLedger& cooldowns() const { return cooldowns_; }
  /// Restores cooldowns from a policy's status, for finished Evacuations that no longer exist.
  void restore_cooldowns(const std::string& policy, const std::vector<api::CooldownRecord>& records) {
    if (!records.empty()) cooldowns_.restore(policy, records);
  }

  struct Usage {
    std::int64_t in_flight = 0;
    std::int64_t waiting = 0;
    std::optional<std::int64_t> limit;  ///< of the whole cluster
    std::map<std::string_view, AdmissionScopes::Fullness> scopes{};
  };
  Usage usage() const;

 private:
  using Entry = AdmissionEntry;
  struct Wakeup {
    api::ObjectKey key;
    base::Duration after;
  };
  using Wakeups = std::vector<Wakeup>;

  /// Runs `change` under the lock, admits waiting entries, and wakes them after the lock is released.
  template <typename Change>
  void apply(Change&& change);
  /// Runs `change` in apply() on the entry, if it exists.
  template <typename Change>
  void apply_to(const api::ObjectKey& key, Change&& change);
  void wake(const Wakeups& wakeups, const api::ObjectKey* except = nullptr) const;
  bool is_waited_for(const api::ObjectKey& key, bool with_workload) const;

  // All functions below REQUIRE mutex_ to be held.
  Entry& entry_for(const api::ObjectKey& key, const std::string& uid, const std::string& pod_uid,
                   base::TimePoint created);
  void show(const api::Evacuation& evacuation);
  void set_scopes(Entry& entry, AdmissionRequest request);
  void rescope(const std::string& node);
  /// Updates the scopes to what the entry holds now.
  void recount(Entry& entry) { count_as(entry, entry.held()); }
  void count_as(Entry& entry, Entry::Held held);
  void end_arrivals(base::TimePoint now);
  void wait(Entry& entry, std::int32_t attempt, const AdmissionOrder& order);
  void wait_again(Entry& entry, Entry::Turn before);
  void make_ready(const AdmissionOrder& order) { ready_.insert(order, 1, turn_); }
  void stop_waiting(Entry& entry);
  void unpark_pod_group(const Entry& entry);
  void park(Entry& entry, const std::string& scope_id, std::int64_t need = 1);
  void unpark_reopened(base::TimePoint now);
  /// Admits all entries that fit, in order; parks the others at the scope that is full.
  void admit_waiting(Wakeups& wakeups);
  void admit(Entry& entry, base::TimePoint now);
  void give_back(Entry& entry, std::int32_t begun);
  /// Implements request(). Adds wakeups for other entries that it admits.
  Admission request_locked(const AdmissionRequest& request, Wakeups& wakeups);
  void keep_reserved(Entry& entry, std::int32_t attempt);
  Slot slot_of(const Entry& entry);

  // PodGroups, in pod_groups.cpp: one member waits for all; all are admitted, or none.
  /// Members that begin together with `entry`: itself and the transitive closure of AdmissionRequest::together, without
  /// members that have begun. Empty if a member has not requested a slot (yet).
  std::vector<Entry*> pod_group_of(const Entry& entry);
  void wait_with_pod_group(Entry& entry, std::int32_t attempt);
  /// Stops waiting for the entry and its PodGroup. The other members keep requesting.
  void leave_pod_group(Entry& entry);
  void stop_asking(Entry& entry) {
    leave_pod_group(entry);
    stop_waiting(entry);
  }
  /// Why a PodGroup of this size can never be admitted, even on an idle cluster; nullopt if it can. Checked before the
  /// members are enumerated, so that the cost does not grow with their number. REQUIRES: its scopes are attached.
  std::optional<api::Blocker> too_large(const AdmissionRequest& request) const;
  /// Makes the entry wait alone, without the keys of the other members.
  std::optional<Slot> refuse_too_large(Entry& entry, const AdmissionRequest& request);
  AdmissionScopes::Needs needs_of(const std::vector<Entry*>& pod_group) const;
  /// Why its PodGroup waits. REQUIRES: asks_with_pod_group().
  api::Blocker pod_group_blocker(const Entry& entry);
  Slot pod_group_slot(const Entry& entry);
  /// Reserves capacity for all surge pods of the PodGroup, or for none. On success each is expected on the node of its
  /// reservation.
  bool find_capacity(const std::vector<Entry*>& pod_group, base::TimePoint now, Wakeups& wakeups);
  /// Returns false if the cluster's total or rate has no capacity for it; then no entry may overtake it.
  bool admit_pod_group(Entry& first, base::TimePoint now, Wakeups& wakeups);
  /// Returns the cooldown of a first attempt requested by a policy. Manual Evacuations are not excluded, and retries
  /// have their own backoff.
  std::optional<CooldownLedger::Cooling> cooling(const AdmissionRequest& request, base::TimePoint now) const;
  void wake_at_tokens(base::TimePoint now, Wakeups& wakeups);
  void erase(const api::ObjectKey& key);
  void keep_departing(const api::Evacuation& deleted);
  std::string claimant(const api::ObjectKey& key, const Entry& entry) const;

  const base::Clock& clock_;
  const Wake wake_;
  const WaitingLine::Turn turn_ = [this](const std::string& ns) { return scopes_.last_admission_of(ns); };
  Reservations* reservations_ = nullptr;
  mutable std::mutex mutex_;
  AdmissionScopes scopes_;
  CooldownLedger cooldowns_;
  std::map<api::ObjectKey, Entry> entries_;
  std::unordered_map<std::string, std::set<api::ObjectKey>> by_pod_;  ///< key: "<namespace>/<uid>"
  std::unordered_map<std::string, std::set<api::ObjectKey>> by_node_;
  ManualArrivals arrivals_;
  WaitingLine ready_;  ///< waiting entries of which at most the cluster's total is known to block them
};

}  // namespace controllers
