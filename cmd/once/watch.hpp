#pragma once

#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "controllers/policy/once_run.hpp"

namespace cmd {

/// Decides when `evacuator run --once` ends and with which result. Pure. Not thread-safe.
class OnceWatch {
 public:
  struct Limits {
    base::Duration timeout{};  ///< for the whole run, measured from `began`
    base::Duration
        patience{};  ///< maximum wait for a Lease held by another replica; a dead holder's Lease has expired by then
    base::Duration quiet{};  ///< time without events after which the run is done, so that the last statuses are written
    base::Duration cleanup_timeout{};  ///< maximum wait, once done, for leftovers on nodes
  };
  enum class Step { kGoOn, kRefused, kDone, kTimedOut };

  OnceWatch(Limits limits, base::TimePoint began) : limits_(limits), began_(began) {}

  /// Returns the next step. `report` is nullptr while this replica does not lead.
  Step look(base::TimePoint now, const controllers::OnceReport* report);
  bool is_out_of_time(base::TimePoint now) const { return now - began_ >= limits_.timeout; }
  /// Starts the `patience` timeout for a Lease held by another replica.
  void start_lease_timeout(base::TimePoint now) { asked_ = now; }
  base::Duration timeout() const { return limits_.timeout; }

 private:
  Limits limits_;
  base::TimePoint began_;
  std::optional<base::TimePoint> asked_{};
  std::optional<base::TimePoint> done_{};  ///< time since which everything is done
};

/// Returns the status of a run that was not refused. OK only if everything planned was done.
base::Status once_status(const controllers::OnceReport& report, OnceWatch::Step ended, base::Duration timeout);

}  // namespace cmd
