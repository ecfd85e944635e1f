/// Reads the values of upstream's Helm chart that affect which pods are evicted and when.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "cmd/convert/parts.hpp"
#include "cmd/convert/process.hpp"

namespace convert {
namespace {

/// Minor versions of the chart (29 for 0.29.1) whose defaults are known. Other versions use those of the nearest one.
constexpr int kOldestChart = 18;
constexpr int kNewestChart = 36;
constexpr int kNewestChartOfV1alpha1 = 29;
constexpr int kOldestChartWithKind = 22;        ///< older charts render only CronJobs
constexpr int kOldestChartWithApiVersion = 27;  ///< older charts render only v1alpha1 policies

constexpr int kOldestChartWithTimeZone = 29;  ///< time zone of a CronJob

constexpr std::string_view kChartSchedule = "*/2 * * * *";
constexpr std::string_view kChartInterval = "5m";

constexpr const char* kThresholds = R"({"cpu": 20, "memory": 20, "pods": 20})";
constexpr const char* kTargetThresholds = R"({"cpu": 50, "memory": 50, "pods": 50})";
constexpr const char* kRequiredAffinity = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr int kFirstWithRestarts = 25;     // version that added restarts and topology spread
constexpr int kFirstWithProtections = 34;  // version that replaced the deprecated booleans with podProtections

Json utilization() {
  return {{"thresholds", Json::parse(kThresholds)}, {"targetThresholds", Json::parse(kTargetThresholds)}};
}
Json many_restarts() { return {{"podRestartThreshold", 100}, {"includingInitContainers", true}}; }
Json affinity_types() { return {{"nodeAffinityType", Json::array({kRequiredAffinity})}}; }

/// Returns an entry of `strategies` in v1alpha1.
Json enabled(const Json& params = nullptr) {
  Json entry = {{"enabled", true}};
  if (!params.is_null()) entry["params"] = params;
  return entry;
}

Json default_strategies(int minor) {
  Json strategies = {{"RemoveDuplicates", enabled()},
                     {"RemovePodsViolatingNodeTaints", enabled()},
                     {"RemovePodsViolatingInterPodAntiAffinity", enabled()},
                     {"RemovePodsViolatingNodeAffinity", enabled(affinity_types())},
                     {"LowNodeUtilization", enabled({{"nodeResourceUtilizationThresholds", utilization()}})}};
  if (minor < kFirstWithRestarts) return strategies;
  strategies["RemovePodsHavingTooManyRestarts"] = enabled({{"podsHavingTooManyRestarts", many_restarts()}});
  strategies["RemovePodsViolatingTopologySpreadConstraint"] = enabled({{"includeSoftConstraints", false}});
  return strategies;
}

Json default_evictor(int minor) {
  if (minor < kFirstWithProtections) return {{"ignorePvcPods", true}, {"evictLocalStoragePods", true}};
  return {
      {"podProtections",
       {{"defaultDisabled", Json::array({"PodsWithLocalStorage"})}, {"extraEnabled", Json::array({"PodsWithPVC"})}}}};
}

Json plugin(const char* name, const Json& args = nullptr) {
  Json entry = {{"name", name}};
  if (!args.is_null()) entry["args"] = args;
  return entry;
}

Json default_profile(int minor) {
  const Json configs =
      Json::array({plugin("DefaultEvictor", default_evictor(minor)), plugin("RemoveDuplicates"),
                   plugin("RemovePodsHavingTooManyRestarts", many_restarts()),
                   plugin("RemovePodsViolatingNodeAffinity", affinity_types()), plugin("RemovePodsViolatingNodeTaints"),
                   plugin("RemovePodsViolatingInterPodAntiAffinity"),
                   plugin("RemovePodsViolatingTopologySpreadConstraint"), plugin("LowNodeUtilization", utilization())});
  const Json balance =
      Json::array({"RemoveDuplicates", "RemovePodsViolatingTopologySpreadConstraint", "LowNodeUtilization"});
  const Json deschedule = Json::array({"RemovePodsHavingTooManyRestarts", "RemovePodsViolatingNodeTaints",
                                       "RemovePodsViolatingNodeAffinity", "RemovePodsViolatingInterPodAntiAffinity"});
  return {{"name", "default"},
          {"pluginConfig", configs},
          {"plugins", {{"balance", {{"enabled", balance}}}, {"deschedule", {{"enabled", deschedule}}}}}};
}

void append_enabled(const Json& profile, std::string& names) {
  for (const char* point : {"deschedule", "balance"}) {
    for (const Json& name : profile.at("plugins").at(point).at("enabled"))
      names += (names.empty() ? "" : ", ") + name.get<std::string>();
  }
}

Json default_chart_policy(int minor) {
  if (minor <= kNewestChartOfV1alpha1) return {{"strategies", default_strategies(minor)}};
  return {{"profiles", Json::array({default_profile(minor)})}};
}

/// Merges defaults under values like Helm: maps are merged, a null deletes, other user values win. Calls `added` for
/// each default that was added.
void merge_as_helm(Json& values, const Json& defaults, const FieldPath& at,
                   const std::function<void(const FieldPath& at, const Json& value)>& added) {
  for (const auto& [key, value] : defaults.items()) {
    const auto found = values.find(key);
    if (found == values.end()) {
      values[key] = value;
      added(at.key(key), value);
    } else if (found->is_null()) {
      values.erase(key);
    } else if (found->is_object() && value.is_object()) {
      merge_as_helm(*found, value, at.key(key), added);
    }
  }
}

/// Returns the names of the strategies that a default enables ("RemoveDuplicates, …"), else its text if short, else an
/// empty string.
std::string summary_of_default(const Json& value) {
  constexpr std::size_t kMax = 100;
  std::string names;
  if (value.is_array() && !value.empty() && value.front().is_object() && value.front().contains("plugins")) {
    for (const Json& profile : value) append_enabled(profile, names);
    return names;
  }
  const std::string text = to_json_text(value);
  return text.size() <= kMax ? text : "";
}

constexpr std::string_view kV1alpha1 = "descheduler/v1alpha1";
constexpr std::string_view kV1alpha2 = "descheduler/v1alpha2";

/// Reads a values file: the settings around the policy, and the policy with the chart's defaults.
class ChartReader {
 public:
  ChartReader(const Json& json, const FieldPath& at, std::optional<int> minor, ConversionContext& bench)
      : json_(json), values_(json, at, bench.errors()), at_(at), context_(bench), requested_minor_(minor) {
    values_.read("deschedulerPolicyAPIVersion", version_);
    minor_ = std::clamp(requested_minor_ ? *requested_minor_ : guess(), kOldestChart, kNewestChart);
  }

