/// Converts OpenShift's KubeDescheduler: its profiles, which OpenShift's operator renders as a descheduler/v1alpha2
/// policy.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cmd/convert/wrappers.hpp"

namespace convert {
namespace {

/// Namespaces that the policies of OpenShift's operator never touch. It adds the cluster's namespaces that begin with
/// openshift-.
constexpr std::array kProtectedNamespaces = {"hypershift", "kube-system", "openshift"};

struct Level {
  std::string_view name;
  int low;
  int high;
};
constexpr std::array kUtilizationLevels = {Level{"Low", 10, 30}, Level{"Medium", 20, 50}, Level{"High", 40, 70}};
constexpr std::array kCompactLevels = {Level{"Minimal", 10, 10}, Level{"Modest", 20, 20}, Level{"Moderate", 30, 30}};
constexpr int kManyRestarts = 100;
constexpr std::int64_t kSecondsOfADay = 86400;

struct Customizations {
  std::optional<base::Duration> pod_lifetime;
  std::optional<std::int32_t> threshold_priority;
  std::string threshold_class;
  std::vector<std::string> included, excluded;
  std::string utilization_level = "Medium";
  std::string compact_level = "Modest";
  std::string actual_utilization;
};

class KubeDeschedulerReader {
 public:
  KubeDeschedulerReader(const Json& object, const FieldPath& at, ConversionContext& bench)
      : spec_(*spec_of(object), at.field("spec"), bench.errors()), context_(bench) {
    const std::string ns = text_at(object, {"metadata", "namespace"});
    const std::string name = text_at(object, {"metadata", "name"});
    config_map_ = fmt::format("kubectl -n {} get configmap {} -o yaml | evacuator convert -",
                              ns.empty() ? "openshift-kube-descheduler-operator" : ns, name.empty() ? "cluster" : name);
  }

  void read() {
    for (const char* of_operator :
         {"managementState", "logLevel", "operatorLogLevel", "observedConfig", "unsupportedConfigOverrides", "mode"})
      spec_.find(of_operator);
    read_interval();
    spec_.with("evictionLimits", [&](StrictObject& limits) {
      limits.read("total", total_);
      limits.read("node", per_node_);
    });
    spec_.with("profileCustomizations", [&](StrictObject& object) { read_customizations(object); });
    std::vector<std::string> profiles;
    spec_.read("profiles", profiles);
    if (profiles.empty() && spec_.find("strategies") != nullptr)
      return context_.error(spec_.path().field("strategies"),
                            "belongs to v1beta1 of OpenShift 4.6 and older, which is not supported; convert the policy "
                            "that the operator has created: " +
                                config_map_);
    finish_with_notes(spec_, context_);
    if (profiles.empty()) return context_.error(spec_.path().field("profiles"), "must name at least one profile");
    write(profiles);
  }

 private:
  static const Json* spec_of(const Json& object) {
    static const Json kNone = Json::object();
    const auto spec = object.find("spec");
    return spec == object.end() || spec->is_null() ? &kNone : &*spec;
  }

  void read_interval() {
    base::seconds interval{0};
    spec_.read("deschedulingIntervalSeconds", interval);
    const FieldPath at = spec_.path().field("deschedulingIntervalSeconds");
    if (interval <= base::seconds(0))
      return context_.note(NoteKind::kIgnored, at, "is not set: the operator runs no descheduler");
    common_.set("schedule.interval", base::format_duration(interval), at);
  }

  void read_customizations(StrictObject& object) {
    object.read_duration("podLifetime", custom_.pod_lifetime);
    object.read("thresholdPriority", custom_.threshold_priority);
    object.read("thresholdPriorityClassName", custom_.threshold_class);
    if (custom_.threshold_priority && !custom_.threshold_class.empty())
      object.complain("thresholdPriority", "only one of thresholdPriority and thresholdPriorityClassName can be set");
    object.with("namespaces", [&](StrictObject& namespaces) {
      namespaces.read("included", custom_.included);
      namespaces.read("excluded", custom_.excluded);
      if (!custom_.included.empty() && !custom_.excluded.empty())
        namespaces.complain("included", "only one of included and excluded can be set");
    });
    object.read("devLowNodeUtilizationThresholds", custom_.utilization_level);
    object.read("devHighNodeUtilizationThresholds", custom_.compact_level);
    object.read("devActualUtilizationProfile", custom_.actual_utilization);
    // Settings of the KubeVirt profile, which is not converted, and of a feature gate that needs no setting here.
    for (const char* other : {"devDeviationThresholds", "devEnableSoftTainter", "devMigrationCooldown",
                              "devMaxMigrationCooldown", "devMigrationHistoryWindow", "devEnableEvictionsInBackground"})
      object.find(other);
    finish_with_notes(object, context_);
  }

