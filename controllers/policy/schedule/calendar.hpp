#pragma once

/// When a policy's cycles may start: its windows without its blackouts.

#include <optional>
#include <vector>

#include "api/policy/schedule.hpp"
#include "base/clock.hpp"
#include "controllers/policy/schedule/time_zone.hpp"

namespace controllers {

/// Minutes of the week, from Sunday 0:00 on: sorted spans that neither touch nor overlap.
struct WeekSpan {
  int begin;
  int end;  ///< exclusive
  friend bool operator==(const WeekSpan&, const WeekSpan&) = default;
};
using WeekSpans = std::vector<WeekSpan>;
inline constexpr int kMinutesPerWeek = 7 * 24 * 60;

enum class Opening { kOpen, kOutsideWindow, kBlackout };

/// Windows and weekly blackouts go by what the clock on the wall shows: of a time that is skipped when the clock is put
/// forward nothing is left, one that comes twice counts twice.
class Calendar {
 public:
  Calendar(const api::PolicySchedule& schedule, TimeZone zone);

  Opening at(base::TimePoint time) const;

  /// The first instant from `from` on that is open; nullopt: none within ten years, blackouts with an end not counted.
  std::optional<base::TimePoint> next_open(base::TimePoint from) const;

  /// When at() changes next; nullopt: not within ten years.
  std::optional<base::TimePoint> next_change(base::TimePoint from) const;

  /// Weekly blackouts cover all windows: it is never open.
  bool is_never_open() const { return open_.empty(); }
  /// Open by windows and weekly blackouts at that minute of the week.
  bool is_open_in_week(int minute_of_week) const;

 private:
  struct Once {
    base::TimePoint from;
    base::TimePoint until;
  };
  const Once* once_at(base::TimePoint time) const;
  base::TimePoint next_boundary(base::TimePoint from, const WeekSpans& spans) const;

  TimeZone zone_;
  WeekSpans blackouts_;  ///< the weekly ones
  WeekSpans open_;       ///< windows without them
  std::vector<Once> once_;
};

}  // namespace controllers
