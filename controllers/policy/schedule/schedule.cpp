#include "controllers/policy/schedule/schedule.hpp"

namespace controllers {
namespace {

bool ever_meet(const CronExpression& cron, const Calendar& calendar) {
  for (int minute = 0; minute < kMinutesPerWeek; ++minute) {
    const auto day = static_cast<unsigned>(minute / kMinutesPerDay);
    const auto time = static_cast<unsigned>(minute % kMinutesPerDay);
    if (cron.may_match(day, time) && calendar.is_open_in_week(minute)) return true;
  }
  return false;
}

/// Validates the combination of parts that are valid individually.
api::FieldErrors problems_of_all(const api::PolicySchedule& schedule, const TimeZone& zone,
                                 const std::optional<CronExpression>& cron, const api::FieldPath& at) {
  if (schedule.windows.empty() && schedule.blackouts.empty()) return {};
  const Calendar calendar(schedule, zone);
  if (calendar.is_never_open()) return {{at.field("blackouts").text(), "leave no time in which a cycle may start"}};
  if (cron && !ever_meet(*cron, calendar))
    return {{at.field("cron").text(), "all of its times are outside of the windows or inside the blackouts"}};
  return {};
}

}  // namespace

api::FieldErrors schedule_problems(const api::PolicySchedule& schedule, const api::FieldPath& at) {
  api::FieldErrors errors;
  const auto zone = TimeZone::find(schedule.time_zone);
  if (!zone) errors.push_back({at.field("timeZone").text(), zone.error().message});
  std::optional<CronExpression> cron;
  if (!schedule.cron.empty()) {
    const auto parsed = CronExpression::parse(schedule.cron);
    if (!parsed) errors.push_back({at.field("cron").text(), parsed.error().message});
    if (parsed) cron = *parsed;
  }
  return errors.empty() ? problems_of_all(schedule, *zone, cron, at) : errors;
}

std::optional<Schedule> Schedule::read(const api::PolicySchedule& schedule) {
  const auto zone = TimeZone::find(schedule.time_zone);
  if (!zone) return std::nullopt;
  if (schedule.cron.empty()) return Schedule(schedule, *zone, std::nullopt);
  const auto cron = CronExpression::parse(schedule.cron);
  if (!cron) return std::nullopt;
  return Schedule(schedule, *zone, *cron);
}

std::optional<base::TimePoint> Schedule::next_cron(base::TimePoint after) const {
  const base::TimePoint limit = after + kHorizon;
  while (after < limit) {
    const auto next = cron_->next_after(after, zone_);
    if (!next || calendar_.at(*next) == Opening::kOpen) return next;
    const auto opens = calendar_.next_open(*next);
    if (!opens) return std::nullopt;
    after = *opens - base::Duration(1);
  }
  return std::nullopt;
}

std::optional<base::TimePoint> Schedule::first(base::TimePoint now) const {
  return cron_ ? next_cron(now - base::Duration(1)) : calendar_.next_open(now);
}

std::optional<base::TimePoint> Schedule::after(base::TimePoint start) const {
  return cron_ ? next_cron(start) : calendar_.next_open(start + interval_);
}

}  // namespace controllers
