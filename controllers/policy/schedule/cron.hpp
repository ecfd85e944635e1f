#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "controllers/policy/schedule/time_zone.hpp"

namespace controllers {

/// A cron expression as a Kubernetes CronJob takes it: minute, hour, day of the month, month and day of the week, each
/// with lists, ranges, steps and (months, weekdays) names; or @yearly, @annually, @monthly, @weekly, @daily, @midnight,
/// @hourly. Beyond that 7 is Sunday, too. A day counts if both day fields match, or, where neither is *, one of them.
class CronExpression {
 public:
  /// kInvalid: what is wrong with which field, or that it never comes ("0 0 30 2 *").
  static base::Result<CronExpression> parse(std::string_view text);

  /// The first whole minute after `after` at which the zone's clock shows a time that matches: one that is skipped when
  /// the clock is put forward does not count, one that comes twice counts twice. nullopt: none within ten years.
  std::optional<base::TimePoint> next_after(base::TimePoint after, const TimeZone& zone) const;

  /// Could it match on that day of the week (0 = Sunday) at that minute of the day, whatever the date?
  bool may_match(unsigned weekday, unsigned minute_of_day) const;

 private:
  struct Fields {
    std::uint64_t minutes = 0;
    std::uint64_t hours = 0;
    std::uint64_t days = 0;
    std::uint64_t months = 0;
    std::uint64_t weekdays = 0;
    bool any_day = false;      ///< the field is * or ?
    bool any_weekday = false;  ///< the same
  };

  explicit CronExpression(const Fields& fields) : fields_(fields) {}
  static std::optional<base::Error> read(std::string_view text, Fields& fields);
  bool ever_comes() const;
  bool matches_day(std::chrono::local_days day) const;
  std::optional<LocalTime> next_local(LocalTime from, LocalTime limit) const;

  Fields fields_;
};

}  // namespace controllers
