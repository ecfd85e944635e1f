/// The values of upstream's Helm chart, as far as they say what is decided and when.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "api/upstream/parts.hpp"

namespace api::upstream {
namespace {

/// A field such as "7" in the range, or nullopt.
std::optional<int> cron_number(std::string_view field, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (field.empty() || error != std::errc{} || end != field.data() + field.size()) return std::nullopt;
  return value >= least && value <= most ? std::optional(value) : std::nullopt;
}

/// N of "*/N" (1 of "*") when it divides `whole` without a rest.
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

/// What a values file says beside the policy.
class ChartReader {
 public:
  ChartReader(const Json& json, const FieldPath& at, Workbench& bench)
      : values_(json, at, bench.errors()), at_(at), bench_(bench) {}

  void read() {
    values_.find("deschedulerPolicy");
    read_schedule();
    bool suspend = false;
    values_.read("suspend", suspend);
    if (suspend) common_.spec["suspend"] = true;
    read_options();
    std::string version;
    values_.read("deschedulerPolicyAPIVersion", version);
    note_installation();
    read_policy(version);
  }

 private:
  void set_interval(base::seconds interval, const FieldPath& at) {
    common_.spec["schedule"]["interval"] = base::format_duration(interval);
    common_.origins.push_back({"spec.schedule.interval", at.text()});
  }

  void read_schedule() {
    std::string kind;
    std::string cron;
    std::optional<base::Duration> interval;
    values_.read("kind", kind);
    values_.read("schedule", cron);
    values_.read_duration("deschedulingInterval", interval);
    if (kind == "Deployment") {
      if (interval)
        set_interval(std::chrono::duration_cast<base::seconds>(*interval), at_.field("deschedulingInterval"));
      return;
    }
    if (cron.empty()) return;
    const FieldPath at = at_.field("schedule");
    if (const auto period = period_of_cron(cron)) {
      set_interval(*period, at);
      bench_.note(NoteKind::kChanged, at,
                  fmt::format("the policies run every {}, counted from when the operator starts",
                              base::format_duration(*period)));
    } else {
      bench_.note(NoteKind::kDropped, at,
                  fmt::format("\"{}\" does not come round at equal distances", cron.substr(0, 80)),
                  "set spec.schedule.interval, or let a CronJob of yours patch spec.suspend");
    }
  }

  void read_options() {
    const Json* json = values_.find("cmdOptions");
    if (json == nullptr) return;
    if (!json->is_object())
      return bench_.error(at_.field("cmdOptions"), fmt::format("must be an object, not {}", kind_of(*json)));
    for (const auto& [flag, value] : json->items()) read_option(flag, value, at_.field("cmdOptions").key(flag));
  }

  void read_option(const std::string& flag, const Json& value, const FieldPath& at) {
    if (flag == "descheduling-interval") {
      const auto interval = value.is_string() ? base::parse_duration(value.get<std::string>()) : std::nullopt;
      if (!interval) return bench_.error(at, "must be a duration such as \"5m\"");
      return set_interval(std::chrono::duration_cast<base::seconds>(*interval), at);
    }
    if (flag == "dry-run") return;  // converted policies start as dry runs
    if (flag == "feature-gates")
      return bench_.note(NoteKind::kChanged, at,
                         "evictions in the background need no gate: pods that carry the annotation leave that way");
    bench_.note(NoteKind::kIgnored, at, "is a flag of the process", "docs/operations.md has the operator's");
  }

  /// All that is about how upstream is installed, in one note.
  void note_installation() {
    FieldErrors unknown;
    std::swap(unknown, bench_.errors());
    values_.finish();
    std::swap(unknown, bench_.errors());
    std::string names;
    for (const FieldError& each : unknown) {
      if (each.message.starts_with("unknown field")) names += (names.empty() ? "" : ", ") + each.path;
    }
    if (!names.empty())
      bench_.note(NoteKind::kIgnored, FieldPath(names), "about how upstream is installed",
                  "install Evacuator with config/default");
  }

  void read_policy(const std::string& version) {
    const FieldPath at = at_.field("deschedulerPolicy");
    const Json* policy = values_.find("deschedulerPolicy");
    if (policy == nullptr) return bench_.error(at, "is empty");
    if (!policy->is_object()) return bench_.error(at, fmt::format("must be an object, not {}", kind_of(*policy)));
    const bool is_map = version.empty() ? policy->contains("strategies") : version == "descheduler/v1alpha1";
    if (!version.empty() && version != "descheduler/v1alpha1" && version != "descheduler/v1alpha2")
      return bench_.error(at_.field("deschedulerPolicyAPIVersion"),
                          "must be descheduler/v1alpha2 or descheduler/v1alpha1");
    (is_map ? read_v1alpha1 : read_v1alpha2)(*policy, at, common_, bench_);
  }

  StrictObject values_;
  FieldPath at_;
  Workbench& bench_;
  Draft common_;
};

}  // namespace

std::optional<base::seconds> period_of_cron(std::string_view cron) {
  const auto fields = cron_fields(cron);
  if (fields.size() == 1) return period_of_macro(fields[0]);
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

void read_chart_values(const Json& values, const FieldPath& at, Workbench& bench) {
  ChartReader(values, at, bench).read();
}

}  // namespace api::upstream