  void write(const std::vector<std::string>& profiles) {
    const auto names = [&](const char* profile) { return std::ranges::find(profiles, profile) != profiles.end(); };
    protects_claims_ = !names("EvictPodsWithPVC");
    evicts_local_ = names("EvictPodsWithLocalStorage");
    Json policy = {{"profiles", Json::array()}};
    for (std::size_t i = 0; i < profiles.size(); ++i) {
      if (profiles[i] == "EvictPodsWithPVC" || profiles[i] == "EvictPodsWithLocalStorage") continue;
      Json profile = profile_of(profiles[i], spec_.path().field("profiles").index(i));
      if (!profile.is_null()) policy["profiles"].push_back(std::move(profile));
    }
    put_limit(total_, "total", "total");
    put_limit(per_node_, "perNode", "node");
    if (excludes_protected_)
      context_.note(
          NoteKind::kDropped, spec_.path(),
          "the operator also excludes the namespaces openshift-* of the cluster, which this object does not name",
          "to include all of them, convert the policy that the operator has created: " + config_map_);
    read_v1alpha2(policy, spec_.path(), common_, context_);
  }

  void put_limit(std::optional<std::uint32_t> limit, const char* ours, const char* theirs) {
    if (limit)
      common_.set(fmt::format("limits.perCycle.{}", ours), *limit, spec_.path().field("evictionLimits").field(theirs));
  }

  Json profile_of(const std::string& name, const FieldPath& at) {
    if (name == "AffinityAndTaints") return affinity_and_taints(name);
    if (name == "TopologyAndDuplicates") return topology_and_duplicates(name, Json::array({"DoNotSchedule"}));
    if (name == "SoftTopologyAndDuplicates")
      return topology_and_duplicates(name, Json::array({"DoNotSchedule", "ScheduleAnyway"}));
    if (name == "LifecycleAndUtilization") return lifecycle(name, true, at);
    if (name == "LongLifecycle" || name == "DevPreviewLongLifecycle") return lifecycle("LongLifecycle", false, at);
    if (name == "CompactAndScale") return compact_and_scale(name);
    if (name.ends_with("KubeVirtRelieveAndMigrate")) return report_prometheus_profile(at);
    context_.error(at, fmt::format("\"{}\" is not a profile of KubeDescheduler", name.substr(0, 80)));
    return nullptr;
  }

  /// Reports a profile that queries Prometheus, whose address only OpenShift's operator knows.
  Json report_prometheus_profile(const FieldPath& at) {
    context_.error(
        at, "uses Prometheus, whose URL is not in this object; convert the policy that the operator has created: " +
                config_map_);
    return nullptr;
  }

  static Json profile(const std::string& name, Json configs, const Json& deschedule, const Json& balance) {
    return {{"name", name},
            {"pluginConfig", std::move(configs)},
            {"plugins", {{"deschedule", {{"enabled", deschedule}}}, {"balance", {{"enabled", balance}}}}}};
  }

  Json evictor() const {
    Json args = Json::object();
    if (protects_claims_) args["ignorePvcPods"] = true;
    if (evicts_local_) args["evictLocalStoragePods"] = true;
    if (custom_.threshold_priority) args["priorityThreshold"]["value"] = *custom_.threshold_priority;
    if (!custom_.threshold_class.empty()) args["priorityThreshold"]["name"] = custom_.threshold_class;
    return {{"name", kDefaultEvictor}, {"args", args}};
  }

  std::vector<std::string> excluded() {
    excludes_protected_ = true;
    std::vector<std::string> all(kProtectedNamespaces.begin(), kProtectedNamespaces.end());
    all.insert(all.end(), custom_.excluded.begin(), custom_.excluded.end());
    return all;
  }

  Json with_namespaces(const char* name, Json args = Json::object()) {
    if (custom_.included.empty()) {
      args["namespaces"]["exclude"] = excluded();
    } else {
      args["namespaces"]["include"] = custom_.included;
    }
    return {{"name", name}, {"args", std::move(args)}};
  }

  /// Adds evictableNamespaces to a strategy that supports no inclusion. For LowNodeUtilization, and without inclusions,
  /// OpenShift's operator excludes the protected namespaces instead.
  Json with_evictable_namespaces(const char* name, Json args) {
    if (!custom_.included.empty())
      context_.note(NoteKind::kIgnored,
                    spec_.path().field("profileCustomizations").field("namespaces").field("included"),
                    fmt::format("{} ignores it", name));
    if (custom_.included.empty() || name == std::string_view("LowNodeUtilization"))
      args["evictableNamespaces"]["exclude"] = excluded();
    return {{"name", name}, {"args", std::move(args)}};
  }

