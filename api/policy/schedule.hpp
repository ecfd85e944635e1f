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

/// Each week, on these days, from `start` until `end` by the clock of the policy's time zone. `end` at or before
/// `start` is on the day after.
struct WeeklyWindow {
  Weekdays days{0x7f};     ///< on which it starts; all when left out
  base::minutes start{0};  ///< since midnight: 0 … 23:59
  base::minutes end{0};    ///< since midnight: 0 … 24:00
  friend bool operator==(const WeeklyWindow&, const WeeklyWindow&) = default;
};

/// Nothing is begun in it: each week, or once between two instants.
struct BlackoutWindow {
  std::optional<WeeklyWindow> weekly;    ///< or
  std::optional<base::TimePoint> from;   ///< both of these,
  std::optional<base::TimePoint> until;  ///< `until` exclusive
  friend bool operator==(const BlackoutWindow&, const BlackoutWindow&) = default;
};

enum class TriggerKind { kNodeAdded, kNodeChanged, kPodFailed, kUsageSpike };
std::string_view to_string(TriggerKind kind);

/// Runs a cycle before its time.
struct ScheduleTrigger {
  TriggerKind type = TriggerKind::kNodeAdded;
  base::Duration debounce = base::seconds(30);  ///< 1s … 1h: the cycle runs so long after the first event
  std::string source;                           ///< kUsageSpike: name of a usage source
  std::string resource;                         ///< kUsageSpike
  double above = 0;                             ///< kUsageSpike: percent of allocatable that one node passes
  friend bool operator==(const ScheduleTrigger&, const ScheduleTrigger&) = default;
};

struct PolicySchedule {
  base::seconds interval{300};        ///< bounds 5 s … 168 h; without cron
  std::string cron;                   ///< five fields or @hourly, @daily…; "": by interval
  std::string time_zone;              ///< of the IANA data base; "": UTC
  std::vector<WeeklyWindow> windows;  ///< cycles start only inside one of them; none: at any time
  std::vector<BlackoutWindow> blackouts;
  std::vector<ScheduleTrigger> triggers;
  friend bool operator==(const PolicySchedule&, const PolicySchedule&) = default;
};

/// Strict: complaints go to the object's errors.
void read_schedule(StrictObject& object, PolicySchedule& schedule);
Json encode_schedule(const PolicySchedule& schedule);
/// Bounds and what goes together. Whether the time zone is known and the cron expression can be met is
/// controllers/schedule's business.
void validate_schedule(const PolicySchedule& schedule, const FieldPath& at, FieldErrors& errors);

}  // namespace api
