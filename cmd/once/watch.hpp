#pragma once

#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "controllers/policy/once_run.hpp"

namespace cmd {

/// When `evacuator run --once` ends, and how. Pure: it is told what is seen. Of one thread.
class OnceWatch {
 public:
  struct Limits {
    base::Duration timeout{};   ///< for all of it, from `began`
    base::Duration patience{};  ///< with a Lease that somebody else holds: a dead holder's has run out by then
    base::Duration quiet{};     ///< so long nothing more happens, then it is done: the last statuses are written
    base::Duration tidying{};   ///< so long it waits, done, for what is still on nodes
  };
  enum class Step { kGoOn, kRefused, kDone, kTimedOut };

  OnceWatch(Limits limits, base::TimePoint began) : limits_(limits), began_(began) {}

  /// What to do next. `report`: nullptr while this replica does not lead.
  Step look(base::TimePoint now, const controllers::OnceReport* report);
  bool is_out_of_time(base::TimePoint now) const { return now - began_ >= limits_.timeout; }
  /// So long somebody else may hold the Lease: from here on, not from the start.
  void await_lease(base::TimePoint now) { asked_ = now; }
  base::Duration timeout() const { return limits_.timeout; }

 private:
  Limits limits_;
  base::TimePoint began_;
  std::optional<base::TimePoint> asked_{};
  std::optional<base::TimePoint> done_{};  ///< since when
};

/// The exit of a run that was not refused: Done only if all that was planned has been done.
base::Status once_status(const controllers::OnceReport& report, OnceWatch::Step ended, base::Duration timeout);

}  // namespace cmd
