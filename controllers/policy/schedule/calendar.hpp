#pragma once

/// Times at which a policy's cycles may start: its windows minus its blackouts.

#include <optional>
#include <vector>

#include "api/policy/schedule.hpp"
#include "base/clock.hpp"
#include "controllers/policy/schedule/time_zone.hpp"

namespace controllers {

/// Span in minutes of the week, from Sunday 0:00. A list of spans is sorted, without adjacent or overlapping spans.
struct WeekSpan {
  int begin;
  int end;  ///< exclusive
  friend bool operator==(const WeekSpan&, const WeekSpan&) = default;
};
using WeekSpans = std::vector<WeekSpan>;
inline constexpr int kMinutesPerDay = 24 * 60;
inline constexpr int kMinutesPerWeek = 7 * kMinutesPerDay;

enum class Opening { kOpen, kOutsideWindow, kBlackout };

/// Windows and weekly blackouts are in local time: a time skipped by a clock change does not occur, and a repeated time
/// occurs twice.
class Calendar {
 public:
  Calendar(const api::PolicySchedule& schedule, TimeZone zone);

  Opening at(base::TimePoint time) const;

  /// Returns the first open instant at or after `from`; nullopt if none exists within ten years, not counting
  /// blackouts with an end.
  std::optional<base::TimePoint> next_open(base::TimePoint from) const;

  /// Next change of at(); nullopt if none within ten years.
  std::optional<base::TimePoint> next_change(base::TimePoint from) const;

  /// Whether weekly blackouts cover all windows.
  bool is_never_open() const { return open_.empty(); }
  /// Whether windows and weekly blackouts permit that minute of the week.
  bool is_open_in_week(int minute_of_week) const;

 private:
  struct Once {
    base::TimePoint from;
    base::TimePoint until;
  };
  const Once* once_at(base::TimePoint time) const;
  base::TimePoint next_boundary(base::TimePoint from, const WeekSpans& spans) const;

  TimeZone zone_;
  WeekSpans blackouts_;  ///< weekly ones only
  WeekSpans open_;       ///< windows minus weekly blackouts
  std::vector<Once> once_;
};

}  // namespace controllers
