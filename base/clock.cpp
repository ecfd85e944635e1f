#include "base/clock.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

namespace base {
namespace {

using std::chrono::days;
using std::chrono::hours;

/// Reads exactly `width` digits at `*at` and advances `*at` on success.
std::optional<int> take_digits(std::string_view text, std::size_t* at, std::size_t width) {
  if (text.size() < *at + width) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    const char c = text[*at + i];
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  *at += width;
  return value;
}

bool take_char(std::string_view text, std::size_t* at, char wanted) {
  if (*at >= text.size() || text[*at] != wanted) return false;
  ++*at;
  return true;
}

std::optional<days> take_date(std::string_view text, std::size_t* at) {
  const auto year = take_digits(text, at, 4);
  if (!year || !take_char(text, at, '-')) return std::nullopt;
  const auto month = take_digits(text, at, 2);
  if (!month || !take_char(text, at, '-')) return std::nullopt;
  const auto day = take_digits(text, at, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch();
}

std::optional<Duration> take_time_of_day(std::string_view text, std::size_t* at) {
  const auto hour = take_digits(text, at, 2);
  if (!hour || *hour > 23 || !take_char(text, at, ':')) return std::nullopt;
  const auto minute = take_digits(text, at, 2);
  if (!minute || *minute > 59 || !take_char(text, at, ':')) return std::nullopt;
  const auto second = take_digits(text, at, 2);
  if (!second || *second > 60) return std::nullopt;
  return hours(*hour) + minutes(*minute) + seconds(*second);
}

std::optional<Duration> take_fraction(std::string_view text, std::size_t* at) {
  if (!take_char(text, at, '.')) return Duration::zero();
  std::int64_t micros = 0;
  int digits = 0;
  for (; *at < text.size() && std::isdigit(static_cast<unsigned char>(text[*at])); ++*at, ++digits) {
    if (digits < 6) micros = micros * 10 + (text[*at] - '0');
  }
  if (digits == 0 || digits > 9) return std::nullopt;
  for (int i = digits; i < 6; ++i) micros *= 10;
  return Duration(micros);
}

std::optional<Duration> take_offset(std::string_view text, std::size_t* at) {
  if (take_char(text, at, 'Z') || take_char(text, at, 'z')) return Duration::zero();
  const bool minus = take_char(text, at, '-');
  if (!minus && !take_char(text, at, '+')) return std::nullopt;
  const auto hour = take_digits(text, at, 2);
  if (!hour || *hour > 23 || !take_char(text, at, ':')) return std::nullopt;
  const auto minute = take_digits(text, at, 2);
  if (!minute || *minute > 59) return std::nullopt;
  const Duration offset = hours(*hour) + minutes(*minute);
  return minus ? -offset : offset;
}

/// Returns length and size in µs of the Go unit at the start of `text`. A nanosecond is 0.001 µs.
std::optional<std::pair<std::size_t, double>> duration_unit(std::string_view text) {
  struct Unit {
    std::string_view name;
    double micros;
  };
  static constexpr std::array kUnits = {Unit{"ns", 1e-3}, Unit{"us", 1},  Unit{"\u00b5s", 1}, Unit{"\u03bcs", 1},
                                        Unit{"ms", 1e3},  Unit{"s", 1e6}, Unit{"m", 60e6},    Unit{"h", 3600e6}};
  for (const Unit& unit : kUnits) {
    if (text.starts_with(unit.name)) return std::pair{unit.name.size(), unit.micros};
  }
  return std::nullopt;
}

/// Reads one "<decimal><unit>" term and removes it from `*text`. Returns the value in µs.
std::optional<double> take_duration_term(std::string_view* text) {
  double value = 0;
  double scale = 1;
  bool seen_dot = false;
  std::size_t digits = 0;
  std::size_t at = 0;
  for (; at < text->size(); ++at) {
    const char c = (*text)[at];
    if (c == '.' && !seen_dot) {
      seen_dot = true;
    } else if (c >= '0' && c <= '9') {
      ++digits;
      if (seen_dot) scale /= 10;
      value = seen_dot ? value + (c - '0') * scale : value * 10 + (c - '0');
    } else {
      break;
    }
  }
  const auto unit = duration_unit(text->substr(at));
  if (digits == 0 || !unit) return std::nullopt;
  text->remove_prefix(at + unit->first);
  return value * unit->second;
}

/// Overwrites the zeros that end `from_end` characters before the end of `text`.
void put_digits(std::string& text, std::size_t from_end, std::int64_t number) {
  for (std::size_t at = text.size() - from_end; number > 0; number /= 10)
    text[at--] = static_cast<char>('0' + number % 10);
}

}  // namespace

TimePoint SystemClock::now() const { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

std::string format_time(TimePoint time) {
  std::string text = format_micro_time(time);
  text.resize(text.size() - std::string_view(".000000Z").size());
  return text += 'Z';
}

std::string format_micro_time(TimePoint time) {
  const auto midnight = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date{midnight};
  const std::chrono::hh_mm_ss clock{time - midnight};
  const int year = static_cast<int>(date.year());
  const bool is_usual = year >= 0 && year <= 9999;
  std::string text = is_usual ? "0000-00-00T00:00:00.000000Z" : fmt::format("{:04}-00-00T00:00:00.000000Z", year);
  if (is_usual) put_digits(text, 24, year);
  put_digits(text, 21, static_cast<unsigned>(date.month()));
  put_digits(text, 18, static_cast<unsigned>(date.day()));
  put_digits(text, 15, clock.hours().count());
  put_digits(text, 12, clock.minutes().count());
  put_digits(text, 9, clock.seconds().count());
  put_digits(text, 2, clock.subseconds().count());
  return text;
}

std::optional<TimePoint> parse_time(std::string_view text) {
  std::size_t at = 0;
  const auto date = take_date(text, &at);
  if (!date || !(take_char(text, &at, 'T') || take_char(text, &at, 't'))) return std::nullopt;
  const auto time = take_time_of_day(text, &at);
  if (!time) return std::nullopt;
  const auto fraction = take_fraction(text, &at);
  if (!fraction) return std::nullopt;
  const auto offset = take_offset(text, &at);
  if (!offset || at != text.size()) return std::nullopt;
  return TimePoint(*date + *time + *fraction - *offset);
}

std::optional<Duration> parse_duration(std::string_view text) {
  if (text == "0" || text == "+0" || text == "-0") return Duration::zero();
  const bool minus = text.starts_with('-');
  if (minus || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  double micros = 0;
  while (!text.empty()) {
    const auto term = take_duration_term(&text);
    if (!term) return std::nullopt;
    micros += *term;
  }
  // Go's int64 nanoseconds overflow after about 292 years.
  if (micros > static_cast<double>(std::numeric_limits<std::int64_t>::max()) / 1000) return std::nullopt;
  const auto ticks = static_cast<std::int64_t>(std::llround(micros));
  return Duration(minus ? -ticks : ticks);
}

std::string format_duration(Duration duration) {
  if (duration < Duration::zero()) return "-" + format_duration(-duration);
  if (duration < milliseconds(1)) {
    return duration == Duration::zero() ? "0s" : fmt::format("{}\u00b5s", duration.count());
  }
  if (duration < seconds(1)) return fmt::format("{}ms", static_cast<double>(duration.count()) / 1e3);
  // Avoids fmt for speed: a plan formats the ages of many thousand pods.
  std::string text;
  const auto put = [&](std::int64_t number, char unit) {
    std::array<char, 20> digits;
    text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
    text += unit;
  };
  const std::int64_t whole_minutes = duration / minutes(1);
  const Duration rest = duration % minutes(1);
  if (whole_minutes >= 60) put(whole_minutes / 60, 'h');
  if (whole_minutes > 0) put(whole_minutes % 60, 'm');
  if (rest % seconds(1) == Duration::zero()) {
    put(rest / seconds(1), 's');
  } else {
    text += fmt::format("{}s", static_cast<double>(rest.count()) / 1e6);
  }
  return text;
}

std::string format_age(Duration age) {
  const auto total = std::max<std::int64_t>(0, age / seconds(1));
  const auto with_rest = [](std::int64_t major, const char* unit, std::int64_t minor, const char* sub) {
    return minor == 0 ? fmt::format("{}{}", major, unit) : fmt::format("{}{}{}{}", major, unit, minor, sub);
  };
  if (total < 120) return fmt::format("{}s", total);
  if (total < 600) return with_rest(total / 60, "m", total % 60, "s");
  if (total < 3 * 3600) return fmt::format("{}m", total / 60);
  if (total < 8 * 3600) return with_rest(total / 3600, "h", total % 3600 / 60, "m");
  if (total < 48 * 3600) return fmt::format("{}h", total / 3600);
  if (total < 8 * 86400) return with_rest(total / 86400, "d", total % 86400 / 3600, "h");
  if (total < 2 * 365 * 86400LL) return fmt::format("{}d", total / 86400);
  return with_rest(total / (365 * 86400LL), "y", total % (365 * 86400LL) / 86400, "d");
}

}  // namespace base