  void read() {
    values_.find("deschedulerPolicy");
    read_schedule();
    read_options();
    note_installation();
    read_policy();
    note_version();
  }

 private:
  /// Guesses the chart's minor version if neither the options nor the input state it.
  int guess() {
    const Json* policy = find_at(json_, {"deschedulerPolicy"});
    const bool of_image = policy == nullptr || !policy->is_object() || !policy->contains("profiles");
    image_minor_ = of_image ? chart_minor_of(text_at(json_, {"image", "tag"})) : std::nullopt;
    if (image_minor_) return version_.empty() ? *image_minor_ : std::max(*image_minor_, kOldestChartWithApiVersion);
    return version_ == kV1alpha1 ? kNewestChartOfV1alpha1 : kNewestChart;
  }

  std::string chart() const { return fmt::format("chart 0.{}", minor_); }

  void note_default(const FieldPath& at, const std::string& value) {
    used_defaults_ = true;
    const bool several = value.find(", ") != std::string::npos && !value.starts_with('{');  // names of strategies
    context_.note(NoteKind::kAdded, at,
                  value.empty()
                      ? fmt::format("is a default of {}", chart())
                      : fmt::format("{} {} of {}", value, several ? "are the defaults" : "is the default", chart()));
  }

  void read_schedule() {
    std::string kind = "CronJob";
    values_.read("kind", kind);
    std::optional<base::Duration> interval;
    values_.read_duration("deschedulingInterval", interval);
    bool suspend = false;
    values_.read("suspend", suspend);
    if (kind == "Deployment" && minor_ >= kOldestChartWithKind) return read_interval(interval, suspend);
    if (kind != "CronJob" && kind != "Deployment")
      return context_.error(at_.field("kind"), "must be CronJob or Deployment: the chart renders no other kind");
    if (interval) {
      context_.note(NoteKind::kIgnored, at_.field("deschedulingInterval"),
                    "the default, a CronJob, runs on a schedule; only kind: Deployment uses it");
    }
    if (suspend) common_.spec["suspend"] = true;
    read_cron();
  }

