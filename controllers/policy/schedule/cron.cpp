#include "controllers/policy/schedule/cron.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace controllers {
namespace {

using std::chrono::local_days;

constexpr std::array<std::string_view, 12> kMonthNames = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                                          "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::array<std::string_view, 7> kDayNames = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kMacros = {{{"@yearly", "0 0 1 1 *"},
                                                                                   {"@annually", "0 0 1 1 *"},
                                                                                   {"@monthly", "0 0 1 * *"},
                                                                                   {"@weekly", "0 0 * * 0"},
                                                                                   {"@daily", "0 0 * * *"},
                                                                                   {"@midnight", "0 0 * * *"},
                                                                                   {"@hourly", "0 * * * *"}}};
constexpr std::array<unsigned, 12> kMaxMonths = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
constexpr unsigned kSunday = 7;

struct FieldKind {
  std::string_view name;
  unsigned least;
  unsigned most;
  const std::string_view* names;  ///< names of the values from `least` on; nullptr if none
  std::size_t name_count;
};
constexpr std::array<FieldKind, 5> kKinds = {{{"minute", 0, 59, nullptr, 0},
                                              {"hour", 0, 23, nullptr, 0},
                                              {"day of the month", 1, 31, nullptr, 0},
                                              {"month", 1, 12, kMonthNames.data(), kMonthNames.size()},
                                              {"day of the week", 0, kSunday, kDayNames.data(), kDayNames.size()}}};

constexpr std::uint64_t bit(unsigned value) { return std::uint64_t{1} << value; }
bool has(std::uint64_t set, unsigned value) { return (set & bit(value)) != 0; }

std::vector<std::string_view> words(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  std::vector<std::string_view> found;
  while (true) {
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return found;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
    found.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

bool equals_ignoring_case(std::string_view text, std::string_view upper) {
  const auto raised = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; };
  return std::equal(text.begin(), text.end(), upper.begin(), upper.end(),
                    [&](char a, char b) { return raised(a) == b; });
}

std::optional<unsigned> number(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<unsigned> value_of(std::string_view text, const FieldKind& kind) {
  for (std::size_t i = 0; i < kind.name_count; ++i) {
    if (equals_ignoring_case(text, kind.names[i])) return kind.least + static_cast<unsigned>(i);
  }
  const auto value = number(text);
  return value && *value >= kind.least && *value <= kind.most ? value : std::nullopt;
}

struct Range {
  unsigned first;
  unsigned last;
};

/// Parses "5", "MON-FRI" or "*"; "FRI-SUN" ends on the following Sunday.
std::optional<Range> range_of(std::string_view text, const FieldKind& kind, bool with_step) {
  const bool is_weekday = kind.most == kSunday;
  if (text == "*" || text == "?") return Range{kind.least, is_weekday ? kSunday - 1 : kind.most};
  const auto ends = base::split(text, "-");
  const auto first = value_of(ends[0], kind);
  if (!first || ends.size() > 2) return std::nullopt;
  if (ends.size() == 1)
    return Range{*first, with_step ? std::max(*first, is_weekday ? kSunday - 1 : kind.most) : *first};
  auto last = value_of(ends[1], kind);
  if (is_weekday && last == 0U && *first > 0) last = kSunday;
  if (!last || *last < *first) return std::nullopt;
  return Range{*first, *last};
}

/// Adds one item of a list to the set. Sets `any` for * or ?, unless the step is above 1 (like CronJob's parser).
bool read_item(std::string_view item, const FieldKind& kind, std::uint64_t& set, bool& any) {
  const auto parts = base::split(item, "/");
  const auto range = range_of(parts[0], kind, parts.size() == 2);
  const auto step = parts.size() == 2 ? number(parts[1]) : std::optional<unsigned>(1);
  if (parts.size() > 2 || !range || !step || *step == 0) return false;
  if ((parts[0] == "*" || parts[0] == "?") && *step == 1) any = true;
  for (std::uint64_t value = range->first; value <= range->last; value += *step)
    set |= bit(static_cast<unsigned>(value));
  return true;
}

base::Error not_five_fields(std::string_view text) {
  if (text.starts_with("@every")) return base::invalid("@every is not supported, use spec.schedule.interval");
  if (text.find("TZ=") != std::string_view::npos)
    return base::invalid("a time zone is not allowed here, use spec.schedule.timeZone");
  if (text.starts_with('@'))
    return base::invalid(fmt::format("\"{}\" is not one of @yearly, @monthly, @weekly, @daily, @hourly", text));
  return base::invalid(
      fmt::format("\"{}\" must have five fields: minute, hour, day of the month, month, day of the week", text));
}

}  // namespace

base::Result<CronExpression> CronExpression::parse(std::string_view text) {
  auto items = words(text);
  const auto macro = std::ranges::find(kMacros, items.size() == 1 ? items[0] : std::string_view(),
                                       &std::pair<std::string_view, std::string_view>::first);
  if (macro != kMacros.end()) items = words(text = macro->second);
  if (items.size() != kKinds.size() || text.find("TZ=") != std::string_view::npos) return not_five_fields(text);
  Fields fields;
  bool ignored = false;
  const std::array<std::uint64_t*, 5> sets = {&fields.minutes, &fields.hours, &fields.days, &fields.months,
                                              &fields.weekdays};
  const std::array<bool*, 5> any = {&ignored, &ignored, &fields.any_day, &ignored, &fields.any_weekday};
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    const FieldKind& kind = kKinds[i];
    for (const std::string_view item : base::split(items[i], ",")) {
      if (!read_item(item, kind, *sets[i], *any[i]))
        return base::invalid(fmt::format("{}: \"{}\" is not a value, range or step from {} to {}", kind.name, item,
                                         kind.least, kind.most));
    }
  }
  if (has(fields.weekdays, kSunday)) fields.weekdays |= bit(0);
  const CronExpression parsed(fields);
  if (!parsed.ever_comes())
    return base::invalid(fmt::format("\"{}\" never matches: none of its months has such a day", text));
  return parsed;
}

