/// Deschedulers of distributions: Deckhouse's Descheduler and Koordinator's DeschedulerConfiguration.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "api/json/json_access.hpp"
#include "api/upstream/wrappers.hpp"

namespace api::upstream {
namespace {

const Json& member_of(const Json& json, std::string_view name) {
  static const Json kNone = Json::object();
  const Json* found = find_at(json, {name});
  return found != nullptr && found->is_object() ? *found : kNone;
}

// ---------------------------------------------------------------- Deckhouse

/// What its module takes where the object says nothing.
Json deckhouse_defaults(std::string_view strategy) {
  const Json low = {{"cpu", 20}, {"memory", 20}, {"pods", 20}};
  const Json high = {{"cpu", 70}, {"memory", 70}, {"pods", 70}};
  if (strategy == "LowNodeUtilization") return {{"thresholds", low}, {"targetThresholds", high}};
  if (strategy == "HighNodeUtilization") return {{"thresholds", low}};
  if (strategy == "RemovePodsViolatingNodeAffinity")
    return {{"nodeAffinityType", Json::array({"requiredDuringSchedulingIgnoredDuringExecution"})}};
  if (strategy == "RemovePodsHavingTooManyRestarts")
    return {{"podRestartThreshold", 100}, {"includingInitContainers", true}};
  return Json::object();
}

/// A Descheduler of deckhouse.io as a v1alpha1 policy: both have settings for each strategy.
class DeckhouseReader {
 public:
  DeckhouseReader(const Json& spec, const FieldPath& at, Workbench& bench) : spec_(spec), at_(at), bench_(bench) {}

  void read() {
    const bool is_first = spec_.contains("deschedulerPolicy");  // v1alpha1
    const FieldPath at = is_first ? at_.field("deschedulerPolicy") : at_;
    const Json& body = is_first ? member_of(spec_, "deschedulerPolicy") : spec_;
    Json policy = member_of(body, "globalParameters");
    if (is_first) note_left_out(body, at, {"globalParameters", "strategies"});
    note_left_out(spec_, at_,
                  {"deschedulerPolicy", "globalParameters", "strategies", "deploymentTemplate", "nodeLabelSelector",
                   "podLabelSelector", "namespaceLabelSelector", "priorityClassThreshold", "evictLocalStoragePods"});
    const Json* local = find_at(spec_, {"evictLocalStoragePods"});
    if (local != nullptr)
      policy["evictLocalStoragePods"] = local->is_object() ? Json(local->value("enabled", true)) : *local;
    for (const auto& [name, entry] : member_of(body, "strategies").items())
      policy["strategies"][canonical_plugin(name)] = strategy_of(name, entry, at.field("strategies").key(name));
    bench_.note(NoteKind::kChanged, at_, "Deckhouse's module adds settings that this file does not contain",
                "compare with the ConfigMap in d8-descheduler, or convert that");
    read_v1alpha1(policy, at, common(), bench_);
  }

 private:
  Draft common() {
    Draft draft;
    if (const Json* nodes = find_at(spec_, {"nodeLabelSelector"})) draft.spec["nodeSelector"] = *nodes;
    draft.origins.push_back({"spec.nodeSelector", at_.field("nodeLabelSelector").text()});
    const auto put = [&](const char* theirs, const char* ours) {
      if (const Json* value = find_at(spec_, {theirs})) evictability_[ours] = *value;
    };
    put("podLabelSelector", "labelSelector");
    put("namespaceLabelSelector", "namespaceLabelSelector");
    put("priorityClassThreshold", "priorityThreshold");
    draft.evictability = evictability_;
    return draft;
  }

  Json strategy_of(const std::string& name, const Json& entry, const FieldPath& at) {
    Json params = Json::object();
    const std::string strategy = canonical_plugin(name);
    Json args = deckhouse_defaults(strategy);
    const Json members = entry.is_object() ? entry : Json::object();
    for (const auto& [member, value] : members.items()) {
      if (member == "enabled") continue;
      if (member == "nodeFit") {
        params["nodeFit"] = value;
      } else if (member == "priorityFilter" || member == "namespaceFilter") {
        if (value.is_object()) params.update(value);
      } else if (member == "nodeFilter") {
        bench_.note(NoteKind::kDropped, at.field(member), "chooses nodes for one strategy only",
                    "set spec.nodeSelector of the policy");
      } else {
        args[member] = value;
      }
    }
    put_args(strategy, args, params);
    const Json enabled = entry.is_object() ? entry.value("enabled", Json(true)) : Json(false);
    return {{"enabled", enabled}, {"params", std::move(params)}};
  }

