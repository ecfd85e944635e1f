#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "planner/scheduling/scoring/resource_scores.hpp"
#include "simulator/actor.hpp"
#include "simulator/controllers/kubelet.hpp"
#include "simulator/controllers/node_lifecycle.hpp"
#include "simulator/event_recorder.hpp"
#include "simulator/store.hpp"

namespace simulator {

struct ClusterOptions {
  std::uint64_t seed = 1;  ///< of UIDs and generated names
  KubeletOptions kubelet{};
  NodeLifecycleOptions nodes{};
  bool events = true;     ///< write Events
  bool scheduler = true;  ///< without: whoever creates a pod sets its nodeName
  scheduling::NodeScoring scoring = scheduling::NodeScoring::kLeastAllocated;  ///< of the scheduler
  /// Script of the handoff operator for pods that have handoff.evacuator.dev/mode but no script of their own; "": none.
  std::string handoff_script{};
};

/// The whole in-memory cluster behind the API server: the store and everybody who works on it. Begins with the
/// namespaces default and kube-system. The store may be used from any thread at any time; all else here by one thread.
class Cluster {
 public:
  /// On virtual time: only advance() and run_until() move `clock`, which must outlive the cluster.
  explicit Cluster(base::ManualClock& clock, ClusterOptions options = {});
  /// On a clock that moves by itself: see run().
  explicit Cluster(const base::Clock& clock, ClusterOptions options = {});
  ~Cluster();

  Store& store() { return store_; }
  EventRecorder& events() { return events_; }
  /// One more controller, ticked after the others.
  void add_actor(std::unique_ptr<Actor> actor);

  /// Creates the object as `kubectl create` would, with the API server's defaults; the status is kept. kInvalid for a
  /// kind that objects.hpp does not know.
  base::Result<Object> add(api::Json object);

  /// Ticks everybody until nobody changes anything, without moving the clock. False: still busy after very many rounds,
  /// two actors undo each other's work.
  bool run_until_quiet();
  /// Moves the virtual clock forward by `by`, from due time to due time. REQUIRES: virtual time. False as above.
  bool advance(base::Duration by);
  /// Advances until `condition` holds, looking at every due time; false when it does not within `limit`.
  bool run_until(const std::function<bool()>& condition, base::Duration limit);
  /// Works in real time until `stop`; wakes up for changes in the store and at due times.
  void run(std::stop_token stop);

  /// When somebody is due again; may be in the past.
  std::optional<base::TimePoint> next_due() const;
  /// What actors threw: bugs. Each is reported once; the actor goes on.
  const std::vector<std::string>& failures() const { return failures_; }

 private:
  bool tick_all(base::TimePoint now);
  void furnish();

  const base::Clock& clock_;
  base::ManualClock* manual_ = nullptr;
  Store store_;
  EventRecorder events_;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::vector<std::string> failures_;
};

}  // namespace simulator
