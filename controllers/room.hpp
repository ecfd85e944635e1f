#pragma once

/// Room for those evacuations that need a second copy of their pod for a while: a live migration's target, a surge, a
/// handoff's replica (docs/concepts/limits.md).

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/core.hpp"
#include "api/evacuation.hpp"
#include "controllers/admission_queue.hpp"
#include "scheduling/overlay.hpp"

namespace controllers {

/// Knows where there is room for one more copy of a pod, by the scheduler's own filters on the caches' snapshot, and
/// holds it for who was promised it: no two of them are promised the same room. What is promised is in the status
/// (kRoomReserved), so a new leader holds the same. The real copy takes the place of the promise as soon as it is bound
/// to a node. Thread-safe. Taking a snapshot of a large cluster takes a while, so it is done at most once a second, and
/// only when somebody asks for room.
class RoomKeeper {
 public:
  using Snapshot = std::function<scheduling::SnapshotInput()>;
  using Wake = AdmissionQueue::Wake;

  /// `clock` must outlive the keeper. `wake` is told of those that may find room now.
  RoomKeeper(Snapshot snapshot, const base::Clock& clock, Wake wake);
  ~RoomKeeper();

  struct Wish {
    AdmissionRequest request;
    std::shared_ptr<const api::Pod> pod;
  };
  struct Answer {
    std::string node;                         ///< empty: no room
    std::string message;                      ///< why not, with the numbers
    std::optional<base::TimePoint> retry_at;  ///< not known yet, ask again then; no message
  };
  /// Holds room on a node other than the pod's own and those in `not_on`: on request.target_node if it fits there, else
  /// where most is left. Idempotent.
  Answer reserve(const Wish& wish, const std::set<std::string>& not_on = {});

  /// The attempt does not begin (any more). What the store shows as begun is kept: observe() ends it.
  void release_unused(const api::ObjectKey& key);
  /// From the Evacuation informer, as AdmissionQueue::observe().
  void observe(const api::Evacuation* before, const api::Evacuation* after);

  std::size_t held() const;

 private:
  struct Promise {
    std::string node;
    std::int32_t attempt = 1;
    base::TimePoint since{};
    bool stored = false;  ///< the store shows the attempt
  };
  /// Pods that do not exist yet, in a snapshot that is otherwise real.
  struct Scene;

  Answer look(const Wish& wish, const std::set<std::string>& not_on);
  void take_scene(base::TimePoint now);
  void place(const api::ObjectKey& key, const std::string& node);
  void drop(const api::ObjectKey& key, std::vector<api::ObjectKey>& awake);
  void wake(const std::vector<api::ObjectKey>& keys) const;

  const Snapshot snapshot_;
  const base::Clock& clock_;
  const Wake wake_;
  mutable std::mutex mutex_;
  std::map<api::ObjectKey, Promise> promises_;
  std::map<api::ObjectKey, std::pair<std::string, std::string>> pods_;  ///< of whom we know: name and uid
  std::map<api::ObjectKey, AdmissionOrder> waiting_;
  std::set<AdmissionOrder> line_;
  std::unique_ptr<Scene> scene_;
};

/// Asks for the slot and then, if `room` is given, for room: who gets no room gives its slot back.
Admission ask_for_slot(AdmissionQueue& line, RoomKeeper* room, const AdmissionRequest& request,
                       const std::shared_ptr<const api::Pod>& pod);

}  // namespace controllers
