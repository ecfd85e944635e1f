#pragma once

/// Evaluates spec.schedule: when the next cycle starts.

#include <optional>

#include "api/policy/schedule.hpp"
#include "controllers/policy/schedule/calendar.hpp"
#include "controllers/policy/schedule/cron.hpp"

namespace controllers {

/// Validates what the schema cannot: an unknown time zone, a cron expression that does not parse or never matches, and
/// windows that are never open, or never at a time of the cron expression.
api::FieldErrors schedule_problems(const api::PolicySchedule& schedule, const api::FieldPath& at);

class Schedule {
 public:
  /// Returns nullopt if the schedule has schedule_problems().
  static std::optional<Schedule> read(const api::PolicySchedule& schedule);

  /// First cycle at or after `now` for a spec that was never planned: immediately, or at the next time of the cron
  /// expression; within a window and outside of blackouts. nullopt if none exists within ten years.
  std::optional<base::TimePoint> first(base::TimePoint now) const;
  /// Next cycle after one that began at `start`. nullopt if none exists within ten years.
  std::optional<base::TimePoint> after(base::TimePoint start) const;

  const Calendar& calendar() const { return calendar_; }

 private:
  Schedule(const api::PolicySchedule& schedule, TimeZone zone, std::optional<CronExpression> cron)
      : interval_(schedule.interval), zone_(zone), cron_(cron), calendar_(schedule, zone) {}
  std::optional<base::TimePoint> next_cron(base::TimePoint after) const;

  base::seconds interval_;
  TimeZone zone_;
  std::optional<CronExpression> cron_;
  Calendar calendar_;
};

}  // namespace controllers
