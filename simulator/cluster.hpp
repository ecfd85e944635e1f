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
#include "simulator/controllers/controllers.hpp"
#include "simulator/event_recorder.hpp"
#include "simulator/store.hpp"

namespace simulator {

struct ClusterOptions {
  std::uint64_t seed = 1;  ///< seed of UIDs and generated names
  KubeletOptions kubelet{};
  bool events = true;     ///< write Events
  bool scheduler = true;  ///< if false, creators of pods must set nodeName
  scheduling::NodeScoring scoring = scheduling::NodeScoring::kLeastAllocated;  ///< scoring strategy of the scheduler
  /// Default script of the handoff operator for pods that have handoff.evacuator.dev/mode but no script of their own.
  /// Empty for none.
  std::string handoff_script{};
};

/// The in-memory cluster behind the API server: the store and the actors that work on it. Starts with the namespaces
/// default and kube-system. The store is thread-safe; all other members must be used by one thread.
class Cluster {
 public:
  /// Uses virtual time: only advance() and run_until() move `clock`, which must outlive the cluster.
  explicit Cluster(base::ManualClock& clock, ClusterOptions options = {});
  /// Uses a clock that advances by itself; see run().
  explicit Cluster(const base::Clock& clock, ClusterOptions options = {});
  ~Cluster();

  Store& store() { return store_; }
  EventRecorder& events() { return events_; }
  /// Adds an actor, ticked after the others.
  void add_actor(std::unique_ptr<Actor> actor);

  /// Creates the object like `kubectl create`, with the API server's defaults, but keeps its status. Returns kInvalid
  /// for a kind unknown to objects.hpp.
  base::Result<Object> add(api::Json object);

  /// Ticks all actors until none makes a change, without moving the clock. Returns false if they are still busy after
  /// kMaxRounds, which means that two actors undo each other's changes.
  bool run_until_quiet();
  /// Moves the virtual clock forward by `by`, from due time to due time. Returns false if the actors do not settle.
  /// REQUIRES: virtual time.
  bool advance(base::Duration by);
  /// Advances until `condition` holds, and checks it at every due time. Returns false if it does not hold within
  /// `limit`.
  bool run_until(const std::function<bool()>& condition, base::Duration limit);
  /// Runs in real time until `stop`. Wakes up on changes in the store and at due times.
  void run(std::stop_token stop);

  /// Returns the next due time of any actor; may be in the past.
  std::optional<base::TimePoint> next_due() const;
  /// Exceptions thrown by actors, which are bugs. Each is recorded once; the actor continues.
  const std::vector<std::string>& failures() const { return failures_; }

 private:
  bool tick_all(base::TimePoint now);
  void create_namespaces();

  const base::Clock& clock_;
  base::ManualClock* manual_ = nullptr;
  Store store_;
  EventRecorder events_;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::vector<std::string> failures_;
};

}  // namespace simulator