  /// v1alpha1 has args of most strategies in an object of their own.
  static void put_args(std::string_view strategy, const Json& args, Json& params) {
    const char* nested = strategy.ends_with("NodeUtilization")           ? "nodeResourceUtilizationThresholds"
                         : strategy == "RemoveDuplicates"                ? "removeDuplicates"
                         : strategy == "RemovePodsHavingTooManyRestarts" ? "podsHavingTooManyRestarts"
                         : strategy == "PodLifeTime"                     ? "podLifeTime"
                         : strategy == "RemoveFailedPods"                ? "failedPods"
                                                                         : "";
    if (args.empty()) return;
    if (*nested == '\0')
      params.update(args);
    else
      params[nested] = args;
  }

  void note_left_out(const Json& json, const FieldPath& at, std::initializer_list<std::string_view> known) {
    for (const auto& [name, value] : json.items()) {
      if (std::ranges::find(known, name) == known.end())
        bench_.note(NoteKind::kDropped, at.key(name), "is not a field of Deckhouse's Descheduler");
    }
  }

  const Json& spec_;
  const FieldPath at_;
  Workbench& bench_;
  Json evictability_ = Json::object();
};

// ---------------------------------------------------------------- Koordinator

constexpr const char* kKoordinatorSource = "koordinator";

/// LowNodeLoad's arguments → LowNodeUtilization by usage.
class LowNodeLoadReader {
 public:
  LowNodeLoadReader(const Json& args, const FieldPath& at, Workbench& bench)
      : args_(args, at, bench.errors()), bench_(bench) {}

  StrategySource read(Draft& draft) {
    for (const char* of_type : {"apiVersion", "kind"}) args_.find(of_type);
    StrategySource source{"LowNodeUtilization", Json::object(), args_.path(), {}, false, true};
    source.args["usage"] = {{"source", kKoordinatorSource}};
    read_thresholds(args_, source.args);
    read_pools(source.args);
    if (const Json* number = args_.find("numberOfNodes")) source.args["numberOfNodes"] = *number;
    read_namespaces(draft, source.args);
    read_hysteresis(source.args);
    read_scope(draft);
    draft.spec["evictability"]["nodeFit"] = true;
    if (const Json* fit = args_.find("nodeFit")) draft.spec["evictability"]["nodeFit"] = *fit;
    draft.spec["usageSources"] = Json::array({source_of_usage()});
    for (const char* other : {"prodLowThresholds", "prodHighThresholds", "resourceWeights", "paused", "dryRun",
                              "detectorCacheTimeout", "nodeMetricExpirationSeconds"})
      drop(args_, other);
    finish_leniently(args_, bench_);
    return source;
  }

 private:
  void drop(StrictObject& object, const char* name) {
    const Json* value = object.find(name);
    if (value != nullptr && !value->empty() && *value != false)
      bench_.note(NoteKind::kDropped, object.path().field(name), "has no equal in LowNodeUtilization");
  }

  /// Both lists of ours name the same resources. One that is missing below never keeps a node from being underutilized;
  /// one that is missing above never makes one overutilized.
  void read_thresholds(StrictObject& object, Json& to) {
    const Json* low = object.find("lowThresholds");
    const Json* high = object.find("highThresholds");
    if (low == nullptr && high == nullptr) return;
    Json lower = low != nullptr && low->is_object() ? *low : Json::object();
    Json upper = high != nullptr && high->is_object() ? *high : Json::object();
    for (const auto& [resource, percent] : upper.items()) lower.emplace(resource, percent);
    for (const auto& [resource, percent] : lower.items()) upper.emplace(resource, 100);
    to["thresholds"] = std::move(lower);
    to["targetThresholds"] = std::move(upper);
    if (const Json* deviation = object.find("useDeviationThresholds")) to["useDeviationThresholds"] = *deviation;
  }

  void read_pools(Json& to) {
    args_.for_each("nodePools", [&](const Json& item, const FieldPath& path) {
      StrictObject pool(item, path, bench_.errors());
      Json ours = Json::object();
      for (const char* same : {"name", "nodeSelector"}) {
        if (const Json* value = pool.find(same)) ours[same] = *value;
      }
      if (!ours.contains("name"))
        ours["name"] = fmt::format("pool-{}", to.value("nodePools", Json::array()).size() + 1);
      read_thresholds(pool, ours);
      for (const char* other : {"prodLowThresholds", "prodHighThresholds", "resourceWeights", "anomalyCondition"})
        drop(pool, other);
      finish_leniently(pool, bench_);
      to["nodePools"].push_back(std::move(ours));
    });
  }

  void read_namespaces(Draft& draft, Json& to) {
    args_.with("evictableNamespaces", [&](StrictObject& namespaces) {
      if (const Json* include = namespaces.find("include"); include != nullptr && !include->empty())
        draft.spec["evictability"]["namespaces"]["include"] = *include;
      if (const Json* exclude = namespaces.find("exclude"); exclude != nullptr && !exclude->empty())
        to["evictableNamespaces"]["exclude"] = *exclude;
      finish_leniently(namespaces, bench_);
    });
  }

