#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>

#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "kube/client.hpp"

namespace kube {

struct LeaderOptions {
  std::string ns = "evacuator-system";
  std::string name = "evacuator";
  std::string identity;                       ///< unique per process: "<pod name>_<random>"
  base::milliseconds lease_duration{15'000};  ///< time that other candidates wait after the last change they saw
  base::milliseconds renew_deadline{10'000};  ///< time after the last renewal at which this process stops leading
  base::milliseconds retry_period{2'000};
};
/// Returns nullopt if the options are valid: names are set, and retry_period < renew_deadline < lease_duration.
std::optional<base::Error> check(const LeaderOptions& options);

/// Fields of coordination.k8s.io/v1 Lease that are used.
struct LeaseRecord {
  std::string holder;
  base::seconds duration{0};
  std::string renew_time;  ///< as written by the holder; never compared with the local clock
  int transitions = 0;
  std::string resource_version;
  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};
base::Result<LeaseRecord> decode_lease(std::string_view json);

/// Record, and the local time at which it last changed. Clock differences between machines do not matter.
struct SeenLease {
  LeaseRecord record;
  base::Duration changed_at{};
};
/// Keeps changed_at while the record stays the same.
SeenLease observe(const std::optional<SeenLease>& before, LeaseRecord now_read, base::Duration now);

enum class LeaseMove {
  kCreate,   ///< there is no Lease
  kAcquire,  ///< the Lease is free, or its holder has not renewed it for its whole duration
  kRenew,    ///< this process holds the Lease
  kWait,     ///< another process holds the Lease
  kLost,     ///< this process held the Lease, but another one holds it now
};
/// Pure. `now` and `seen.changed_at` must be from the same local clock.
LeaseMove decide(const std::optional<SeenLease>& seen, const LeaderOptions& options, bool leading, base::Duration now);

/// Returns the Lease after this process's move: `current` (JSON, empty if there is no Lease) with the elector's fields
/// set. Keeps all other fields. `wall` is the time to write into it.
api::Json next_lease(const std::string& current, LeaseMove move, const LeaderOptions& options, base::TimePoint wall);

/// Leader election by a Lease, with fencing: is_leading() becomes false by the local monotonic clock before another
/// process can acquire the Lease, even if the network or this process is suspended.
class LeaderElector {
 public:
  struct Callbacks {
    std::function<void()> started;  ///< this process became the leader; runs on the elector's thread and must not block
    std::function<void()> stopped;  ///< this process is no longer the leader; like started()
  };
  /// Time since a fixed moment. Never goes back, and continues while the machine is suspended.
  using LocalClock = std::function<base::Duration()>;

  /// `client` and `clock` must outlive the elector. REQUIRES: !check(options). `local` is for tests.
  LeaderElector(Client& client, const base::Clock& clock, LeaderOptions options, Callbacks callbacks, base::Log log,
                LocalClock local = {});

  /// Takes part in the election until stopped, then releases the Lease if it is held. Never throws.
  void run(std::stop_token stop);

  /// Returns true only while it is safe to act as leader. Cheap; call directly before each write. Thread-safe.
  bool is_leading() const;
  /// Returns the last known holder of the Lease, for logs and readiness. Thread-safe.
  std::string leader() const;

  /// Performs one move without waiting and returns the delay until the next. For virtual time; do not mix with run().
  base::Duration step();
  /// Releases the Lease if it is held.
  void release();

 private:
  base::Status act(LeaseMove move, base::Duration now);
  base::Status read_lease(base::Duration now);
  base::Status write_lease(LeaseMove move, base::Duration now);
  base::Status note_lease(std::string json);
  void note_leading(bool leading);
  base::milliseconds request_timeout(base::Duration now) const;
  base::Duration next_delay();

  Client& client_;
  const base::Clock& clock_;
  const LeaderOptions options_;
  const Callbacks callbacks_;
  const base::Log log_;
  const LocalClock local_;
  std::mt19937_64 random_;

  // The members below are used only by the thread in run() or step().
  std::optional<SeenLease> seen_;
  std::string lease_json_;  // as last read or written; base of the next PUT
  bool leading_ = false;    // state last reported to the callbacks
  bool must_read_ = true;   // lease_json_ may be stale

  std::atomic<base::Duration::rep> leading_until_;  // by the local clock
  mutable std::mutex mutex_;
  std::string leader_;  // guarded by mutex_
};

}  // namespace kube
