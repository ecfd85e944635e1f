#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "controllers/policy/schedule/time_zone.hpp"

namespace controllers {

/// Cron expression with the syntax of a Kubernetes CronJob: minute, hour, day of the month, month and day of the week,
/// each with lists, ranges, steps and names (months, weekdays); or @yearly, @annually, @monthly, @weekly, @daily,
/// @midnight, @hourly. In addition, 7 is Sunday. A day matches if both day fields match or, if neither is *, one of
/// them does.
class CronExpression {
 public:
  /// Returns kInvalid with the faulty field, or if the expression never matches ("0 0 30 2 *").
  static base::Result<CronExpression> parse(std::string_view text);

  /// Returns the first matching whole minute after `after` in local time of `zone`. A time skipped by a clock change
  /// does not match; a repeated time matches twice. nullopt if none exists within ten years.
  std::optional<base::TimePoint> next_after(base::TimePoint after, const TimeZone& zone) const;

  /// Whether it can match on that day of the week (0 = Sunday) at that minute of the day on some date.
  bool may_match(unsigned weekday, unsigned minute_of_day) const;

 private:
  struct Fields {
    std::uint64_t minutes = 0;
    std::uint64_t hours = 0;
    std::uint64_t days = 0;
    std::uint64_t months = 0;
    std::uint64_t weekdays = 0;
    bool any_day = false;      ///< whether the field is * or ?
    bool any_weekday = false;  ///< whether the field is * or ?
  };

  explicit CronExpression(const Fields& fields) : fields_(fields) {}
  bool ever_comes() const;
  bool matches_day(std::chrono::local_days day) const;
  std::optional<LocalTime> next_local(LocalTime from, LocalTime limit) const;

  Fields fields_;
};

}  // namespace controllers
