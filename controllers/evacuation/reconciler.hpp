#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "controllers/admission/pdb_waiters.hpp"
#include "controllers/admission/queue.hpp"
#include "controllers/admission/reservations.hpp"
#include "controllers/evacuation/departures.hpp"
#include "controllers/evacuation/emptied_nodes.hpp"
#include "controllers/evacuation/io.hpp"
#include "controllers/evacuation/missing_rights.hpp"
#include "controllers/evacuation/origin/keys.hpp"
#include "controllers/evacuation/origin/origin_memory.hpp"
#include "controllers/evacuation/phases/decide.hpp"
#include "controllers/evacuation/ports.hpp"
#include "controllers/evacuation/refused_writes.hpp"
#include "controllers/evacuation/unconfirmed.hpp"
#include "evictors/registry.hpp"
#include "kube/client.hpp"
#include "kube/runtime/event.hpp"
#include "kube/runtime/requeue.hpp"
#include "kube/runtime/store.hpp"

namespace controllers::evacuation {

/// Index names used by the reconciler, created by add_evacuation_indexes().
inline constexpr std::string_view kEvacuationsByPod = "evacuator-pod";      ///< evacuations: "<ns>/<pod name>"
inline constexpr std::string_view kEvacuationsByOwner = "evacuator-owner";  ///< evacuations: owner_index_key
inline constexpr std::string_view kEvacuationsByPlan = "evacuator-plan";    ///< evacuations: plan_index_key
inline constexpr std::string_view kPodsByOwner = "evacuator-owner";         ///< pods: owner_index_key
/// Returns "<ns>/<UID of the pod's controller>". The namespace is part of the key because any client can name any
/// UID as an owner; only owners in the same namespace are meant.
std::string owner_index_key(const std::string& ns, const api::OwnerReference& owner);
inline constexpr std::string_view kPodsByClaim = "evacuator-claim";          ///< pods: "<ns>/<PersistentVolumeClaim>"
inline constexpr std::string_view kPdbsByNamespace = "evacuator-namespace";  ///< PDBs: namespace
/// REQUIRES: the stores are still empty.
void add_evacuation_indexes(kube::Store<api::Evacuation>& evacuations, kube::Store<api::Pod>& pods,
                            kube::Store<api::PodDisruptionBudget>& pdbs);

/// Thin shell around decide(). Observes the caches; if there is something to do, reads pod and Evacuation live, decides
/// again, writes the status (with the intent before the call), calls, and writes the outcome. After a crash it resumes
/// from the stored state. Its own state is a cache only: losing it causes a delay at most. Thread-safe for different
/// keys (the work queue gives a key to one worker at a time).
class Reconciler {
 public:
  struct Dependencies {
    kube::Client& client;
    const base::Clock& clock;
    const evictors::EvictorRegistry& evictors;
    const kube::Store<api::Evacuation>& evacuations;
    const kube::Store<api::Pod>& pods;
    const kube::Store<api::PodDisruptionBudget>& pdbs;
    AdmissionQueue& admission;
    kube::EventSink& events;  ///< `regarding` is the Evacuation, `related` its pod
    Metrics& metrics;
    std::function<bool()> may_act;  ///< false if not the leader (any more); called before every mutating call
    /// Returns spec.replicas of a pod's controller if known. May be empty.
    std::function<std::optional<std::int32_t>(const std::string& ns, const api::OwnerReference& owner)>
        desired_replicas;
    std::string identity;                 ///< of this replica
    std::string eviction_version = "v1";  ///< kube::Discovery::eviction_version
    base::Log log;
    std::counting_semaphore<>* eviction_slots =
        nullptr;  ///< limits concurrent eviction calls; nullptr: limited by the number of workers only
    Reservations* reservations = nullptr;  ///< nullptr: free capacity is not reserved
    ServiceCaller* services = nullptr;     ///< nullptr: no service is configured
    /// nullptr: PersistentVolumeClaims are read live only, before a call
    const kube::Store<api::PersistentVolumeClaim>* claims = nullptr;
    const kube::Store<api::SchedulingPodGroup>* pod_groups = nullptr;  ///< nullptr: the server does not have the kind
    std::optional<kube::ResourceType> pod_group_kind{};  ///< kind as served; set together with `pod_groups`
    Audit& audit = no_audit();
    /// Whether a DeschedulerPolicy with this name and UID exists and is not being deleted. May be empty.
    std::function<bool(const std::string& name, const std::string& uid)> policy_lives = {};
    /// Whether the DeschedulerPolicy with this name creates suspended Evacuations (mode Manual). Empty means none does.
    std::function<bool(const std::string& name)> policy_suspends = {};
    KeySource& keys = process_keys();  ///< verify which Evacuations the operator created
    OperatorRules rules = {};
    OriginMemory* origins = nullptr;       ///< nullptr: an identical re-created object is accepted as well
    bool places_pods = false;              ///< whether placement hints are served, i.e. spec.placement has an effect
    bool trusts_creators = false;          ///< webhook.admission.trustCreators
    bool allows_required = false;          ///< whether manual Evacuations may have spec.placement.policy Required
    bool serves_native_evictions = false;  ///< kube::Discovery::has_native_evictions
    const base::Clock* steady = nullptr;   ///< clock for delays that are kept in memory only; nullptr: `clock`
    /// Whether the strategy with this name empties nodes in waves. Empty means none does.
    std::function<bool(const std::string& strategy)> plans_in_waves = {};
    EmptiesNode empties_node = {};  ///< empty means no move empties a node
    /// Returns the nodes in the plan of a policy, for moves of one strategy. Empty means no plan is known.
    std::function<PlannedNodes(const std::string& policy, const std::string& strategy)> planned_nodes = {};
  };

