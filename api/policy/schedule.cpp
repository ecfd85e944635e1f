#include "api/policy/schedule.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "api/json/fields.hpp"
#include "api/policy/bounds.hpp"

namespace api {
namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array kTriggerNames = {
    WireName{TriggerKind::kNodeAdded, "NodeAdded"}, WireName{TriggerKind::kNodeChanged, "NodeChanged"},
    WireName{TriggerKind::kPodFailed, "PodFailed"}, WireName{TriggerKind::kUsageSpike, "UsageSpike"}};
constexpr int kMinutesPerHour = 60;
constexpr int kMinutesPerDay = 24 * kMinutesPerHour;

/// Parses "HH:MM", up to 24:00.
std::optional<base::minutes> parse_time_of_day(std::string_view text) {
  const auto is_digit = [&](std::size_t i) { return text[i] >= '0' && text[i] <= '9'; };
  if (text.size() != 5 || text[2] != ':' || !is_digit(0) || !is_digit(1) || !is_digit(3) || !is_digit(4))
    return std::nullopt;
  const int hour = (text[0] - '0') * 10 + (text[1] - '0');
  const int minute = (text[3] - '0') * 10 + (text[4] - '0');
  const int all = hour * kMinutesPerHour + minute;
  if (minute >= kMinutesPerHour || all > kMinutesPerDay) return std::nullopt;
  return base::minutes(all);
}

std::string time_of_day(base::minutes time) {
  return fmt::format("{:02}:{:02}", time.count() / kMinutesPerHour, time.count() % kMinutesPerHour);
}

void read_time_of_day(StrictObject& object, std::string_view name, base::minutes& target) {
  if (object.find(name) == nullptr) return object.complain(name, "is required, such as 22:00");
  std::string text;
  const std::size_t before = object.errors().size();
  object.read(name, text);
  if (object.errors().size() != before) return;
  const auto time = parse_time_of_day(text);
  if (!time) return object.complain(name, fmt::format("\"{}\" is not a time of day from 00:00 to 24:00", text));
  target = *time;
}

void read_days(StrictObject& object, Weekdays& days) {
  if (object.find("days") == nullptr) return;
  days.reset();
  std::size_t count = 0;
  object.for_each("days", [&](const Json& item, const FieldPath& path) {
    const auto text = item.is_string() ? item.get<std::string>() : std::string();
    ++count;
    for (std::size_t day = 0; day < kDays.size(); ++day) {
      if (kDays[day] == text) {
        days.set(day);
        return;
      }
    }
    object.errors().push_back(
        {path.text(), fmt::format("{} is not one of {}", to_json_text(item), join_alternatives(kDays))});
  });
  if (count > kDays.size()) object.complain("days", fmt::format("must have at most {} items", kDays.size()));
}

WeeklyWindow read_weekly(StrictObject& object) {
  WeeklyWindow window;
  read_days(object, window.days);
  read_time_of_day(object, "start", window.start);
  read_time_of_day(object, "end", window.end);
  return window;
}

void read_instant(StrictObject& object, std::string_view name, std::optional<base::TimePoint>& target) {
  std::optional<std::string> text;
  object.read(name, text);
  if (!text) return;
  target = base::parse_time(*text);
  if (!target) object.complain(name, fmt::format("\"{}\" is not a time such as 2026-12-24T18:00:00Z", *text));
}

BlackoutWindow read_blackout(const Json& json, const FieldPath& path, FieldErrors& errors) {
  BlackoutWindow blackout;
  StrictObject object(json, path, errors);
  read_instant(object, "from", blackout.from);
  read_instant(object, "until", blackout.until);
  const bool is_once = object.find("from") != nullptr || object.find("until") != nullptr;
  if (!is_once) blackout.weekly = read_weekly(object);
  object.finish();
  return blackout;
}

}  // namespace

constexpr const auto& wire_names(TriggerKind) { return kTriggerNames; }

template <>
inline constexpr auto kFields<ScheduleTrigger> =
    std::tuple{always("type", &ScheduleTrigger::type), always("debounce", &ScheduleTrigger::debounce),
               field("source", &ScheduleTrigger::source), field("resource", &ScheduleTrigger::resource),
               field("above", &ScheduleTrigger::above)};

