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

/// What the clock on the wall shows, in whole seconds.
using LocalTime = std::chrono::local_seconds;

/// Cheap to copy; what it points at lives as long as the process. Thread-safe. Changes of the clock after 2037 are not
/// known: the zone then keeps its last offset.
class TimeZone {
 public:
  /// UTC.
  TimeZone() = default;

  /// By its name, such as "Europe/Berlin"; "" is UTC. kInvalid: there is none of that name (names are case-sensitive,
  /// and "localtime" is none). kUnavailable: the data base cannot be read.
  static base::Result<TimeZone> find(std::string_view name);

  /// The time around an instant in which the clock is not changed.
  struct Period {
    base::TimePoint begin;
    base::TimePoint end;   ///< exclusive
    base::seconds offset;  ///< local time minus UTC
  };
  Period period_at(base::TimePoint time) const;

  LocalTime local(base::TimePoint time) const;

 private:
  explicit TimeZone(const date::time_zone* zone) : zone_(zone) {}

  const date::time_zone* zone_ = nullptr;  ///< nullptr: UTC
};

/// The instant at which the clock shows `local` in that period, if it does.
inline base::TimePoint instant_of(LocalTime local, const TimeZone::Period& period) {
  return base::TimePoint(local.time_since_epoch() - period.offset);
}

}  // namespace controllers