  Json affinity_and_taints(const std::string& name) {
    const Json affinity = {{"nodeAffinityType", Json::array({"requiredDuringSchedulingIgnoredDuringExecution"})}};
    return profile(name,
                   Json::array({with_namespaces("RemovePodsViolatingInterPodAntiAffinity"),
                                with_namespaces("RemovePodsViolatingNodeTaints"),
                                with_namespaces("RemovePodsViolatingNodeAffinity", affinity), evictor()}),
                   Json::array({"RemovePodsViolatingInterPodAntiAffinity", "RemovePodsViolatingNodeTaints",
                                "RemovePodsViolatingNodeAffinity"}),
                   Json::array());
  }

  Json topology_and_duplicates(const std::string& name, const Json& constraints) {
    return profile(
        name,
        Json::array({with_namespaces("RemovePodsViolatingTopologySpreadConstraint", {{"constraints", constraints}}),
                     with_namespaces("RemoveDuplicates"), evictor()}),
        Json::array(), Json::array({"RemovePodsViolatingTopologySpreadConstraint", "RemoveDuplicates"}));
  }

  template <std::size_t N>
  std::optional<Level> level_of(const std::array<Level, N>& levels, const std::string& name, const char* field) {
    const std::string wanted = name.empty() ? std::string(levels[1].name) : name;
    const auto found = std::ranges::find(levels, wanted, &Level::name);
    if (found != levels.end()) return *found;
    context_.error(spec_.path().field("profileCustomizations").field(field),
                   fmt::format("\"{}\" is not one of {}, {} or {}", name.substr(0, 80), levels[0].name, levels[1].name,
                               levels[2].name));
    return std::nullopt;
  }

  static Json of_each_resource(int percent) { return {{"cpu", percent}, {"memory", percent}, {"pods", percent}}; }

  Json lifecycle(const std::string& name, bool with_age, const FieldPath& at) {
    if (!custom_.actual_utilization.empty()) return report_prometheus_profile(at);
    const auto level = level_of(kUtilizationLevels, custom_.utilization_level, "devLowNodeUtilizationThresholds");
    if (!level) return nullptr;
    Json balance = {{"thresholds", of_each_resource(level->low)}, {"targetThresholds", of_each_resource(level->high)}};
    if (per_node_) balance["evictionLimits"]["node"] = *per_node_;
    const Json restarts = {{"podRestartThreshold", kManyRestarts}, {"includingInitContainers", true}};
    Json configs = Json::array({with_namespaces("RemovePodsHavingTooManyRestarts", restarts),
                                with_evictable_namespaces("LowNodeUtilization", std::move(balance)), evictor()});
    Json deschedule = Json::array({"RemovePodsHavingTooManyRestarts"});
    if (with_age) {
      const std::int64_t age = custom_.pod_lifetime
                                   ? std::chrono::duration_cast<base::seconds>(*custom_.pod_lifetime).count()
                                   : kSecondsOfADay;
      configs.push_back(with_namespaces("PodLifeTime", {{"maxPodLifeTimeSeconds", age}}));
      deschedule.insert(deschedule.begin(), "PodLifeTime");
    }
    return profile(name, std::move(configs), deschedule, Json::array({"LowNodeUtilization"}));
  }

  Json compact_and_scale(const std::string& name) {
    const auto level = level_of(kCompactLevels, custom_.compact_level, "devHighNodeUtilizationThresholds");
    if (!level) return nullptr;
    Json args = {{"thresholds", of_each_resource(level->low)}};
    return profile(name, Json::array({with_evictable_namespaces("HighNodeUtilization", std::move(args)), evictor()}),
                   Json::array(), Json::array({"HighNodeUtilization"}));
  }

  StrictObject spec_;
  ConversionContext& context_;
  std::string config_map_;  ///< command that prints the policy rendered by OpenShift's operator
  Customizations custom_;
  std::optional<std::uint32_t> total_, per_node_;
  bool protects_claims_ = true;
  bool evicts_local_ = false;
  bool excludes_protected_ = false;  ///< true if a written strategy excludes the protected namespaces
  Draft common_;
};

}  // namespace

void read_kube_descheduler(const Json& object, const FieldPath& at, ConversionContext& bench) {
  KubeDeschedulerReader(object, at, bench).read();
}

}  // namespace convert