namespace {

ScheduleTrigger read_trigger(const Json& json, const FieldPath& path, FieldErrors& errors) {
  ScheduleTrigger trigger;
  StrictObject object(json, path, errors);
  if (object.find("type") == nullptr) object.complain("type", "is required");
  read_fields(object, trigger);
  object.finish();
  return trigger;
}

Json encode_weekly(const WeeklyWindow& window) {
  Json json = {{"start", time_of_day(window.start)}, {"end", time_of_day(window.end)}};
  for (std::size_t day = 0; day < kDays.size() && !window.days.all(); ++day) {
    if (window.days[day]) json["days"].push_back(kDays[day]);
  }
  return json;
}

Json encode_blackout(const BlackoutWindow& blackout) {
  Json json = blackout.weekly ? encode_weekly(*blackout.weekly) : Json::object();
  if (blackout.from) json["from"] = wire_time(*blackout.from);
  if (blackout.until) json["until"] = wire_time(*blackout.until);
  return json;
}

void check_weekly(const WeeklyWindow& window, const FieldPath& at, FieldErrors& errors) {
  if (window.days.none()) errors.push_back({at.field("days").text(), "must name at least one day"});
  if (window.start == window.end)
    errors.push_back({at.field("end").text(), "is the same as start: the window is empty"});
  if (window.start >= base::minutes(kMinutesPerDay))
    errors.push_back({at.field("start").text(), "must be before 24:00"});
}

void check_blackout(const BlackoutWindow& blackout, const FieldPath& at, FieldErrors& errors) {
  if (blackout.weekly) return check_weekly(*blackout.weekly, at, errors);
  if (!blackout.from || !blackout.until) {
    errors.push_back({at.text(), "must have both from and until, or start and end"});
  } else if (*blackout.from >= *blackout.until) {
    errors.push_back({at.field("until").text(), "must be after from"});
  }
}

void check_trigger(const ScheduleTrigger& trigger, const FieldPath& at, FieldErrors& errors) {
  check_duration(errors, at.field("debounce"), trigger.debounce, base::seconds(1), std::chrono::hours(1));
  const bool is_spike = trigger.type == TriggerKind::kUsageSpike;
  const bool has_usage = !trigger.source.empty() || !trigger.resource.empty() || trigger.above != 0;
  if (!is_spike && has_usage) errors.push_back({at.text(), "source, resource and above are for UsageSpike only"});
  if (!is_spike) return;
  if (trigger.source.empty()) errors.push_back({at.field("source").text(), "is required for UsageSpike"});
  if (trigger.resource.empty()) errors.push_back({at.field("resource").text(), "is required for UsageSpike"});
  check_length(errors, at.field("source"), trigger.source, bounds::kMaxLabelName);
  check_length(errors, at.field("resource"), trigger.resource, bounds::kMaxSecretText);
  check_number(errors, at.field("above"), trigger.above, 1, 100);
}

}  // namespace

std::string_view to_string(TriggerKind kind) { return name_of(kTriggerNames, kind); }

void read_schedule(StrictObject& object, PolicySchedule& schedule) {
  std::optional<base::Duration> interval;
  object.read_duration("interval", interval);
  object.read("cron", schedule.cron);
  object.read("timeZone", schedule.time_zone);
  object.for_each("windows", [&](const Json& item, const FieldPath& path) {
    StrictObject window(item, path, object.errors());
    schedule.windows.push_back(read_weekly(window));
    window.finish();
  });
  object.for_each("blackouts", [&](const Json& item, const FieldPath& path) {
    schedule.blackouts.push_back(read_blackout(item, path, object.errors()));
  });
  object.for_each("triggers", [&](const Json& item, const FieldPath& path) {
    schedule.triggers.push_back(read_trigger(item, path, object.errors()));
  });
  if (!interval) return;
  schedule.interval = std::chrono::duration_cast<base::seconds>(*interval);
  if (schedule.interval != *interval) object.complain("interval", "must be whole seconds");
}

Json encode_schedule(const PolicySchedule& schedule) {
  Json json = {{"interval", base::format_duration(schedule.interval)}};
  put_text(json, "cron", schedule.cron);
  put_text(json, "timeZone", schedule.time_zone);
  for (const WeeklyWindow& window : schedule.windows) json["windows"].push_back(encode_weekly(window));
  for (const BlackoutWindow& blackout : schedule.blackouts) json["blackouts"].push_back(encode_blackout(blackout));
  if (!schedule.triggers.empty()) json["triggers"] = encode(schedule.triggers);
  return json;
}

void validate_schedule(const PolicySchedule& schedule, const FieldPath& at, FieldErrors& errors) {
  check_duration(errors, at.field("interval"), schedule.interval, bounds::kMinInterval, bounds::kMaxInterval);
  check_items(errors, at.field("windows"), schedule.windows.size(), bounds::kMaxWindows);
  check_items(errors, at.field("blackouts"), schedule.blackouts.size(), bounds::kMaxWindows);
  check_items(errors, at.field("triggers"), schedule.triggers.size(), bounds::kMaxTriggers);
  check_length(errors, at.field("cron"), schedule.cron, bounds::kMaxCron);
  check_length(errors, at.field("timeZone"), schedule.time_zone, bounds::kMaxTimeZone);
  for (std::size_t i = 0; i < schedule.windows.size(); ++i)
    check_weekly(schedule.windows[i], at.field("windows").index(i), errors);
  for (std::size_t i = 0; i < schedule.blackouts.size(); ++i)
    check_blackout(schedule.blackouts[i], at.field("blackouts").index(i), errors);
  for (std::size_t i = 0; i < schedule.triggers.size(); ++i)
    check_trigger(schedule.triggers[i], at.field("triggers").index(i), errors);
}

}  // namespace api
