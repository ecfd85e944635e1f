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
#include "controllers/admission/slot.hpp"

namespace controllers {

class Reservations;

struct Admission {
  Slot slot;
  std::string duplicate_of;  ///< name of the Evacuation that already acts on this pod; empty: none
};

/// Who may act at the same time (state-machine.md#limits, docs/concepts/limits.md). One object in the leader decides
/// for all workers, under one lock, so no two admissions race. Slots are derived from the phases that the store shows
/// plus reservations that it does not show yet; they are never counted up and down by themselves, so none gets lost.
/// Waiting ones go by priority and by whether a PDB holds them; of those alike the namespaces take turns, and within a
/// namespace age and name decide (waiting_line.hpp). One that waits for its node, namespace, workload, zone or policy
/// does not hold up those behind it. The states of each are in entry.hpp. Thread-safe. Cost per event: O(log n) of the
/// waiting ones, whatever their number.
class AdmissionQueue {
 public:
  /// Told about waiting Evacuations that were admitted (`after` zero), or that are to ask again later, when the next
  /// token of a rate comes. Called without the lock held. Usually WorkQueue::add_after.
  using Wake = std::function<void(const api::ObjectKey& key, base::Duration after)>;

  /// `clock` must outlive the queue.
  AdmissionQueue(api::AdmissionLimits cluster, const base::Clock& clock, Wake wake);

  /// Where PodGroups get free capacity for all their surge pods in the same step as their slots. Call before the first
  /// request; it must outlive the queue's last use, and must not call back. It may take a snapshot of the cluster on
  /// the thread of any call.
  void use_reservations(Reservations& reservations) { reservations_ = &reservations; }

  /// For so long a manual Evacuation that waits for its replacement counts on the node where that is expected; zero: as
  /// long as it waits. Call before the first request.
  void set_manual_patience(base::Duration patience) { arrivals_.set_patience(patience); }

  /// Manual Evacuations never take a total above 1: AdmissionScopes::keep_share_for_policies(). Call before the first
  /// request.
  void keep_share_for_policies() { scopes_.keep_share_for_policies(); }

  /// This replica leads from now on. Rates begin with empty buckets: what the predecessor admitted is not known.
  void resume();

  void set_cluster_limits(const api::AdmissionLimits& limits);
  /// nullopt: the policy was deleted, or is not known: nothing more of it is admitted, also of what is to come, until
  /// it has limits again. `brake`: why nothing more of it is admitted, for people (mode DryRun, suspended); empty: the
  /// limits decide.
  void set_policy_limits(const std::string& policy, const std::optional<api::AdmissionLimits>& limits,
                         const std::string& hold_reason = {});
  /// From the node informer, for zones and percentages; nullopt: the node is gone.
  void set_node(const std::string& node, std::optional<NodeFacts> facts);

  /// From the Evacuation informer: `before` is nullptr for a new one, `after` for a deleted one.
  void observe(const api::Evacuation* before, const api::Evacuation* after);

  /// Asks for the slot, or waits for it. Idempotent: a granted one stays granted until the store shows the attempt.
  Admission request(const AdmissionRequest& request);

  /// The one that was just admitted is expected on another node than it asked with. False: that node's limit is full,
  /// and nothing changed.
  bool expect_on(const api::ObjectKey& key, const std::string& node);

  /// The Evacuation does not want to begin (any more): stops waiting and gives its reservation back; the token for it
  /// too, unless the attempt that it was for is among the `begun` ones.
  void withdraw(const api::ObjectKey& key, std::int32_t begun = 0);
  /// Withdraws a request or reservation only if it is for an attempt after `begun`. See withdraw().
  void withdraw_later_attempts(const api::ObjectKey& key, std::int32_t begun);

  /// No cache shows it any more, or it has ended. What a request that was under way meanwhile has left is dropped; what
  /// observe() keeps stays.
  void forget(const api::ObjectKey& key);

  /// The pod of a deleted one that still holds its slot, because it was asked to leave: forget() frees that. nullopt:
  /// there is none.
  std::optional<AdmissionEntry::Departing> departing(const api::ObjectKey& key) const;

  /// Counts the Evacuation for its workload only from now on: its pod takes too long to leave (T38).
  void stop_counting_departing(const api::ObjectKey& key);

  /// Does anybody wait for what this one holds? A PodGroup that waits for several slots counts as one.
  bool is_waited_for(const api::ObjectKey& key) const;
  /// Returns whether another Evacuation waits for a slot that T38 gives back: any but that of the workload.
  bool is_departure_waited_for(const api::ObjectKey& key) const;

  /// Its state cannot be stored, as this version of it: it holds and asks for nothing until observe() shows another
  /// one. Its claim on the pod stays.
  void abandon(const api::ObjectKey& key, const std::string& resource_version);

  /// Name of the Evacuation that has the older claim on the same pod; empty: none.
  std::string duplicate_of(const api::Evacuation& evacuation) const;