  /// consecutiveAbnormalities: number of rounds in a row that make a node abnormal.
  void read_hysteresis(Json& to) {
    constexpr std::int32_t kMostSamples = 20;
    args_.with("anomalyCondition", [&](StrictObject& condition) {
      std::int32_t rounds = 0;
      condition.read("consecutiveAbnormalities", rounds);
      if (rounds > 0) {
        const std::int32_t samples = std::min(rounds, kMostSamples);
        to["usage"]["hysteresis"] = {{"samples", samples}, {"of", samples}};
      }
      for (const char* other : {"timeout", "consecutiveNormalities"}) condition.find(other);
      finish_leniently(condition, bench_);
    });
  }

  void read_scope(Draft& draft) {
    if (const Json* nodes = args_.find("nodeSelector")) draft.spec["nodeSelector"] = *nodes;
    const Json* pods = args_.find("podSelectors");
    if (pods == nullptr || pods->empty()) return;
    const Json* only = pods->is_array() && pods->size() == 1 ? find_at(pods->front(), {"selector"}) : nullptr;
    if (only == nullptr)
      return bench_.note(NoteKind::kDropped, args_.path().field("podSelectors"), "only one selector has an equal",
                         "set spec.evictability.labelSelector");
    draft.spec["evictability"]["labelSelector"] = *only;
  }

  Json source_of_usage() {
    bench_.note(NoteKind::kChanged, args_.path(),
                "goes by NodeMetrics of Koordinator, as LowNodeUtilization with usage does",
                "give the operator the right to read them: config/optional/usage-koordinator.yaml");
    return {{"name", kKoordinatorSource}, {"type", "Koordinator"}, {"interval", "60s"}, {"maxAge", "3m"}};
  }

  StrictObject args_;
  Workbench& bench_;
};

/// The args of a plugin in pluginConfig, and where they are; nullptr: it has none.
const Json* args_of(const Json& profile, std::string_view plugin, const FieldPath& at, FieldPath& found) {
  const Json& configs = items_at(profile, {"pluginConfig"});
  for (std::size_t i = 0; i < configs.size(); ++i) {
    if (text_at(configs[i], {"name"}) != plugin) continue;
    found = at.field("pluginConfig").index(i).field("args");
    return find_at(configs[i], {"args"});
  }
  return nullptr;
}

void read_koordinator_profile(const Json& profile, const FieldPath& at, std::vector<Draft>& drafts, Workbench& bench) {
  for (const char* point : {"deschedule", "balance", "evict"}) {
    const Json& enabled = items_at(profile, {"plugins", point, "enabled"});
    for (std::size_t i = 0; i < enabled.size(); ++i) {
      const std::string plugin = enabled[i].is_string() ? enabled[i].get<std::string>() : text_at(enabled[i], {"name"});
      const FieldPath place = at.field("plugins").field(point).field("enabled").index(i);
      if (plugin == "MigrationController") continue;  // how pods leave is the Evacuation's
      FieldPath found = place;
      const Json* args = args_of(profile, plugin, at, found);
      Draft& draft = drafts.emplace_back();
      draft.name = text_at(profile, {"name"});
      draft.source = at.text();
      if (plugin == "LowNodeLoad")
        bench.add_strategy(draft,
                           LowNodeLoadReader(args == nullptr ? Json::object() : *args, found, bench).read(draft));
      else
        bench.add_strategy(draft, {plugin, args == nullptr ? Json::object() : *args, found, {}});
    }
  }
}

}  // namespace

bool is_deckhouse_spec(const Json& json) {
  const Json& policy = json.contains("deschedulerPolicy") ? member_of(json, "deschedulerPolicy") : json;
  const auto is_lower = [](const auto& entry) {
    return !entry.key().empty() && std::islower(static_cast<unsigned char>(entry.key().front())) != 0;
  };
  const Json& strategies = member_of(policy, "strategies");
  bool has_lower = false;
  for (auto entry = strategies.begin(); entry != strategies.end(); ++entry) has_lower = has_lower || is_lower(entry);
  return policy.contains("globalParameters") || has_lower;
}

void read_deckhouse(const Json& spec, const FieldPath& at, Workbench& bench) {
  DeckhouseReader(spec, at, bench).read();
}

void read_koordinator(const Json& object, const FieldPath& at, Workbench& bench) {
  Draft common;
  if (const std::string interval = text_at(object, {"deschedulingInterval"}); !interval.empty()) {
    common.spec["schedule"]["interval"] = interval;
    common.origins.push_back({"spec.schedule.interval", at.field("deschedulingInterval").text()});
  }
  if (const Json* nodes = find_at(object, {"nodeSelector"})) common.spec["nodeSelector"] = *nodes;
  std::vector<Draft> drafts;
  const Json& profiles = items_at(object, {"profiles"});
  for (std::size_t i = 0; i < profiles.size(); ++i)
    read_koordinator_profile(profiles[i], at.field("profiles").index(i), drafts, bench);
  bench.add_drafts(std::move(drafts), common);
}

}  // namespace api::upstream