  explicit Reconciler(Dependencies dependencies);

  /// Sets the time at which this replica became the leader; deadlines that passed before it get a grace period. Call
  /// before the first reconcile.
  void resume(base::TimePoint now) { resumed_at_ = now.time_since_epoch().count(); }

  /// Errors should be retried with backoff. Returns kCancelled if may_act() returned false.
  base::Result<kube::Requeue> reconcile(const api::ObjectKey& key);

  /// Returns the Evacuation with the version of `meta` if that is the newest version that this process wrote. Any
  /// thread.
  std::optional<api::Evacuation> own_write(const api::ObjectMeta& meta) const;

  /// Evacuations whose state the API server refuses to store.
  const RefusedWrites& refused_writes() const { return refused_; }

  /// Evacuations that a change of `pod` may concern: those of the pod and of its PodGroup, those that have it as their
  /// replacement, and the kMaxWokenAtOnce oldest of its owner that wait for a replacement.
  std::vector<api::ObjectKey> keys_for_pod(const api::Pod& pod) const;
  static constexpr std::size_t kMaxWokenAtOnce = 16;

  /// Further Evacuations of the owner that wait for a replacement, to be enqueued after `delay`. Each of them reads all
  /// pods and Evacuations of the owner, so waking all of them on each event would have quadratic cost.
  struct LaterKeys {
    std::vector<api::ObjectKey> keys;
    base::Duration delay{};
  };
  LaterKeys later_keys_for_pod(const api::Pod& pod) const;

  /// Evacuations of the same PodGroup that wait for this change. nullptr: absent before or after it.
  std::vector<api::ObjectKey> keys_for_pod_group(const api::Evacuation* before, const api::Evacuation* after) const;

  /// Returns the Evacuations to enqueue because a PDB that blocks them allows more than before (`after` nullptr:
  /// deleted). Selects the first `disruptionsAllowed` by priority, round-robin, the longest waiting first; their next
  /// reconcile skips the delay. Adds the members of each PodGroup that the PDB now allows to leave as a whole.
  std::vector<api::ObjectKey> on_pdb_changed(const api::PodDisruptionBudget* before,
                                             const api::PodDisruptionBudget* after);

