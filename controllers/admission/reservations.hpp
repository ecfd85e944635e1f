#pragma once

/// Free capacity for those evacuations that need a surge pod of their pod for a while: a live migration's target, a
/// surge, a handoff's replica (docs/concepts/limits.md).

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"
#include "controllers/admission/queue.hpp"
#include "planner/scheduling/what_if.hpp"
#include "planner/snapshot/snapshot_cache.hpp"

namespace controllers {

/// Knows where there is free capacity for one more copy of a pod, by the scheduler's own filters on the caches'
/// snapshot, and reserves it: nobody else gets the same. A reservation is in the status (reason CapacityReserved), so a
/// new leader has it, too. The actual surge pod replaces the reservation as soon as it is bound to a node. Thread-safe.
/// A snapshot of its own follows the caches, with the surge pods in it: at most once a second, and only when somebody
/// asks, because even the comparison with all pods takes milliseconds in a large cluster.
class Reservations {
 public:
  using Snapshot = std::function<scheduling::SnapshotInput()>;
  using Wake = AdmissionQueue::Wake;

  /// `clock` must outlive it. `wake` is told of those that may find free capacity now.
  Reservations(Snapshot snapshot, const base::Clock& clock, Wake wake);
  ~Reservations();

  /// A surge pod that wants a node.
  struct PlacementRequest {
    AdmissionRequest request;
    SurgePod surge_pod;
    std::set<std::string> emptied{};  ///< nodes that are emptied: on none of them
  };
  struct Outcome {
    std::string node;                         ///< empty: no free capacity
    std::string message;                      ///< why not, with the numbers
    std::optional<base::TimePoint> retry_at;  ///< not known yet, ask again then; no message
  };
  /// Holds free capacity on a node other than the pod's own and those in `not_on`: on request.target_node if it fits
  /// there, else where most is left. Idempotent.
  Outcome reserve(const PlacementRequest& wanted, const std::set<std::string>& not_on = {});

  /// Holds a place for the replacement of `pod`, which leaves a node that is emptied: on request.target_node if it fits
  /// there, else where most is left, but on no node of `emptied`. Held until the Evacuation ends or gives it back; once
  /// the pod is gone, at most until a younger pod of its controller is bound to a node.
  /// Looks at the caches as they are now. Returns why there is none; empty: it is held, or the caches do not show the
  /// pod.
  std::string keep_place(const AdmissionRequest& request, const api::Pod& pod, const std::set<std::string>& emptied);

  /// Says whether the node's own limit lets that one arrive, and then counts it. Called with the lock held: it must not
  /// call back.
  using Takes = std::function<bool(const api::ObjectKey& key, const std::string& node)>;
  /// Holds free capacity for all of these (of a PodGroup) or for none of them: nullopt, or why not. The big ones choose
  /// first; no other arrangement is tried, so a PodGroup that fits only just may have to wait.
  std::optional<Outcome> reserve_all(const std::vector<PlacementRequest>& wanted, const Takes& takes);

  /// The attempt does not begin (any more). What the store shows as begun is kept: observe() ends it.
  void release_unused(const api::ObjectKey& key);
  /// As AdmissionQueue::abandon().
  void abandon(const api::ObjectKey& key, const std::string& resource_version);
  /// From the Evacuation informer, as AdmissionQueue::observe().
  void observe(const api::Evacuation* before, const api::Evacuation* after);

  std::size_t held() const;

 private:
  /// Nothing in it comes from a clock of ours: it is held against what the API server says.
  struct Reservation {
    std::string node;
    std::int32_t attempt = 1;
    /// Pods of its controller that were there before; nullopt: another leader reserved, and knew.
    std::optional<std::set<std::string>> siblings{};
    base::TimePoint asked{};  ///< creationTimestamp of the Evacuation
    bool stored = false;      ///< the store shows the attempt
  };
  class ActualSurgePods;
  /// The cluster as it would be with the surge pods that do not exist yet.
  struct WhatIf;

  /// nullptr: it has none, and takes part in the next snapshot.
  const Reservation* held_for(const PlacementRequest& wanted);
  /// nullopt: the what-if snapshot has a surge pod for each of these; else when to ask again.
  std::optional<base::TimePoint> refresh_what_if(const std::vector<const PlacementRequest*>& wanted);
  Outcome best_node(const PlacementRequest& wanted, const std::set<std::string>& not_on);
  Outcome best_node_below_limit(const PlacementRequest& wanted, const Takes& takes);
  void reserve_on(const PlacementRequest& wanted, const std::string& node);
  /// Kept places whose pods are gone and whose replacements are not bound yet: surge pods for them.
  std::vector<std::pair<api::ObjectKey, std::shared_ptr<const api::Pod>>> missing_replacements(
      const scheduling::ClusterSnapshot& cluster, base::TimePoint now) const;
  /// Puts the pods of keep_place() where they are expected, and surge pods for those that are gone.
  void place_leaving();
  void wait(const AdmissionRequest& request);
  void stop_waiting(const api::ObjectKey& key);
  void take_snapshot(base::TimePoint now);
  void place(const api::ObjectKey& key, const std::string& node);
  void drop(const api::ObjectKey& key, std::vector<api::ObjectKey>& awake);
  void wake(const std::vector<api::ObjectKey>& keys) const;

  const Snapshot snapshot_;
  const base::Clock& clock_;
  const Wake wake_;
  mutable std::mutex mutex_;
  std::map<api::ObjectKey, Reservation> reservations_;
  std::map<api::ObjectKey, std::pair<std::string, std::string>> pods_;  ///< of whom we know: name and uid
  /// A place that keep_place() holds.
  struct KeptPlace {
    std::shared_ptr<const api::Pod> pod;
    std::string node;
    base::TimePoint asked{};  ///< creationTimestamp of the Evacuation
  };
  std::map<api::ObjectKey, KeptPlace> kept_places_;
  std::map<api::ObjectKey, std::string> abandoned_;  ///< at which resourceVersion
  std::map<api::ObjectKey, AdmissionOrder> waiting_;
  std::set<AdmissionOrder> waiting_in_order_;
  scheduling::SnapshotCache snapshots_;
  std::unique_ptr<WhatIf> what_if_;  ///< of the last one
};

/// What the slot says when there is no free capacity: with numbers, or nothing yet.
Slot no_capacity(const Reservations::Outcome& outcome);

/// Asks for the slot, and with that for free capacity. Who gets no free capacity gives its slot back.
Admission request_with_capacity(AdmissionQueue& queue, Reservations& reservations,
                                const Reservations::PlacementRequest& wanted);

}  // namespace controllers
