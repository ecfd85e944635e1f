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

/// Index names that the reconciler asks of the stores; add_evacuation_indexes() makes them.
inline constexpr std::string_view kEvacuationsByPod = "evacuator-pod";      ///< evacuations: "<ns>/<pod name>"
inline constexpr std::string_view kEvacuationsByOwner = "evacuator-owner";  ///< evacuations: owner_index_key
inline constexpr std::string_view kEvacuationsByPlan = "evacuator-plan";    ///< evacuations: plan_index_key
inline constexpr std::string_view kPodsByOwner = "evacuator-owner";         ///< pods: owner_index_key
/// "<ns>/<uid of the pod's controller>": anybody may name any UID as an owner, and means one of the own namespace.
std::string owner_index_key(const std::string& ns, const api::OwnerReference& owner);
inline constexpr std::string_view kPodsByClaim = "evacuator-claim";          ///< pods: "<ns>/<PersistentVolumeClaim>"
inline constexpr std::string_view kPdbsByNamespace = "evacuator-namespace";  ///< PDBs: namespace
/// REQUIRES: the stores are still empty.
void add_evacuation_indexes(kube::Store<api::Evacuation>& evacuations, kube::Store<api::Pod>& pods,
                            kube::Store<api::PodDisruptionBudget>& pdbs);