  /// Reads deschedulingInterval, which applies to a Deployment.
  void read_interval(std::optional<base::Duration> interval, bool suspend) {
    const FieldPath at = at_.field("deschedulingInterval");
    if (!interval) {
      interval = base::parse_duration(kChartInterval);
      note_default(at, std::string(kChartInterval));
    }
    set_interval(std::chrono::duration_cast<base::seconds>(*interval), at, common_);
    for (const char* of_jobs : {"schedule", "suspend"}) {
      if (values_.find(of_jobs) != nullptr && (suspend || of_jobs != std::string_view("suspend")))
        context_.note(NoteKind::kIgnored, at_.field(of_jobs), "only kind: CronJob uses it");
    }
  }

  void read_cron() {
    const FieldPath at = at_.field("schedule");
    std::string cron;
    values_.read("schedule", cron);
    if (cron.empty()) {
      cron = kChartSchedule;
      note_default(at, fmt::format("\"{}\"", kChartSchedule));
    }
    std::string zone;
    if (minor_ >= kOldestChartWithTimeZone) values_.read("timeZone", zone);
    read_cron_schedule({cron, zone, at}, common_, context_);
  }

  void read_options() {
    const Json* json = values_.find("cmdOptions");
    if (json == nullptr) return;
    if (!json->is_object())
      return context_.error(at_.field("cmdOptions"), fmt::format("must be an object, not {}", kind_of(*json)));
    for (const auto& [flag, value] : json->items()) read_option(flag, value, at_.field("cmdOptions").key(flag));
  }

  void read_option(const std::string& flag, const Json& value, const FieldPath& at) {
    if (flag == "descheduling-interval") {
      const auto interval = value.is_string() ? base::parse_duration(value.get<std::string>()) : std::nullopt;
      if (!interval) return context_.error(at, "must be a duration such as \"5m\"");
      return set_interval(std::chrono::duration_cast<base::seconds>(*interval), at, common_);
    }
    if (read_policy_flag(flag, value, at, minor_, defaults_of_flags_, context_)) return;
    if (flag == "dry-run") return;  // converted policies start as dry runs
    if (flag == "feature-gates")
      return context_.note(
          NoteKind::kChanged, at,
          "background evictions need no feature gate: pods with the annotation are evicted in the background");
    context_.note(NoteKind::kIgnored, at, "is a flag of the process",
                  "docs/operations.md describes the operator's flags");
  }

  /// Reports all values about upstream's installation in one note.
  void note_installation() {
    FieldErrors unknown;
    std::swap(unknown, context_.errors());
    values_.finish();
    std::swap(unknown, context_.errors());
    std::string names;
    for (const FieldError& each : unknown) {
      if (each.message.starts_with("unknown field")) names += (names.empty() ? "" : ", ") + each.path;
    }
    if (!names.empty())
      context_.note(NoteKind::kIgnored, FieldPath(names), "configures the installation of upstream",
                    "install Evacuator with config/default");
  }

  /// Returns true if the chart renders the policy as v1alpha1.
  bool is_v1alpha1() {
    const FieldPath at = at_.field("deschedulerPolicyAPIVersion");
    if (!version_.empty() && version_ != kV1alpha1 && version_ != kV1alpha2)
      context_.error(at, "must be descheduler/v1alpha2 or descheduler/v1alpha1");
    if (version_ == kV1alpha2 && minor_ < kOldestChartWithApiVersion) {
      context_.note(NoteKind::kIgnored, at, fmt::format("{} ignores it, and writes {}", chart(), kV1alpha1));
      return true;
    }
    if (version_ == kV1alpha1 && minor_ > kNewestChartOfV1alpha1)
      context_.note(
          NoteKind::kChanged, at,
          fmt::format("the descheduler of {} rejects this version when it starts; it is converted as 0.{} read it",
                      chart(), kNewestChartOfV1alpha1));
    return version_.empty() ? minor_ <= kNewestChartOfV1alpha1 : version_ == kV1alpha1;
  }

  /// Merges the chart's defaults for that API version under the user's values.
  void add_defaults(Json& policy, bool v1alpha1) {
    const char* of_version = v1alpha1 ? "strategies" : "profiles";
    Json defaults = default_chart_policy(minor_);
    if (!defaults.contains(of_version)) return;
    merge_as_helm(policy, defaults, at_.field("deschedulerPolicy"),
                  [&](const FieldPath& at, const Json& value) { added_.emplace_back(at, value); });
    for (const auto& [at, value] : added_) {
      if (!is_disabled(policy, at)) note_default(at, summary_of_default(value));
    }
  }

