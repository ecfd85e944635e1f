#include "controllers/policy/schedule/calendar.hpp"

#include <algorithm>

namespace controllers {
namespace {

/// Sorts the spans and joins adjacent or overlapping ones.
WeekSpans merged(WeekSpans spans) {
  std::ranges::sort(spans, {}, &WeekSpan::begin);
  WeekSpans joined;
  for (const WeekSpan& each : spans) {
    if (!joined.empty() && each.begin <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, each.end);
    } else {
      joined.push_back(each);
    }
  }
  return joined;
}

void append(WeekSpans& spans, const api::WeeklyWindow& window) {
  const int start = static_cast<int>(window.start.count());
  const int end = static_cast<int>(window.end.count());
  const int length = end > start ? end - start : end - start + kMinutesPerDay;
  for (int day = 0; day < 7; ++day) {
    if (!window.days[static_cast<std::size_t>(day)]) continue;
    const int begin = day * kMinutesPerDay + start;
    spans.push_back({begin, std::min(begin + length, kMinutesPerWeek)});
    if (begin + length > kMinutesPerWeek) spans.push_back({0, begin + length - kMinutesPerWeek});
  }
}

/// Returns the complement within the week. REQUIRES: `spans` is merged().
WeekSpans inverted(const WeekSpans& spans) {
  WeekSpans rest;
  int at = 0;
  for (const WeekSpan& each : spans) {
    if (each.begin > at) rest.push_back({at, each.begin});
    at = each.end;
  }
  if (at < kMinutesPerWeek) rest.push_back({at, kMinutesPerWeek});
  return rest;
}

/// REQUIRES: both are merged().
WeekSpans intersected(const WeekSpans& a, const WeekSpans& b) {
  WeekSpans both;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const WeekSpan common{std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)};
    if (common.begin < common.end) both.push_back(common);
    ++(a[i].end < b[j].end ? i : j);
  }
  return both;
}

bool contains(const WeekSpans& spans, int minute) {
  const auto after = std::ranges::upper_bound(spans, minute, {}, &WeekSpan::begin);
  return after != spans.begin() && minute < std::prev(after)->end;
}

std::chrono::local_days week_of(LocalTime local) {
  const auto day = std::chrono::floor<std::chrono::days>(local);
  return day - std::chrono::days(std::chrono::weekday(day).c_encoding());
}

int minute_of_week(LocalTime local) {
  return static_cast<int>(std::chrono::floor<base::minutes>(local - LocalTime(week_of(local))).count());
}

/// Next begin or end of a span after that minute; the end of the week if no span follows.
int next_edge(const WeekSpans& spans, int minute) {
  for (const WeekSpan& each : spans) {
    if (each.begin > minute) return each.begin;
    if (each.end > minute) return each.end;
  }
  return kMinutesPerWeek;
}

}  // namespace

Calendar::Calendar(const api::PolicySchedule& schedule, TimeZone zone) : zone_(zone) {
  WeekSpans windows;
  for (const api::WeeklyWindow& each : schedule.windows) append(windows, each);
  if (schedule.windows.empty()) windows = {{0, kMinutesPerWeek}};
  for (const api::BlackoutWindow& each : schedule.blackouts) {
    if (each.weekly) append(blackouts_, *each.weekly);
    if (each.from && each.until) once_.push_back({*each.from, *each.until});
  }
  blackouts_ = merged(std::move(blackouts_));
  open_ = intersected(merged(std::move(windows)), inverted(blackouts_));
}

const Calendar::Once* Calendar::once_at(base::TimePoint time) const {
  const auto found =
      std::ranges::find_if(once_, [&](const Once& each) { return each.from <= time && time < each.until; });
  return found == once_.end() ? nullptr : &*found;
}

bool Calendar::is_open_in_week(int minute_of_week) const { return contains(open_, minute_of_week); }

Opening Calendar::at(base::TimePoint time) const {
  const int minute = minute_of_week(zone_.local(time));
  if (once_at(time) != nullptr || contains(blackouts_, minute)) return Opening::kBlackout;
  return is_open_in_week(minute) ? Opening::kOpen : Opening::kOutsideWindow;
}

/// Next time at which a span begins or ends, or the UTC offset changes.
base::TimePoint Calendar::next_boundary(base::TimePoint from, const WeekSpans& spans) const {
  const TimeZone::Period period = zone_.period_at(from);
  const LocalTime local = zone_.local(from);
  const LocalTime edge = LocalTime(week_of(local)) + base::minutes(next_edge(spans, minute_of_week(local)));
  return std::min(instant_of(edge, period), period.end);
}

std::optional<base::TimePoint> Calendar::next_open(base::TimePoint from) const {
  if (is_never_open()) return std::nullopt;
  base::TimePoint limit = from + kHorizon;
  while (from < limit) {
    if (const Once* once = once_at(from)) {
      from = once->until;
      limit = std::max(limit, from + kHorizon);
    } else if (is_open_in_week(minute_of_week(zone_.local(from)))) {
      return from;
    } else {
      from = next_boundary(from, open_);
    }
  }
  return std::nullopt;
}

std::optional<base::TimePoint> Calendar::next_change(base::TimePoint from) const {
  const bool is_always_open = once_.empty() && open_ == WeekSpans{{0, kMinutesPerWeek}};
  const Opening now = at(from);
  for (const base::TimePoint limit = from + kHorizon; from < limit && !is_always_open;) {
    base::TimePoint next = std::min(next_boundary(from, open_), next_boundary(from, blackouts_));
    for (const Once& each : once_) {
      for (const base::TimePoint edge : {each.from, each.until}) next = edge > from ? std::min(next, edge) : next;
    }
    from = next;
    if (at(from) != now) return from;
  }
  return std::nullopt;
}

}  // namespace controllers
