#include "cmd/convert/chart_defaults.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

namespace api::upstream {
namespace {

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

}  // namespace

Json default_chart_policy(int minor) {
  if (minor <= kNewestChartOfV1alpha1) return {{"strategies", default_strategies(minor)}};
  return {{"profiles", Json::array({default_profile(minor)})}};
}

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

}  // namespace api::upstream
