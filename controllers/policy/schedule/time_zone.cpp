#include "controllers/policy/schedule/time_zone.hpp"

#include <date/tz.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>

namespace controllers {
namespace {

/// Clamps to the range of base::TimePoint, which counts microseconds and cannot represent the library's extreme times.
base::TimePoint clamped(date::sys_seconds time) {
  constexpr base::seconds kFar = std::chrono::hours(24 * 365 * 20'000LL);
  return base::TimePoint(std::clamp<base::seconds>(time.time_since_epoch(), -kFar, kFar));
}

}  // namespace

base::Result<TimeZone> TimeZone::find(std::string_view name) {
  if (name.empty() || name == "UTC") return TimeZone();
  try {
    date::get_tzdb();
  } catch (const std::exception& error) {
    return base::unavailable(fmt::format("the time zone database cannot be read (package tzdata): {}", error.what()));
  }
  const base::Error unknown = base::invalid(
      fmt::format("\"{}\" is not a time zone of the IANA database, such as Europe/Berlin (case-sensitive)", name));
  if (name == "localtime") return unknown;  // rejected because it depends on the machine's settings
  try {
    const date::time_zone* zone = date::locate_zone(name);
    zone->get_info(date::sys_seconds());  // reads its file
    return TimeZone(zone);
  } catch (const std::exception&) {
    return unknown;
  }
}

TimeZone::Period TimeZone::period_at(base::TimePoint time) const {
  if (!zone_) return {clamped(date::sys_seconds::min()), clamped(date::sys_seconds::max()), base::seconds(0)};
  const date::sys_info info = zone_->get_info(std::chrono::floor<base::seconds>(time));
  return {clamped(info.begin), clamped(info.end), info.offset};
}

LocalTime TimeZone::local(base::TimePoint time) const {
  return LocalTime(std::chrono::floor<base::seconds>(time).time_since_epoch() + period_at(time).offset);
}

}  // namespace controllers
