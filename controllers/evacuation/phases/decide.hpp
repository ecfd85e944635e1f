#pragma once

/// Life cycle of an Evacuation as pure functions (state-machine.md#transitions): from an observation to the status to
/// store, the action to take and the time of the next reconcile. No I/O, clock or log. Reconciler is the shell around
/// it.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"
#include "controllers/admission/request.hpp"
#include "controllers/evacuation/phases/group_view.hpp"
#include "evictors/evictor.hpp"
#include "evictors/registry.hpp"
#include "kube/runtime/event.hpp"
#include "kube/runtime/requeue.hpp"

namespace controllers::evacuation {

/// Pod with the same controller as the leaving pod.
struct Sibling {
  std::shared_ptr<const api::Pod> pod;
  bool claimed = false;  ///< already the replacement of another Evacuation
};

/// Rules of the operator's configuration for every Evacuation. An Evacuation is manual if the operator did not create
/// it (!api::origin_is_verified).
struct OperatorRules {
  base::Duration slot_without_progress = base::minutes(10);  ///< T36, T38; 0 disables both
  /// Maximum part of a pod's grace period, and of an attempt, that counts as progress (T36, T38).
  base::Duration max_progress = std::chrono::hours(1);
  std::int32_t manual_priority = 1000;                        ///< maximum effective priority of manual Evacuations
  base::Duration manual_suspended = std::chrono::hours(168);  ///< time until a suspended one expires; 0: never
  base::Duration manual_ttl = std::chrono::hours(168);        ///< maximum time to live of a finished one
  /// Whether a scheduler extender serves spec.placement. Its hints leave no mark on the new pod; only its node shows
  /// them.
  bool extender_serves_hints = false;
};

/// Complete input of decide().
struct Observed {
  api::Evacuation evacuation;
  std::shared_ptr<const api::Pod> pod;  ///< current pod of that name, possibly a successor; nullptr if none
  bool pod_is_cached = false;           ///< `pod` comes from the cache and may be stale
  /// While Pending, why the spec is invalid; later, why it cannot be decoded (`evacuation` has the fields that can).
  /// Empty if valid.
  std::string spec_problem;
  std::string spec_hash;      ///< hash of the current spec, empty if unknown
  bool spec_changed = false;  ///< the spec differs from the accepted one
  std::string creator;        ///< evictors::EvictorContext::creator
  std::string origin;         ///< why the Evacuation counts as manual; only while that is not stored
  bool policy_gone = false;   ///< the Evacuation is being deleted, and so is (or was) its policy
  /// Its policy creates suspended Evacuations (mode Manual), which may wait for approval without limit.
  bool policy_suspends = false;
  PodGroupView pod_group;   ///< PodGroup of the pod while it exists; empty for dry runs
  std::string pvc_risk;     ///< why deleting the pod would lose data, empty if no reason is known
  std::string whole_group;  ///< why the pod may not leave without its PodGroup of scheduling.k8s.io, empty if it may
  bool refusal_may_pass = false;  ///< the 403 just received may come from an API server that has just started
  std::string not_allowed;        ///< why a service must not be called for it, empty if no call was refused
  std::string duplicate_of;       ///< name of another unfinished Evacuation of the same pod UID, empty if none
  Slot slot;
  /// Why no other node can take a pod of an emptied node, empty if one can.
  std::string no_destination;
  std::set<std::string> emptied_nodes;  ///< Verifying: nodes emptied together with the pod's node
  bool slot_is_waited_for = false;      ///< another Evacuation could begin if this one released its slot
  /// Another Evacuation could begin if this one only kept its workload's slot (T38).
  bool departure_is_waited_for = false;
  OperatorRules rules;
  std::vector<Sibling> siblings;  ///< read once the pod's controller is known
  /// How long earlier Evacuations of the same workload were InProgress, ascending; at most the newest 16.
  std::vector<base::Duration> past_durations;
  std::optional<std::int32_t> desired_replicas;                       ///< replicas of the pod's controller, if known
  std::vector<std::shared_ptr<const api::PodDisruptionBudget>> pdbs;  ///< cached PDBs that cover the pod, for messages
  std::vector<std::int64_t> ended;  ///< per entry of `pdbs`: number of covered terminal pods of the pod's owner
  bool woken = false;               ///< a PDB that blocked it allows more now: skip the delay
  base::TimePoint resumed_at{};     ///< time at which this replica became the leader
  std::string actor;                ///< identity of this replica, for the history
  std::string eviction_version = "v1";
  bool serves_native_evictions = false;
  std::map<std::string, std::vector<evictors::Document>, std::less<>> documents;  ///< by evictor
  std::map<std::string, base::TimePoint, std::less<>> dead_until;                 ///< evictors that no component serves
  std::vector<std::string> services;                                              ///< names of configured services
};

/// Fields of the spec that a manual Evacuation may omit, filled from a live read.
struct SpecFill {
  api::PodUid uid;
  api::NodeName node;
  friend bool operator==(const SpecFill&, const SpecFill&) = default;
};

/// Result of decide(). Steps in order: request the slot, then call decide() again; write the main object (fill,
/// finalizers), then call decide() again; store the status if it differs; publish the events; send the action and pass
/// its answer to decide_answer(). If no step applies, wait.
struct Decision {
  api::EvacuationStatus status;
  bool wants_slot = false;
  bool needs_capacity = false;  ///< with wants_slot: capacity for a surge pod of the pod
  std::optional<SpecFill> fill;
  bool add_finalizer = false;
  bool remove_finalizer = false;
  bool remove_object = false;  ///< its time to live has passed
  std::optional<evictors::Action> action;
  std::vector<kube::Event> events;  ///< without the objects that they refer to (Evacuation and pod)
  std::string dead;                 ///< evictor that turned out to have no serving component
  bool look_again = false;          ///< the outcome is unknown: read the pod live and decide again at once
  kube::Requeue requeue;

  /// Whether there is anything to write or do, apart from requesting a slot.
  bool acts(const api::EvacuationStatus& stored) const {
    return fill || add_finalizer || remove_finalizer || remove_object || action || !(status == stored);
  }
};

/// Documents that the relevant evictors want to read besides the pod, by evictor. `seen` contains those read already.
std::map<std::string, std::vector<evictors::Read>> wanted_reads(const Observed& seen,
                                                                const evictors::EvictorRegistry& registry,
                                                                base::TimePoint now);

Decision decide(const Observed& seen, const evictors::EvictorRegistry& registry, base::TimePoint now);

/// Decides on the answer to `action`. `seen.evacuation` has the unresolved intent.
Decision decide_answer(const Observed& seen, const evictors::EvictorRegistry& registry, const evictors::Action& action,
                       const evictors::CallResult& answer, base::TimePoint now);

/// Maximum time for which a terminating pod counts in the departure limits while others wait (T38). `pod` may be
/// nullptr (unknown).
base::Duration departure_counts_for(const OperatorRules& rules, const api::EvacuationSpec& spec, const api::Pod* pod);

/// A granted eviction must show as a deletionTimestamp within this time (T31).
inline constexpr base::seconds kDeleteVisibleWithin{30};
/// Grace period after a leader change for deadlines that passed before it: the event that meets them may not be
/// observed yet.
inline constexpr base::seconds kResumeGrace{30};
/// Time during which a dead evictor is not tried.
inline constexpr base::minutes kDeadFor{5};
/// Maximum number of granted evictions that do not delete the pod.
inline constexpr int kMaxGrantedWithoutDelete = 3;

}  // namespace controllers::evacuation