  /// Returns true if `at` belongs to a strategy that the user has disabled.
  bool is_disabled(const Json& policy, const FieldPath& at) const {
    const std::string strategies = at_.field("deschedulerPolicy").field("strategies").text() + ".";
    if (!at.text().starts_with(strategies)) return false;
    const std::string name =
        at.text().substr(strategies.size(), at.text().find('.', strategies.size()) - strategies.size());
    const auto entry = policy["strategies"].find(name);
    return entry != policy["strategies"].end() && entry->is_object() && entry->value("enabled", Json(false)) != true;
  }

  void read_policy() {
    const FieldPath at = at_.field("deschedulerPolicy");
    Json policy = Json::object();
    if (const auto found = json_.find("deschedulerPolicy"); found != json_.end()) policy = *found;
    if (policy.is_null())
      return context_.error(
          at, "is empty: the chart writes no policy; if your own ConfigMap contains the policy, convert that");
    if (!policy.is_object()) return context_.error(at, fmt::format("must be an object, not {}", kind_of(policy)));
    const bool v1alpha1 = is_v1alpha1();
    const bool dead = !v1alpha1 && policy.contains("strategies") && !policy["strategies"].is_null();
    add_defaults(policy, v1alpha1);
    for (const auto& [name, value] : defaults_of_flags_.items()) {
      if (!policy.contains(name)) policy[name] = value;
    }
    if (dead) drop_ignored_strategies(policy);
    (v1alpha1 ? read_v1alpha1 : read_v1alpha2)(policy, at, common_, context_);
  }

  /// Drops strategies that a newer chart ignores. With an old chart they take effect; with a new one the user only
  /// expects it.
  void drop_ignored_strategies(Json& policy) {
    policy.erase("strategies");
    used_defaults_ = used_defaults_ || version_.empty();
    context_.note(NoteKind::kDropped, at_.field("deschedulerPolicy").field("strategies"),
                  fmt::format("{} writes {}, which has profiles: upstream ignores strategies", chart(), kV1alpha2),
                  version_.empty() ? "set --chart-version 0.29 if the chart is that old" : "remove them");
  }

  void note_version() {
    if (!used_defaults_) return;
    if (requested_minor_ && *requested_minor_ != minor_)
      return context_.note(
          NoteKind::kChanged, at_,
          fmt::format(
              "the defaults of chart 0.{} are unknown, only those of 0.{} to 0.{} are known: read with those of {}",
              *requested_minor_, kOldestChart, kNewestChart, chart()),
          "`helm get values --all RELEASE` and the ConfigMap show the running configuration");
    if (requested_minor_) return;
    const char* why = image_minor_             ? "the version of image.tag"
                      : minor_ == kNewestChart ? "the newest known version"
                                               : "the newest with v1alpha1";
    context_.note(NoteKind::kChanged, at_, fmt::format("read with the defaults of {}, {}", chart(), why),
                  "set --chart-version if it is another version; `helm get values --all RELEASE` and the ConfigMap "
                  "show the running configuration");
  }

  const Json& json_;
  StrictObject values_;
  FieldPath at_;
  ConversionContext& context_;
  std::optional<int> requested_minor_;
  std::optional<int> image_minor_;  ///< minor version guessed from the image tag
  int minor_ = kNewestChart;
  std::string version_;  ///< deschedulerPolicyAPIVersion
  bool used_defaults_ = false;
  Json defaults_of_flags_ = Json::object();  ///< policy fields that command-line flags set
  std::vector<std::pair<FieldPath, Json>> added_;
  Draft common_;
};

}  // namespace

bool is_chart_values(const Json& json) {
  constexpr std::array kOnlyThere = {"deschedulerPolicy", "deschedulerPolicyAPIVersion", "deschedulingInterval"};
  return std::ranges::any_of(kOnlyThere, [&](const char* name) { return json.contains(name); });
}

void read_chart_values(const Json& values, const FieldPath& at, std::optional<int> minor, ConversionContext& bench) {
  if (bench.options().chart_minor) minor = bench.options().chart_minor;
  ChartReader(values, at, minor, bench).read();
}

std::optional<int> chart_minor_of(std::string_view version) {
  // A range may resolve to any version.
  if (version.find_first_of("<>|*, ") != std::string_view::npos) return std::nullopt;
  version.remove_prefix(std::min(version.find_first_not_of("v^~="), version.size()));
  if (!version.starts_with("0.")) return std::nullopt;
  version.remove_prefix(2);
  int minor = 0;
  const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), minor);
  const bool ends_there = end == version.data() + version.size() || *end == '.' || *end == '-' || *end == '+';
  return error == std::errc{} && ends_there && minor >= 0 ? std::optional(minor) : std::nullopt;
}

}  // namespace convert