  /// Who was evacuated lately; fed by observe().
  const CooldownLedger& cooldowns() const { return cooldowns_; }
  /// A policy's status remembers what finished Evacuations no longer tell.
  void restore_cooldowns(const std::string& policy, const std::vector<api::CooldownRecord>& records);

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

  /// Runs `change` under the lock, lets in whoever may go now, and wakes them.
  template <typename Change>
  void apply(Change&& change);
  void wake(const Wakeups& wakeups, const api::ObjectKey* except = nullptr) const;

  // All REQUIRE mutex_ held.
  Entry& entry_for(const api::ObjectKey& key, const std::string& uid, const std::string& pod_uid,
                   base::TimePoint created);
  void show(const api::Evacuation& evacuation);
  void set_scopes(Entry& entry, AdmissionRequest request);
  void rescope(const std::string& node);
  /// Makes its scopes count what it holds now.
  void recount(Entry& entry) { count_as(entry, entry.held()); }
  void count_as(Entry& entry, Entry::Held held);
  void uncount(Entry& entry);
  void end_arrivals(base::TimePoint now);
  void wait(Entry& entry, std::int32_t attempt, const AdmissionOrder& order);
  void wait_again(Entry& entry, Entry::Turn before);
  void make_ready(const AdmissionOrder& order) { ready_.insert(order, 1, turn_); }
  void stop_waiting(Entry& entry);
  void unpark_pod_group(const Entry& entry);
  void park(Entry& entry, const std::string& scope_id, std::int64_t need = 1);
  void unpark_reopened(base::TimePoint now);
  /// Admits whoever may go now, in order; the others are parked where they have to wait.
  void admit_waiting(Wakeups& wakeups);
  void admit(Entry& entry, base::TimePoint now);
  void give_back(Entry& entry, std::int32_t begun);
  /// With the lock held; wakes the others that it lets in.
  Admission request_locked(const AdmissionRequest& request, Wakeups& wakeups);
  void keep_reserved(Entry& entry, std::int32_t attempt);
  Slot slot_of(const Entry& entry);

  // PodGroups, in pod_groups.cpp: one waits for all; all are admitted, or none.
  /// The ones that begin together with it: itself and, over all their views, whom it asks with and who has not begun.
  /// Empty: one of them does not ask (yet).
  std::vector<Entry*> pod_group_of(const Entry& entry);
  void wait_with_pod_group(Entry& entry, std::int32_t attempt);
  /// Neither it nor anybody of its PodGroup waits then; the others go on asking.
  void leave_pod_group(Entry& entry);
  /// Why a PodGroup of that many pods will never be admitted, whoever else runs; nullopt: it may be. Known before it is
  /// looked through, so that what it costs does not grow with it. REQUIRES: its scopes are attached.
  std::optional<api::Blocker> too_large(const AdmissionRequest& request) const;
  /// It waits alone, and keeps none of the keys of the others.
  std::optional<Slot> refuse_too_large(Entry& entry, const AdmissionRequest& request);
  AdmissionScopes::Needs needs_of(const std::vector<Entry*>& pod_group) const;
  /// Why its PodGroup waits. REQUIRES: it asks with it.
  api::Blocker pod_group_blocker(const Entry& entry);
  Slot pod_group_slot(const Entry& entry);
  /// Free capacity for every surge pod of the PodGroup, or for none. When there is, each is expected where its free
  /// capacity is.
  bool find_capacity(const std::vector<Entry*>& pod_group, base::TimePoint now, Wakeups& wakeups);
  /// False: the cluster has no free capacity for it, and nobody overtakes it.
  bool admit_pod_group(Entry& first, base::TimePoint now, Wakeups& wakeups);
  /// Only what a policy asks for again is excluded (cooling down): people may have reasons, and a retry has its own
  /// back-off.
  std::optional<CooldownLedger::Cooling> cooling(const AdmissionRequest& request, base::TimePoint now) const;
  void wake_at_tokens(base::TimePoint now, Wakeups& wakeups);
  void erase(const api::ObjectKey& key);
  void keep_departing(const api::Evacuation& deleted);
  std::string claimant(const api::ObjectKey& key, const Entry& entry) const;

  const base::Clock& clock_;
  const Wake wake_;
  const WaitingLine::Turn turn_ = [this](const std::string& ns) { return scopes_.turn_of(ns); };
  Reservations* reservations_ = nullptr;
  mutable std::mutex mutex_;
  AdmissionScopes scopes_;
  CooldownLedger cooldowns_;
  std::map<api::ObjectKey, Entry> entries_;
  std::unordered_map<std::string, std::set<api::ObjectKey>> by_pod_;  ///< "<namespace>/<uid>"
  std::unordered_map<std::string, std::set<api::ObjectKey>> by_node_;
  ManualArrivals arrivals_;
  WaitingLine ready_;  ///< waiting, and nothing narrower than the cluster's total is known to hold them
};

}  // namespace controllers
