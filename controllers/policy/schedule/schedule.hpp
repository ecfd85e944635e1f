#pragma once

/// spec.schedule as something that can be asked: when does the next cycle start?

#include <optional>

#include "api/policy/schedule.hpp"
#include "controllers/policy/schedule/calendar.hpp"
#include "controllers/policy/schedule/cron.hpp"

namespace controllers {

/// What is wrong with it beyond its form: an unknown time zone, a cron expression that does not parse or never comes,
/// windows that are never open, or never at a time of the cron expression.
api::FieldErrors schedule_problems(const api::PolicySchedule& schedule, const api::FieldPath& at);

class Schedule {
 public:
  /// nullopt: it has schedule_problems().
  static std::optional<Schedule> read(const api::PolicySchedule& schedule);

  /// The first cycle at or after `now` of a spec that was never planned: at once, or at the next time of the cron
  /// expression, in a window and outside of blackouts. nullopt: none within ten years.
  std::optional<base::TimePoint> first(base::TimePoint now) const;
  /// The next cycle after one that began at `start`. nullopt: none within ten years.
  std::optional<base::TimePoint> after(base::TimePoint start) const;

  bool has_cron() const { return cron_.has_value(); }
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