/// The thin shell around decide(): observe in the caches; when there is something to do, read pod and Evacuation live,
/// decide again, write the status (intent ahead), call, write the outcome. Resumes after a crash from what it finds
/// stored. Thread-safe for different keys (the work queue hands a key to one worker at a time); keeps no state of its
/// own that matters: losing it costs a delay, nothing else.
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
    kube::EventSink& events;  ///< `regarding` the Evacuation, `related` its pod
    Metrics& metrics;
    std::function<bool()> may_act;  ///< false: not the leader (any more); asked before every mutating call
    /// spec.replicas of a pod's controller, if known. May be empty.
    std::function<std::optional<std::int32_t>(const std::string& ns, const api::OwnerReference& owner)>
        desired_replicas;
    std::string identity;                 ///< of this replica
    std::string eviction_version = "v1";  ///< kube::Discovery::eviction_version
    base::Log log;
    std::counting_semaphore<>* eviction_slots =
        nullptr;                           ///< eviction calls at the same time; nullptr: as many as workers
    Reservations* reservations = nullptr;  ///< nullptr: nobody asks for free capacity
    ServiceCaller* services = nullptr;     ///< nullptr: none is configured
    /// nullptr: claims are only read live, before a call.
    const kube::Store<api::PersistentVolumeClaim>* claims = nullptr;
    const kube::Store<api::SchedulingPodGroup>* pod_groups = nullptr;  ///< nullptr: the server has none
    std::optional<kube::ResourceType> pod_group_kind{};                ///< as served; with `pod_groups`
    Audit& audit = no_audit();
    /// Is there a DeschedulerPolicy of that name and UID that is not being deleted? May be empty.
    std::function<bool(const std::string& name, const std::string& uid)> policy_lives = {};
    /// Does the DeschedulerPolicy of that name make suspended Evacuations (mode Manual)? May be empty: none does.
    std::function<bool(const std::string& name)> policy_suspends = {};
    KeySource& keys = keys_in_memory();  ///< by which the operator recognises what it made
    OperatorRules rules = {};
    OriginMemory* origins = nullptr;       ///< nullptr: an object that is made again word for word counts, too
    bool places_pods = false;              ///< somebody serves hints: spec.placement means something
    bool trusts_creators = false;          ///< webhook.admission.trustCreators
    bool allows_required = false;          ///< manual Evacuations may have spec.placement.policy Required
    bool serves_native_evictions = false;  ///< kube::Discovery::has_native_evictions
    const base::Clock* steady = nullptr;   ///< of delays that are in memory only; nullptr: `clock`
    /// Does the strategy of that name empty nodes in waves? May be empty: none does.
    std::function<bool(const std::string& strategy)> plans_in_waves = {};
    EmptiesNode empties_node = {};  ///< may be empty: none does
    /// What the plan of that policy says of nodes, as far as moves of that strategy go. May be empty: nothing.
    std::function<PlannedNodes(const std::string& policy, const std::string& strategy)> planned_nodes = {};
  };

  explicit Reconciler(Dependencies dependencies);

  /// This replica leads from now on: deadlines that passed meanwhile get a grace. Call before the first reconcile.
  void resume(base::TimePoint now);

  /// Errors are worth a retry with back-off; kCancelled: may_act() said no.
  base::Result<kube::Requeue> reconcile(const api::ObjectKey& key);

  /// The Evacuation of that version, if it is the newest that we wrote. Any thread.
  std::optional<api::Evacuation> own_write(const api::ObjectMeta& meta) const;

  /// Those whose state the API server refuses to store.
  const RefusedWrites& refused_writes() const { return refused_; }

  /// Evacuations that a change of this pod may concern: its own, those of its PodGroup, those that it replaces the pod
  /// of, and the kMaxWokenAtOnce oldest of its owner that wait for a replacement.
  std::vector<api::ObjectKey> keys_for_pod(const api::Pod& pod) const;
  static constexpr std::size_t kMaxWokenAtOnce = 16;

  /// The other ones of its owner that wait for a replacement, to be enqueued after `delay`. Each of them looks at all
  /// pods and Evacuations of the owner: woken by each event they would cost the square of their number.
  struct LaterKeys {
    std::vector<api::ObjectKey> keys;
    base::Duration delay{};
  };
  LaterKeys later_keys_for_pod(const api::Pod& pod) const;

  /// Evacuations of the same PodGroup that wait for what just changed; nullptr: there was or is none.
  std::vector<api::ObjectKey> keys_for_pod_group(const api::Evacuation* before, const api::Evacuation* after) const;

  /// Evacuations to be enqueued because a PDB that blocks them allows more than before (`after` nullptr: deleted): the
  /// first `disruptionsAllowed` of them by priority, in turns, the longest waiting first. Their next reconcile does not
  /// wait for the delay. Beside them the members of each PodGroup that it lets go as a whole now.
  std::vector<api::ObjectKey> on_pdb_changed(const api::PodDisruptionBudget* before,
                                             const api::PodDisruptionBudget* after);

  /// Evacuations of the pods that use a claim which has just begun to be deleted, or is Lost from now on: with their
  /// pods their data would go.
  std::vector<api::ObjectKey> on_claim_changed(const api::PersistentVolumeClaim* before,
                                               const api::PersistentVolumeClaim* after) const;

 private:
  class ReconcileRun;  // one reconcile: reconcile_run.hpp

  /// An answer could not be stored: the next try would be the same call again, so it backs off, longer each time.
  void back_off_after_lost_record(const api::ObjectKey& key);
  std::optional<base::Duration> refused_for(const api::ObjectKey& key) const;
  std::optional<base::Duration> backs_off_for(const api::ObjectKey& key) const;
  /// An Evacuation of that namespace found that nothing serves that evictor. True: it counts for all Evacuations from
  /// now on. A manual one alone does not decide for others: two namespaces have to find the same within kDeadFor.
  bool mark_dead(const std::string& evictor, const std::string& ns, bool is_trusted, base::TimePoint now);
  base::TimePoint steady_now() const { return (deps_.steady ? *deps_.steady : deps_.clock).now(); }

  /// The newest version of an Evacuation that we wrote, as long as the cache shows an older one.
  struct OwnWrite {
    StoredEvacuation stored;
    std::vector<std::string> older;  ///< resourceVersions that it came after
  };
  /// The grant of an eviction that is not stored yet. The stored intent is unresolved, so losing this is the same as
  /// losing the answer.
  struct UnsavedGrant {
    evictors::Action action;
    evictors::CallResult answer;
    base::TimePoint answered_at{};  ///< by `clock`
    base::TimePoint due{};          ///< by steady_now(): it is stored then at the latest
  };
  /// nullopt: the cache shows the newest that we know of.
  std::optional<StoredEvacuation> newer_than(const api::Evacuation& cached);
  void note_write(const api::ObjectKey& key, const StoredEvacuation& written, std::vector<std::string> older);
  void note_unsaved(const api::ObjectKey& key, UnsavedGrant grant);
  std::optional<UnsavedGrant> unsaved_of(const api::ObjectKey& key) const;
  void forget_unsaved(const api::ObjectKey& key);
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
  mutable std::mutex mutex_;  ///< of what follows
  std::map<api::ObjectKey, Backoff> backoffs_;
  std::map<std::string, base::TimePoint, std::less<>> dead_until_;              ///< evictors that nothing serves here
  std::map<std::string, std::map<std::string, base::TimePoint>> dead_reports_;  ///< by evictor and namespace
  std::map<api::ObjectKey, OwnWrite> own_writes_;
  std::map<api::ObjectKey, UnsavedGrant> unsaved_;
};

}  // namespace controllers::evacuation
