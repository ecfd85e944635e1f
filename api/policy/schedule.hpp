#pragma once

/// spec.schedule of a DeschedulerPolicy: when cycles run (docs/concepts/schedule.md).

#include <bitset>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"
#include "api/json/strict_object.hpp"
#include "base/clock.hpp"

namespace api {

/// Days of the week by number, 0 = Sunday.
using Weekdays = std::bitset<7>;

/// Weekly window on these days, from `start` until `end` in the policy's time zone. `end` at or before `start` is on
/// the next day.
struct WeeklyWindow {
  Weekdays days{0x7f};     ///< days on which it starts; all if left out
  base::minutes start{0};  ///< since midnight: 0 … 23:59
  base::minutes end{0};    ///< since midnight: 0 … 24:00
  friend bool operator==(const WeeklyWindow&, const WeeklyWindow&) = default;
};

/// Window in which nothing is started: weekly, or once between two times.
struct BlackoutWindow {
  std::optional<WeeklyWindow> weekly;    ///< either this, or `from` and `until`
  std::optional<base::TimePoint> from;   ///< inclusive
  std::optional<base::TimePoint> until;  ///< exclusive
  friend bool operator==(const BlackoutWindow&, const BlackoutWindow&) = default;
};

enum class TriggerKind { kNodeAdded, kNodeChanged, kPodFailed, kUsageSpike };
std::string_view to_string(TriggerKind kind);

/// Event that runs a cycle before it is due.
struct ScheduleTrigger {
  TriggerKind type = TriggerKind::kNodeAdded;
  base::Duration debounce = base::seconds(30);  ///< 1s … 1h: delay of the cycle after the first event
  std::string source;                           ///< kUsageSpike: name of a usage source
  std::string resource;                         ///< kUsageSpike
  double above = 0;                             ///< kUsageSpike: threshold for any node, in percent of allocatable
  friend bool operator==(const ScheduleTrigger&, const ScheduleTrigger&) = default;
};

struct PolicySchedule {
  base::seconds interval{300};        ///< 5 s … 168 h; used without cron
  std::string cron;                   ///< five fields or @hourly, @daily…; "" to use interval
  std::string time_zone;              ///< name in the IANA database; "" for UTC
  std::vector<WeeklyWindow> windows;  ///< cycles start only inside one of them; empty = at any time
  std::vector<BlackoutWindow> blackouts;
  std::vector<ScheduleTrigger> triggers;
  friend bool operator==(const PolicySchedule&, const PolicySchedule&) = default;
};

/// Strict: errors are added to the object's list.
void read_schedule(StrictObject& object, PolicySchedule& schedule);
Json encode_schedule(const PolicySchedule& schedule);
/// Checks bounds and combinations of fields. controllers/policy/schedule checks that the time zone is known and the
/// cron expression can be satisfied.
void validate_schedule(const PolicySchedule& schedule, const FieldPath& at, FieldErrors& errors);

}  // namespace api
