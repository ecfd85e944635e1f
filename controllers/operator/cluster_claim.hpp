#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "base/result.hpp"
#include "kube/client.hpp"
#include "kube/runtime/event.hpp"
#include "kube/runtime/leader_election.hpp"

namespace controllers {

struct ClusterClaimOptions {
  std::string ns = "kube-system";  ///< Namespace of the Lease that all installations share
  /// Lease of this installation's leader election: identifies the installation and receives its Events.
  api::ObjectKey lease;
  base::milliseconds lease_duration{60'000};  ///< Time that other installations wait after the last change they saw
  base::milliseconds renew_deadline{40'000};  ///< Time after our last known renewal at which we stop acting
  base::milliseconds period{10'000};          ///< Interval between two steps
};

/// Decides which of several installations serves the cluster: the holder of the Lease kName in a namespace that no
/// tenant writes to. The holder is an installation, "<namespace>/<Lease of its leader election>", not a replica. Each
/// of its replicas renews the Lease, so neither a failover nor an upgrade releases it. Leader election decides within
/// the installation. Fencing works as in leader election: may_act() turns false by the local clock before another
/// installation can take over. If the right to read or create the Lease is missing, the state is kUnguarded and the
/// installation acts, because a missing right must not stop an operator that is alone.
class ClusterClaim {
 public:
  static constexpr const char* kName = "evacuator-operator";
  enum class State {
    kUnknown,    ///< The server has not answered yet
    kOurs,       ///< This installation serves the cluster
    kOthers,     ///< Another installation serves the cluster
    kUnguarded,  ///< Cannot be determined: the right to the Lease is missing
  };
  /// Time since a fixed moment. Monotonic.
  using LocalClock = kube::LeaderElector::LocalClock;

  /// All references must outlive this object. `local` replaces the local clock in tests.
  ClusterClaim(kube::Client& client, const base::Clock& clock, kube::EventSink& events, base::Metrics& metrics,
               base::Log log, ClusterClaimOptions options, LocalClock local = {});

  /// Calls step() until stopped. Does not release the Lease, because the next replica of the installation continues
  /// with it. Never throws.
  void run(std::stop_token stop);
  /// For virtual time instead of run(): reads the Lease, renews it if needed, and returns the delay until the next
  /// step.
  base::Duration step();

  /// Returns whether this installation may write. Cheap: call it immediately before each write. Thread-safe.
  bool may_act() const;
  State state() const { return state_; }
  /// Returns an error that names the installation that serves the cluster, or reports that it is unknown. Thread-safe.
  base::Status ready() const;

 private:
  base::Status look(base::Duration now);
  base::Status read(base::Duration now);
  base::Status write(kube::LeaseMove move, base::Duration now);
  base::Status renew(base::Duration now);
  void become(State state, const std::string& holder);
  void tell(State before, State after, const std::string& holder);
  void publish_state() const;

  kube::Client& client_;
  const base::Clock& clock_;
  kube::EventSink& events_;
  base::Metrics& metrics_;
  const base::Log log_;
  const ClusterClaimOptions options_;
  const kube::LeaderOptions lease_;
  const LocalClock local_;

  // Used only by the thread that calls run() or step().
  std::optional<kube::SeenLease> seen_;
  std::string lease_json_;
  std::optional<base::Duration> last_read_;  ///< Send time of the last read that got a response
  std::optional<base::Duration> renewed_;    ///< Lower bound of the last time at which our Lease was renewed

  std::atomic<State> state_ = State::kUnknown;
  std::atomic<base::Duration::rep> acts_until_;  ///< Deadline on the local clock while the Lease is ours
  mutable std::mutex mutex_;
  std::string holder_;  ///< Guarded by mutex_
};

}  // namespace controllers