  /// Evacuations of the pods that use a PersistentVolumeClaim that has just become terminating or Lost: evicting these
  /// pods would lose their data.
  std::vector<api::ObjectKey> on_pvc_changed(const api::PersistentVolumeClaim* before,
                                             const api::PersistentVolumeClaim* after) const;

 private:
  friend class LatestState;   // latest_state.hpp
  friend class ReconcileRun;  // reconcile_run.hpp

  /// Called when an answer could not be stored. The next reconcile would repeat the call, so it is delayed with
  /// exponential backoff.
  void back_off_after_lost_record(const api::ObjectKey& key);
  /// Returns the remaining exclusion of an Evacuation whose last write was refused, while its version is unchanged.
  std::optional<base::Duration> refused_for(const api::ObjectKey& key) const {
    const auto cached = deps_.evacuations.get(key);
    return cached ? refused_.backs_off_for(key, cached->meta.resource_version, steady_now()) : std::nullopt;
  }
  std::optional<base::Duration> backs_off_for(const api::ObjectKey& key) const;
  /// Records that an Evacuation in `ns` found no component that serves `evictor`. Returns whether all Evacuations treat
  /// the evictor as dead from now on. An untrusted (manual) Evacuation alone does not suffice: two namespaces must
  /// report it within kDeadFor.
  bool mark_dead(const std::string& evictor, const std::string& ns, bool is_trusted, base::TimePoint now);
  base::TimePoint steady_now() const { return (deps_.steady ? *deps_.steady : deps_.clock).now(); }

  /// Newest version of an Evacuation that this process wrote, kept while the cache shows an older one.
  struct OwnWrite {
    StoredEvacuation stored;
    std::vector<std::string> older;  ///< resourceVersions that precede it
  };
  /// Granted eviction whose answer is not stored yet. The stored intent is unresolved, so losing this is equivalent to
  /// a lost answer.
  struct UnsavedGrant {
    evictors::Action action;
    evictors::CallResult answer;
    base::TimePoint answered_at{};  ///< by `clock`
    base::TimePoint due{};          ///< latest time at which it is stored, by steady_now()
  };
  /// Returns nullopt if the cache shows the newest known version.
  std::optional<StoredEvacuation> newer_than(const api::Evacuation& cached);
  void note_write(const api::ObjectKey& key, const StoredEvacuation& written, std::vector<std::string> older);
  void note_unsaved(const api::ObjectKey& key, UnsavedGrant grant) {
    const std::scoped_lock lock(mutex_);
    unsaved_.insert_or_assign(key, std::move(grant));
  }
  std::optional<UnsavedGrant> unsaved_of(const api::ObjectKey& key) const {
    const std::scoped_lock lock(mutex_);
    const auto found = unsaved_.find(key);
    return found == unsaved_.end() ? std::nullopt : std::optional(found->second);
  }
  void forget_unsaved(const api::ObjectKey& key) {
    const std::scoped_lock lock(mutex_);
    unsaved_.erase(key);
  }
  void forget_own(const api::ObjectKey& key);

  Dependencies deps_;
  std::atomic<base::Duration::rep> resumed_at_{0};
  PdbWaitList pdb_waiters_;
  RefusedWrites refused_;
  Departures departures_;
  MissingRights missing_rights_;
  UnconfirmedWrites unconfirmed_;
  struct Backoff {
    int failures = 0;
    base::TimePoint until{};
  };
  mutable std::mutex mutex_;  ///< guards the members below
  std::map<api::ObjectKey, Backoff> backoffs_;
  std::map<std::string, base::TimePoint, std::less<>> dead_until_;  ///< evictors that no component serves here
  std::map<std::string, std::map<std::string, base::TimePoint>> dead_reports_;  ///< by evictor and namespace
  std::map<api::ObjectKey, OwnWrite> own_writes_;
  std::map<api::ObjectKey, UnsavedGrant> unsaved_;
};

}  // namespace controllers::evacuation
