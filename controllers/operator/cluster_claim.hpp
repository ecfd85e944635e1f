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
  std::string ns = "kube-system";  ///< of the Lease that all installations know
  api::ObjectKey lease;            ///< of this installation's leader election: who it is, and where its Events go
  base::milliseconds lease_duration{60'000};  ///< others wait so long after the last change they saw
  base::milliseconds renew_deadline{40'000};  ///< we stop acting so long after the last renewal that we know of
  base::milliseconds period{10'000};          ///< between looks
};

/// Which of several installations serves the cluster: it holds the Lease kName in a namespace that no tenant writes to.
/// The holder is an installation, "<namespace>/<Lease of its leader election>", not a replica: each replica of it
/// renews the Lease, so that neither a fail-over nor an upgrade gives it away. Within the installation the leader
/// election decides. Fenced as that is: may_act() turns false by itself, by the local clock, before another
/// installation can have taken over. Where the Lease may not be read or made, it says so and acts: a missing right must
/// not stop an operator that is alone.
class ClusterClaim {
 public:
  static constexpr const char* kName = "evacuator-operator";
  enum class State {
    kUnknown,    ///< the server has not answered yet
    kOurs,       ///< this installation serves the cluster
    kOthers,     ///< another one does
    kUnguarded,  ///< nobody can tell: the right to the Lease is missing
  };
  /// Time since some fixed moment, never set back.
  using LocalClock = kube::LeaderElector::LocalClock;

  /// All must outlive it. `local` is for tests.
  ClusterClaim(kube::Client& client, const base::Clock& clock, kube::EventSink& events, base::Metrics& metrics,
               base::Log log, ClusterClaimOptions options, LocalClock local = {});

  /// Looks until stopped. The Lease is not given back: the next replica of the installation goes on with it. Never
  /// throws.
  void run(std::stop_token stop);
  /// One look; returns how long to wait for the next. For virtual time; do not mix with run().
  base::Duration step();

  /// Cheap; ask right before each write. Thread-safe.
  bool may_act() const;
  State state() const { return state_; }
  /// An error names the installation that serves the cluster, or says that it is not known. Thread-safe.
  base::Status ready() const;

 private:
  base::Status look(base::Duration now);
  base::Status read(base::Duration now);
  base::Status write(kube::LeaseMove move, base::Duration now);
  base::Status renew(base::Duration now);
  /// The server does not let us: true.
  bool is_locked_out(const base::Error& error) const;
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

  // Of the one thread that runs or steps.
  std::optional<kube::SeenLease> seen_;
  std::string lease_json_;
  std::optional<base::Duration> last_read_;  ///< when the last read that was answered was sent
  std::optional<base::Duration> renewed_;    ///< the Lease was ours and renewed at this time or later

  std::atomic<State> state_ = State::kUnknown;
  std::atomic<base::Duration::rep> acts_until_;  ///< local clock; while it is ours
  mutable std::mutex mutex_;
  std::string holder_;  ///< guarded by mutex_
};

}  // namespace controllers
