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
#include "scheduling/overlay.hpp"

namespace controllers {

/// Knows where there is free capacity for one more copy of a pod, by the scheduler's own filters on the caches'
/// snapshot, and holds it for who was reserved it: no two of them are reserved the same free capacity. What is reserved
/// is in the status (kRoomReserved), so a new leader holds the same. The real copy takes the place of the promise as
/// soon as it is bound to a node. Thread-safe. Taking a snapshot of a large cluster takes a while, so it is done at
/// most once a second, and only when somebody asks for free capacity.
class Reservations {
 public:
  using Snapshot = std::function<scheduling::SnapshotInput()>;
  using Wake = AdmissionQueue::Wake;

  /// `clock` must outlive the keeper. `wake` is told of those that may find free capacity now.
  Reservations(Snapshot snapshot, const base::Clock& clock, Wake wake);
  ~Reservations();

  struct Wish {
    AdmissionRequest request;
    SurgePod copy;
  };
  struct Answer {
    std::string node;                         ///< empty: no free capacity
    std::string message;                      ///< why not, with the numbers
    std::optional<base::TimePoint> retry_at;  ///< not known yet, ask again then; no message
  };
  /// Holds free capacity on a node other than the pod's own and those in `not_on`: on request.target_node if it fits
  /// there, else where most is left. Idempotent.
  Answer reserve(const Wish& wish, const std::set<std::string>& not_on = {});

  /// Says whether the node's own limit lets that one arrive, and then counts it. Called with the lock held: it must not
  /// call back.
  using Takes = std::function<bool(const api::ObjectKey& key, const std::string& node)>;
  /// Holds free capacity for all of these (of a PodGroup) or for none of them: nullopt, or why not. The big ones choose
  /// first; no other arrangement is tried, so a PodGroup that fits only just may have to wait.
  std::optional<Answer> reserve_all(const std::vector<Wish>& wishes, const Takes& takes);

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
  class RealCopies;
  /// Pods that do not exist yet, in a snapshot that is otherwise real.
  struct Scene;

  const Reservation* held_by(const Wish& wish);
  /// Every one of these has a copy in the scene; else the time at which to ask again.
  std::optional<base::TimePoint> set_scene(const std::vector<const Wish*>& wishes);
  Answer look(const Wish& wish, const std::set<std::string>& not_on);
  Answer find_node(const Wish& wish, const Takes& takes);
  void reserve_on(const Wish& wish, const std::string& node);
  void stand_in_line(const AdmissionRequest& request);
  void leave_line(const api::ObjectKey& key);
  void take_scene(base::TimePoint now);
  void place(const api::ObjectKey& key, const std::string& node);
  void drop(const api::ObjectKey& key, std::vector<api::ObjectKey>& awake);
  void wake(const std::vector<api::ObjectKey>& keys) const;

  const Snapshot snapshot_;
  const base::Clock& clock_;
  const Wake wake_;
  mutable std::mutex mutex_;
  std::map<api::ObjectKey, Reservation> reservations_;
  std::map<api::ObjectKey, std::pair<std::string, std::string>> pods_;  ///< of whom we know: name and uid
  std::map<api::ObjectKey, std::string> abandoned_;                     ///< at which resourceVersion
  std::map<api::ObjectKey, AdmissionOrder> waiting_;
  std::set<AdmissionOrder> line_;
  std::unique_ptr<Scene> scene_;
};

/// What the slot says when there is no free capacity: with numbers, or nothing yet.
Slot no_capacity(const Reservations::Answer& answer);

/// Asks for the slot and then, if `free capacity` is given, for free capacity: who gets no free capacity gives its slot
/// back.
Admission ask_for_slot(AdmissionQueue& line, Reservations* capacity, const AdmissionRequest& request,
                       const SurgePod& copy);

}  // namespace controllers
