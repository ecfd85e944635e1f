#pragma once

/// The whole life of an Evacuation as pure functions (state-machine.md#transitions): what was observed → what to store,
/// to do and when to look again. No I/O, no clock, no log. The shell around it is Reconciler.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"
#include "controllers/admission/slot.hpp"
#include "controllers/evacuation/phases/group_view.hpp"
#include "evictors/evictor.hpp"
#include "evictors/registry.hpp"
#include "kube/runtime/event.hpp"
#include "kube/runtime/requeue.hpp"

namespace controllers::evacuation {

/// A pod of the same controller as the leaving one.
struct Sibling {
  std::shared_ptr<const api::Pod> pod;
  bool claimed = false;  ///< already counted as the replacement in another Evacuation
};

/// What the operator's configuration says about every Evacuation. "By hand": the operator did not make it
/// (api::origin_is_verified).
struct OperatorRules {
  base::Duration slot_without_progress = base::minutes(10);  ///< T36, T38; 0: never
  /// Of a pod's grace period, and of an attempt, at most this counts as progress (T36, T38).
  base::Duration max_progress = std::chrono::hours(1);
  std::int32_t manual_priority = 1000;                        ///< the highest that counts
  base::Duration manual_suspended = std::chrono::hours(168);  ///< then it expires; 0: never
  base::Duration manual_ttl = std::chrono::hours(168);        ///< of a finished one, at most
  /// A scheduler extender serves spec.placement: nothing on the new pod says that it took the hint, but its node.
  bool extender_serves_hints = false;
};

/// All that decide() may look at.
struct Observed {
  api::Evacuation evacuation;
  std::shared_ptr<const api::Pod> pod;  ///< whatever pod has that name now, also a successor; nullptr: none
  bool pod_is_cached = false;           ///< `pod` is what the cache shows: it may be old
  /// Pending: why the spec is invalid; later: why it cannot be read any more, `evacuation` has what can. Empty: it is
  /// valid.
  std::string spec_problem;
  std::string spec_hash;      ///< of the spec as it is; empty: unknown
  bool spec_changed = false;  ///< it is not the spec that was accepted
  std::string creator;        ///< evictors::EvictorContext::creator
  std::string origin;         ///< why it counts as made by hand; only where that is not stored yet
  bool policy_gone = false;   ///< it is being deleted, and so is (or was) the policy that owns it
  bool policy_suspends =
      false;                ///< its policy makes suspended ones (mode Manual): waiting for a person is what it is for
  PodGroupView pod_group;   ///< of the pod, while it is there; empty for dry runs
  std::string claim_risk;   ///< why the pod's end would cost its data; empty: nothing is known against it
  std::string whole_group;  ///< why it may not leave without its PodGroup of scheduling.k8s.io; empty: it may
  bool refusal_may_pass = false;  ///< the 403 just answered may be of an API server that has just started
  std::string not_allowed;        ///< why a service may not be called for it, as just seen; empty: none was refused
  std::string duplicate_of;       ///< name of another unfinished Evacuation that moves the same pod UID; empty: none
  Slot slot;
  /// Why a pod that leaves an emptied node has no other node to go to, as just seen; empty: it has one.
  std::string no_destination;
  std::set<std::string> emptied_nodes;   ///< Verifying: nodes that are emptied together with the pod's
  bool slot_is_waited_for = false;       ///< another one could begin if this one gave its slot back
  bool departure_is_waited_for = false;  ///< another one could begin if this one kept its workload's slot only (T38)
  OperatorRules rules;
  std::vector<Sibling> siblings;  ///< looked up once the pod's controller is known
  /// How long earlier Evacuations of the same workload were InProgress, shortest first; at most the newest 16.
  std::vector<base::Duration> past_durations;
  std::optional<std::int32_t> desired_replicas;  ///< of the pod's controller, if known
  std::vector<std::shared_ptr<const api::PodDisruptionBudget>>
      pdbs;                         ///< covering the pod, as cached: numbers for people
  std::vector<std::int64_t> ended;  ///< one for each of them: terminal pods of the pod's owner that it covers
  bool woken = false;               ///< a PDB that blocked it allows more now: do not wait for the delay
  base::TimePoint resumed_at{};     ///< when this replica began to act
  std::string actor;                ///< identity of this replica, for the history
  std::string eviction_version = "v1";
  bool serves_native_evictions = false;
  std::map<std::string, std::vector<evictors::Document>, std::less<>> documents;  ///< by evictor
  std::map<std::string, base::TimePoint, std::less<>> dead_until;                 ///< evictors that nobody serves
  std::vector<std::string> services;                                              ///< configured ones
};

/// Fields of the spec that a manual Evacuation may leave out, from a live read.
struct SpecFill {
  api::PodUid uid;
  api::NodeName node;
  friend bool operator==(const SpecFill&, const SpecFill&) = default;
};

/// In this order: the slot is asked for and decide() called again; the main object is written (fill, finalizers) and
/// decide() called again; the status is stored if it differs; events go out; the action is sent and its answer given to
/// decide_answer(). Nothing of it applies: wait.
struct Decision {
  api::EvacuationStatus status;
  bool wants_slot = false;
  bool needs_capacity = false;  ///< with wants_slot: for a surge pod of the pod
  std::optional<SpecFill> fill;
  bool add_finalizer = false;
  bool remove_finalizer = false;
  bool remove_object = false;  ///< its time to live is over
  std::optional<evictors::Action> action;
  std::vector<kube::Event> events;  ///< without the objects that they are about: the Evacuation and its pod
  std::string dead;                 ///< evictor that nobody serves here, as just seen
  bool look_again = false;          ///< the outcome is open: read the pod live and decide again at once
  kube::Requeue requeue;

  /// Anything to write or to do (beside asking for a slot)?
  bool acts(const api::EvacuationStatus& stored) const {
    return fill || add_finalizer || remove_finalizer || remove_object || action || !(status == stored);
  }
};

/// What the evictors that matter now want to read beside the pod, by evictor; `seen` holds what was read so far.
std::map<std::string, std::vector<evictors::Read>> wanted_reads(const Observed& seen,
                                                                const evictors::EvictorRegistry& registry,
                                                                base::TimePoint now);

Decision decide(const Observed& seen, const evictors::EvictorRegistry& registry, base::TimePoint now);

/// After `action` was sent: `seen.evacuation` carries the unresolved intent.
Decision decide_answer(const Observed& seen, const evictors::EvictorRegistry& registry, const evictors::Action& action,
                       const evictors::CallResult& answer, base::TimePoint now);

/// How long a pod that terminates counts in the departure limits while others wait (T38). `pod`: nullptr: unknown.
base::Duration departure_counts_for(const OperatorRules& rules, const api::EvacuationSpec& spec, const api::Pod* pod);

/// A 201 without a deletionTimestamp after this long is no 201 (T31).
inline constexpr base::seconds kDeleteVisibleWithin{30};
/// After a leader change no deadline that has passed meanwhile is acted upon for this long: the good news may be on its
/// way.
inline constexpr base::seconds kResumeGrace{30};
/// An evictor that nobody serves is not tried again for this long.
inline constexpr base::minutes kDeadFor{5};
/// How many times a granted eviction may turn out not to be one.
inline constexpr int kMaxGrantedWithoutDelete = 3;

}  // namespace controllers::evacuation