bool CronExpression::ever_comes() const {
  if (!fields_.any_weekday && !fields_.any_day) return true;  // matching weekdays suffice
  const auto first_day = static_cast<unsigned>(std::countr_zero(fields_.days));
  for (unsigned month = 1; month <= kMaxMonths.size(); ++month) {
    if (has(fields_.months, month) && first_day <= kMaxMonths[month - 1]) return true;
  }
  return false;
}

bool CronExpression::matches_day(local_days day) const {
  const std::chrono::year_month_day date(day);
  if (!has(fields_.months, static_cast<unsigned>(date.month()))) return false;
  const bool by_date = has(fields_.days, static_cast<unsigned>(date.day()));
  const bool by_weekday = has(fields_.weekdays, std::chrono::weekday(day).c_encoding());
  return fields_.any_day || fields_.any_weekday ? by_date && by_weekday : by_date || by_weekday;
}

bool CronExpression::may_match(unsigned weekday, unsigned minute_of_day) const {
  const bool day = has(fields_.weekdays, weekday) || (!fields_.any_day && !fields_.any_weekday);
  return day && has(fields_.hours, minute_of_day / 60) && has(fields_.minutes, minute_of_day % 60);
}

/// REQUIRES: `from` is a whole minute.
std::optional<LocalTime> CronExpression::next_local(LocalTime from, LocalTime limit) const {
  for (local_days day = std::chrono::floor<std::chrono::days>(from); LocalTime(day) < limit;
       day += std::chrono::days(1)) {
    if (!matches_day(day)) continue;
    const auto start =
        std::max<base::minutes>(std::chrono::floor<base::minutes>(from - LocalTime(day)), base::minutes(0));
    const auto first_hour = static_cast<unsigned>(start.count() / 60);
    for (unsigned hour = first_hour; hour < 24; ++hour) {
      if (!has(fields_.hours, hour)) continue;
      const unsigned first_minute = hour == first_hour ? static_cast<unsigned>(start.count() % 60) : 0;
      const std::uint64_t left = fields_.minutes >> first_minute;
      if (left == 0) continue;
      const unsigned minute = first_minute + static_cast<unsigned>(std::countr_zero(left));
      return LocalTime(day) + std::chrono::hours(hour) + base::minutes(minute);
    }
  }
  return std::nullopt;
}

std::optional<base::TimePoint> CronExpression::next_after(base::TimePoint after, const TimeZone& zone) const {
  const base::TimePoint limit = after + kHorizon;
  base::TimePoint from = std::chrono::floor<base::seconds>(after) + base::seconds(1);
  while (from < limit) {
    const TimeZone::Period period = zone.period_at(from);
    const LocalTime end(std::chrono::floor<base::seconds>(std::min(period.end, limit)).time_since_epoch() +
                        period.offset);
    const LocalTime begin = std::chrono::ceil<base::minutes>(
        LocalTime(std::chrono::floor<base::seconds>(from).time_since_epoch() + period.offset));
    const auto found = next_local(begin, end);
    if (found && *found < end) return instant_of(*found, period);
    from = period.end;
  }
  return std::nullopt;
}

}  // namespace controllers
