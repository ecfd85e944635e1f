#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "api/json.hpp"
#include "api/object_meta.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "kube/client.hpp"

namespace kube {

struct LeaderElectionOptions {
  api::ObjectKey lease;  ///< namespace and name of the Lease
  std::string identity;  ///< of this replica; must be unique
  base::Duration lease_duration = base::seconds(15);
  base::Duration renew_deadline = base::seconds(10);
  base::Duration retry_period = base::seconds(2);
};

/// The parts of a coordination.k8s.io/v1 Lease that decide.
struct LeaseRecord {
  std::string resource_version;
  std::string holder;  ///< empty: released
  base::Duration duration{};
  std::string renew_time;  ///< as written; only compared, never trusted: clocks differ
  std::int64_t transitions = 0;
  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};
/// Lenient: what is missing is empty.
base::Result<LeaseRecord> decode_lease(std::string_view json);

/// A Lease as this replica sees it: expiry is judged by our own clock since the record last changed.
struct LeaseView {
  std::optional<LeaseRecord> record;  ///< nullopt: there is no Lease
  base::TimePoint changed_at{};       ///< when we first saw this record
};

enum class LeaseMove { kCreate, kTake, kRenew, kWait };
/// What to do about the Lease. Pure. An expired or released one is taken, ours is renewed, another's is waited for.
LeaseMove next_lease_move(const LeaseView& view, const std::string& identity, base::TimePoint now);

/// Elects one replica by Lease, fenced: is_leading() turns false `renew_deadline` after the last renewal that was *sent*, by our
/// own clock and before others may take over at `lease_duration`, whatever hangs meanwhile. Clock skew between replicas does
/// not matter.
class LeaderElector {
 public:
  /// `client` and `clock` must outlive it. `clock` should be steady.
  LeaderElector(Client& client, const base::Clock& clock, LeaderElectionOptions options, base::Log log);

  /// One try to get or keep the Lease: at most a read and a write. True while leading. One thread.
  bool step();

  /// Tries every `retry_period` until it leads. False: stopped before.
  bool acquire(std::stop_token stop);
  /// Keeps the Lease until it is lost or `stop` is requested. Returns when not leading any more.
  void hold(std::stop_token stop);
  /// Gives the Lease up, so that another replica need not wait for its expiry. Call after everything has stopped acting.
  void release();

  /// May this replica act right now? Any thread, cheap.
  bool is_leading() const;
  /// The holder that was last seen, "" when unknown. Used by the stepping thread.
  std::string holder() const { return view_.record ? view_.record->holder : ""; }

 private:
  bool refresh(base::TimePoint now);
  bool write(LeaseMove move, base::TimePoint now);
  api::Json lease_body(LeaseMove move, base::TimePoint now) const;
  void take_note(LeaseRecord record, base::TimePoint now);
  void wait(base::Duration how_long, std::stop_token stop) const;

  Client& client_;
  const base::Clock& clock_;
  const LeaderElectionOptions options_;
  const base::Log log_;
  LeaseView view_;
  std::atomic<base::Duration::rep> leads_until_{0};  ///< µs of clock_; 0: does not lead
};

}  // namespace kube
