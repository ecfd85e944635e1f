#pragma once

/// Capacity for evacuations that need a surge pod for a while: the target of a live migration, a surge, or an
/// additional replica of a handoff (docs/concepts/limits.md).

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

/// Finds capacity for a surge pod by the scheduler's own filters on a snapshot of the caches, and reserves it
/// exclusively. Reservations are stored in the status (reason CapacityReserved), so a new leader restores them. The
/// actual surge pod replaces its reservation once it is bound to a node. The snapshot is updated on request and at most
/// once per second, because even comparing all pods takes milliseconds in a large cluster. Thread-safe.
class Reservations {
 public:
  using Snapshot = std::function<scheduling::SnapshotInput()>;
  using Wake = AdmissionQueue::Wake;

  /// `clock` must outlive the object. `wake` is called for Evacuations that may find free capacity now.
  Reservations(Snapshot snapshot, const base::Clock& clock, Wake wake)
      : snapshot_(std::move(snapshot)), clock_(clock), wake_(std::move(wake)) {}

  /// Request of a node for a surge pod.
  struct PlacementRequest {
    AdmissionRequest request;
    SurgePod surge_pod;
    std::set<std::string> emptied{};  ///< nodes being emptied, which are excluded
  };
  struct Outcome {
    std::string node;                         ///< empty if there is no free capacity
    std::string message;                      ///< reason with the numbers
    std::optional<base::TimePoint> retry_at;  ///< set if unknown yet: retry then; `message` is empty
  };
  /// Reserves capacity on a node other than the pod's own and those in `not_on`: request.target_node if it fits there,
  /// otherwise the node with the most capacity left. Idempotent.
  Outcome reserve(const PlacementRequest& wanted, const std::set<std::string>& not_on = {});

  /// Holds a place for the replacement of `pod`, which leaves a node that is being emptied: on request.target_node if
  /// it fits there, otherwise on the node with the most capacity left, never on a node of `emptied`. The place is held
  /// until the Evacuation ends or releases it; once the pod is gone, at most until a younger pod of its controller is
  /// bound to a node. Uses a current snapshot. Returns why there is no place; empty if it is held or the caches do not
  /// show the pod.
  std::string hold_place(const AdmissionRequest& request, const api::Pod& pod, const std::set<std::string>& emptied);

  /// Returns whether the limit of the target node allows the arrival, and counts it if so. Called with the lock held;
  /// must not call back.
  using Takes = std::function<bool(const api::ObjectKey& key, const std::string& node)>;
  /// Reserves capacity for all of `wanted` (a PodGroup) or for none. Returns nullopt on success, otherwise the reason.
  /// Places the largest first and tries no other arrangement, so a PodGroup with a tight fit may have to wait.
  std::optional<Outcome> reserve_all(const std::vector<PlacementRequest>& wanted, const Takes& takes);

  /// Call when the attempt does not begin (any more). A reservation whose attempt the store shows is kept; observe()
  /// ends it.
  void release_unused(const api::ObjectKey& key);
  /// See AdmissionQueue::abandon().
  void abandon(const api::ObjectKey& key, const std::string& resource_version);
  /// From the Evacuation informer, see AdmissionQueue::observe().
  void observe(const api::Evacuation* before, const api::Evacuation* after);

  std::size_t held() const {
    const std::scoped_lock lock(mutex_);
    return reservations_.size();
  }

 private:
  /// Contains no local time, because it is compared with times of the API server.
  struct Reservation {
    std::string node;
    std::int32_t attempt = 1;
    /// UIDs of the controller's pods before the reservation; nullopt if another leader reserved it.
    std::optional<std::set<std::string>> siblings{};
    base::TimePoint asked{};  ///< creationTimestamp of the Evacuation
    bool stored = false;      ///< whether the store shows the attempt
  };
  class ActualSurgePods;
  /// Hypothetical cluster with the surge pods that do not exist yet.
  struct WhatIf {
    WhatIf(const scheduling::ClusterSnapshot& snapshot, base::TimePoint now)
        : taken(now), cluster(snapshot), what_if(snapshot) {}

    const base::TimePoint taken;
    const scheduling::ClusterSnapshot& cluster;  ///< owned by snapshots_
    scheduling::WhatIf what_if;
    std::map<api::ObjectKey, scheduling::PodIndex> surge_pods{};
    /// UIDs of the pods of each controller whose pods want a surge pod.
    std::map<std::string, std::set<std::string>> siblings{};
  };

  /// Returns nullptr if there is no reservation; then it takes part in the next snapshot.
  const Reservation* held_for(const PlacementRequest& wanted);
  /// Ensures that the what-if snapshot has a surge pod for each of `wanted`. Returns nullopt on success, otherwise when
  /// to retry.
  std::optional<base::TimePoint> refresh_what_if(const std::vector<const PlacementRequest*>& wanted);
  Outcome best_node(const PlacementRequest& wanted, const std::set<std::string>& not_on);
  Outcome best_node_below_limit(const PlacementRequest& wanted, const Takes& takes);
  void reserve_on(const PlacementRequest& wanted, const std::string& node);
  /// Surge pods for kept places whose pod is gone and whose replacement is not bound yet.
  std::vector<std::pair<api::ObjectKey, std::shared_ptr<const api::Pod>>> missing_replacements(
      const scheduling::ClusterSnapshot& cluster, base::TimePoint now) const;
  /// Places the pods of hold_place() on their expected nodes, and surge pods for those that are gone.
  void place_leaving();
  void wait(const AdmissionRequest& request) {
    stop_waiting(request.key);
    waiting_in_order_.insert(waiting_[request.key] = admission_order(request));
  }
  void stop_waiting(const api::ObjectKey& key);
  void take_snapshot(base::TimePoint now);
  void place(const api::ObjectKey& key, const std::string& node);
  void drop(const api::ObjectKey& key, std::vector<api::ObjectKey>& awake);
  /// Runs `change` under the lock. Wakes the Evacuations in its argument after the lock is released.
  template <typename Change>
  void apply(Change&& change);

  const Snapshot snapshot_;
  const base::Clock& clock_;
  const Wake wake_;
  mutable std::mutex mutex_;
  std::map<api::ObjectKey, Reservation> reservations_;
  /// Name and UID of the original pod of each Evacuation that has or wants a reservation.
  std::map<api::ObjectKey, std::pair<std::string, std::string>> pods_;
  /// Place held by hold_place().
  struct KeptPlace {
    std::shared_ptr<const api::Pod> pod;
    std::string node;
    base::TimePoint asked{};  ///< creationTimestamp of the Evacuation
  };
  std::map<api::ObjectKey, KeptPlace> held_places_;
  std::map<api::ObjectKey, std::string> abandoned_;  ///< value: resourceVersion
  std::map<api::ObjectKey, AdmissionOrder> waiting_;
  std::set<AdmissionOrder> waiting_in_order_;
  scheduling::SnapshotCache snapshots_;
  std::unique_ptr<WhatIf> what_if_;  ///< based on the latest snapshot
};

/// Returns a waiting slot with the reason and the numbers, or with retry_at if the reason is not known yet.
Slot no_capacity(const Reservations::Outcome& outcome);

/// Requests a slot and then free capacity. Releases the slot if there is no free capacity.
Admission request_with_capacity(AdmissionQueue& queue, Reservations& reservations,
                                const Reservations::PlacementRequest& wanted);

}  // namespace controllers
