#include "cmd/convert/process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

namespace convert {
namespace {

constexpr base::seconds kMaxPlainInterval{3600};  // longer schedules are usually chosen for their time of day
constexpr int kLastWithPolicyFlags = 22;

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Parses a field such as "7". Returns nullopt if it is not a number in the range.
std::optional<int> cron_number(std::string_view field, int least, int most) {
  const auto value = number_of<int>(field);
  return value && *value >= least && *value <= most ? value : std::nullopt;
}

/// Returns N for "*/N" (1 for "*") if N divides `whole`, else nullopt.
std::optional<int> cron_step(std::string_view field, int whole) {
  if (field == "*") return 1;
  if (!field.starts_with("*/")) return std::nullopt;
  const auto step = cron_number(field.substr(2), 1, whole);
  return step && whole % *step == 0 ? step : std::nullopt;
}

std::vector<std::string_view> cron_fields(std::string_view cron) {
  std::vector<std::string_view> fields;
  while (!cron.empty()) {
    const std::size_t length = std::min(cron.find_first_of(" \t"), cron.size());
    if (length > 0) fields.push_back(cron.substr(0, length));
    cron.remove_prefix(std::min(length + 1, cron.size()));
  }
  return fields;
}

std::optional<base::seconds> period_of_macro(std::string_view cron) {
  if (cron == "@hourly") return base::seconds(3600);
  if (cron == "@daily" || cron == "@midnight") return base::seconds(86400);
  if (cron == "@weekly") return base::seconds(604800);
  return std::nullopt;
}

/// Returns the period of "@every 1m30s" (90 s), nullopt for other expressions.
std::optional<base::seconds> period_of_every(const std::vector<std::string_view>& fields) {
  if (fields.size() != 2 || fields[0] != "@every") return std::nullopt;
  const auto period = base::parse_duration(fields[1]);
  if (!period || *period < base::seconds(1)) return std::nullopt;
  return std::chrono::duration_cast<base::seconds>(*period);
}

/// Moves the zone of "TZ=Europe/Berlin 0 3 * * *" to time_zone. Kubernetes accepted that form before it had timeZone.
CronSchedule with_zone_of_text(CronSchedule schedule) {
  for (const std::string_view prefix : {"CRON_TZ=", "TZ="}) {
    if (!schedule.cron.starts_with(prefix)) continue;
    const std::size_t end = std::min(schedule.cron.find(' '), schedule.cron.size());
    schedule.time_zone = schedule.cron.substr(prefix.size(), end - prefix.size());
    schedule.cron.erase(0, std::min(end + 1, schedule.cron.size()));
  }
  return schedule;
}

/// Returns why the schedule is invalid, an empty string if it is valid.
std::string problem_of(const CronSchedule& schedule, const ConversionContext& bench) {
  if (schedule.cron.empty()) return "it is empty";
  PolicySchedule ours;
  ours.cron = schedule.cron;
  ours.time_zone = schedule.time_zone;
  const auto& check = bench.catalogue().check_schedule;
  const FieldErrors problems = check ? check(ours) : FieldErrors{};
  return problems.empty() ? "" : problems.front().message;
}

void put_cron(const CronSchedule& schedule, Draft& common, ConversionContext& bench) {
  if (const std::string problem = problem_of(schedule, bench); !problem.empty())
    return bench.note(NoteKind::kDropped, schedule.at,
                      fmt::format("\"{}\" is not a schedule: {}", schedule.cron.substr(0, 80), problem),
                      "set spec.schedule.cron or spec.schedule.interval");
  common.set("schedule.cron", schedule.cron, schedule.at);
  if (schedule.time_zone.empty())
    return bench.note(
        NoteKind::kChanged, schedule.at,
        fmt::format("\"{}\" uses UTC; a CronJob without timeZone uses the local time of kube-controller-manager",
                    schedule.cron),
        "set spec.schedule.timeZone if the time zones differ");
  common.set("schedule.timeZone", schedule.time_zone, schedule.at);
}

constexpr std::array kPolicyFlags = {Renamed{"node-selector", "nodeSelector"},
                                     Renamed{"max-pods-to-evict-per-node", "maxNoOfPodsToEvictPerNode"},
                                     Renamed{"evict-local-storage-pods", "evictLocalStoragePods"}};

std::string text_of_flag(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? "" : to_json_text(value);
}

/// Returns the period of a cron expression that fires at equal intervals, else nullopt.
std::optional<base::seconds> period_of_cron(std::string_view cron) {
  const auto fields = cron_fields(cron);
  if (fields.size() == 1) return period_of_macro(fields[0]);
  if (fields.size() == 2) return period_of_every(fields);
  if (fields.size() != 5 || fields[2] != "*" || fields[3] != "*") return std::nullopt;
  const bool any_weekday = fields[4] == "*";
  if (fields[1] == "*" && any_weekday) {
    if (const auto minutes = cron_step(fields[0], 60)) return base::seconds(60 * *minutes);
  }
  if (!cron_number(fields[0], 0, 59)) return std::nullopt;
  if (const auto hours = cron_step(fields[1], 24); hours && any_weekday) return base::seconds(3600 * *hours);
  if (!cron_number(fields[1], 0, 23)) return std::nullopt;
  if (any_weekday) return base::seconds(86400);
  return cron_number(fields[4], 0, 7) ? std::optional(base::seconds(604800)) : std::nullopt;
}

}  // namespace

void set_interval(base::seconds interval, const FieldPath& at, Draft& common) {
  common.spec["schedule"] = {{"interval", base::format_duration(interval)}};
  common.origins.push_back({"spec.schedule.interval", at.text()});
}

void read_cron_schedule(const CronSchedule& schedule, Draft& common, ConversionContext& bench) {
  const auto period = period_of_cron(schedule.cron);
  const bool is_every = schedule.cron.starts_with("@every");  // policies support @every only as an interval
  if (!period || (*period > kMaxPlainInterval && !is_every))
    return put_cron(with_zone_of_text(schedule), common, bench);
  set_interval(*period, schedule.at, common);
  bench.note(
      NoteKind::kChanged, schedule.at,
      fmt::format("the policies run every {}, starting when the operator starts", base::format_duration(*period)));
}

bool read_policy_flag(const std::string& flag, const Json& value, const FieldPath& at, std::optional<int> minor,
                      Json& defaults, ConversionContext& bench) {
  const auto known = std::ranges::find(kPolicyFlags, flag, &Renamed::theirs);
  if (known == kPolicyFlags.end()) return false;
  if (minor && *minor > kLastWithPolicyFlags) {
    bench.note(
        NoteKind::kDropped, at,
        fmt::format("upstream has removed this flag in 0.{}, and rejects it when it starts", kLastWithPolicyFlags + 1),
        fmt::format("set {} in the policy", known->ours));
    return true;
  }
  const std::string text = text_of_flag(value);
  if (flag == "evict-local-storage-pods") {
    defaults[known->ours] = text != "false";  // a flag without a value means true
  } else if (flag == "node-selector") {
    defaults[known->ours] = text;
  } else if (const auto limit = number_of<std::uint32_t>(text)) {
    if (*limit > 0) defaults[known->ours] = *limit;  // 0 means no limit
  } else {
    bench.error(at, "must be a whole number");
  }
  return true;
}

}  // namespace convert
