#pragma once

/// Time zones of the system's IANA data base (package tzdata, /usr/share/zoneinfo).

#include <chrono>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace date {
class time_zone;
}

namespace controllers {

/// Maximum time that a search for a future time covers. 29 February may be eight years away.
inline constexpr std::chrono::hours kHorizon{24 * 3660};

/// Local time in whole seconds.
using LocalTime = std::chrono::local_seconds;

/// Cheap to copy; refers to data that lives until the process ends. Keeps its last offset after 2037. Thread-safe.
class TimeZone {
 public:
  /// UTC.
  TimeZone() = default;

  /// Finds a zone by name, e.g. "Europe/Berlin"; "" is UTC. Returns kInvalid if the name is unknown (names are
  /// case-sensitive, and "localtime" is not accepted), kUnavailable if the data base cannot be read.
  static base::Result<TimeZone> find(std::string_view name);

  /// Interval around an instant with a constant UTC offset.
  struct Period {
    base::TimePoint begin;
    base::TimePoint end;   ///< exclusive
    base::seconds offset;  ///< local time minus UTC
  };
  Period period_at(base::TimePoint time) const;

  LocalTime local(base::TimePoint time) const;

 private:
  explicit TimeZone(const date::time_zone* zone) : zone_(zone) {}

  const date::time_zone* zone_ = nullptr;  ///< nullptr for UTC
};

/// Converts `local` to an instant with the offset of `period`, assuming that it lies in that period.
inline base::TimePoint instant_of(LocalTime local, const TimeZone::Period& period) {
  return base::TimePoint(local.time_since_epoch() - period.offset);
}

}  // namespace controllers
