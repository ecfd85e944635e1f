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
  base::milliseconds lease_duration{15'000};  ///< others wait so long after the last change they saw
  base::milliseconds renew_deadline{10'000};  ///< we stop acting so long after our last successful renewal
  base::milliseconds retry_period{2'000};
};
/// Empty when they fit together: retry < renew_deadline < lease_duration, names given.
std::optional<base::Error> check(const LeaderOptions& options);

/// The parts of coordination.k8s.io/v1 Lease that matter.
struct LeaseRecord {
  std::string holder;
  base::seconds duration{0};
  std::string renew_time;  ///< as written by its holder; never compared with our clock
  int transitions = 0;
  std::string resource_version;
  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};
base::Result<LeaseRecord> decode_lease(std::string_view json);

/// A record and when, by our own clock, it last looked different. Differing clocks of other machines do not matter.
struct SeenLease {
  LeaseRecord record;
  base::Duration changed_at{};
};
/// Keeps changed_at while the record stays the same.
SeenLease observe(const std::optional<SeenLease>& before, LeaseRecord now_read, base::Duration now);

enum class LeaseMove {
  kCreate,   ///< there is no Lease
  kAcquire,  ///< it is free, or its holder has not renewed it for its whole duration
  kRenew,    ///< it is ours
  kWait,     ///< it is somebody else's
  kLost,     ///< it was ours and is somebody else's now
};
/// Pure. `now` and `seen.changed_at` are of the same local clock.
LeaseMove decide(const std::optional<SeenLease>& seen, const LeaderOptions& options, bool leading, base::Duration now);

/// The Lease as it should be after our move: `current` (JSON; empty: there is none) with our words. Everything that
/// others put into it stays. `wall`: what it says of the time.
api::Json next_lease(const std::string& current, LeaseMove move, const LeaderOptions& options, base::TimePoint wall);

/// Leader election by a Lease, fenced: is_leading() turns false by itself, by the local monotonic clock, before anybody
/// else can have acquired the Lease, however long the network or this process sleeps.
class LeaderElector {
 public:
  struct Callbacks {
    std::function<void()> started;  ///< we lead now. Runs on the elector's thread: return at once
    std::function<void()> stopped;  ///< we do not any more
  };
  /// Time since some fixed moment, never set back; it goes on while the machine sleeps.
  using LocalClock = std::function<base::Duration()>;

  /// `client` and `clock` must outlive it. REQUIRES: !check(options). `local` is for tests.
  LeaderElector(Client& client, const base::Clock& clock, LeaderOptions options, Callbacks callbacks, base::Log log,
                LocalClock local = {});

  /// Takes part until stopped; then releases the Lease, if it is ours, so that others need not wait. Never throws.
  void run(std::stop_token stop);

  /// True only while acting is safe. Cheap; ask right before each write. Thread-safe.
  bool is_leading() const;
  /// Holder of the Lease as last seen; for logs and readiness. Thread-safe.
  std::string leader() const;

  /// One move without waiting; returns how long to wait for the next. For virtual time; do not mix with run().
  base::Duration step();
  /// Gives the Lease back if it is ours.
  void release();

 private:
  base::Status act(LeaseMove move, base::Duration now);
  base::Status read_lease(base::Duration now);
  base::Status write_lease(LeaseMove move, base::Duration now);
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

  // Of the one thread that runs or steps.
  std::optional<SeenLease> seen_;
  std::string lease_json_;  // as last read or written: what the next PUT is made of
  bool leading_ = false;    // what the callbacks were told
  bool must_read_ = true;   // lease_json_ may be stale

  std::atomic<base::Duration::rep> leading_until_;  // local clock
  mutable std::mutex mutex_;
  std::string leader_;  // guarded by mutex_
};

}  // namespace kube
