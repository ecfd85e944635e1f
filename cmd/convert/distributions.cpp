/// Reads the descheduler objects of distributions: Deckhouse's Descheduler and Koordinator's DeschedulerConfiguration.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <utility>

#include "api/evacuation_parts.hpp"
#include "api/json/json_access.hpp"
#include "cmd/convert/wrappers.hpp"

namespace api::upstream {
namespace {

const Json& member_of(const Json& json, std::string_view name) {
  static const Json kNone = Json::object();
  const Json* found = find_at(json, {name});
  return found != nullptr && found->is_object() ? *found : kNone;
}

// ---------------------------------------------------------------- Deckhouse

/// Returns the defaults of Deckhouse's module and CRD for a strategy. They apply to each threshold separately.
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

/// Converts a Descheduler of deckhouse.io to a v1alpha1 policy, which also has settings per strategy.
class DeckhouseReader {
 public:
  DeckhouseReader(const Json& spec, const FieldPath& at, ConversionContext& bench)
      : spec_(spec), at_(at), context_(bench) {}

  void read() {
    const bool is_first = spec_.contains("deschedulerPolicy");  // v1alpha1
    const FieldPath at = is_first ? at_.field("deschedulerPolicy") : at_;
    const Json& body = is_first ? member_of(spec_, "deschedulerPolicy") : spec_;
    Json policy = global_parameters(body, at);
    if (is_first) note_left_out(body, at, {"globalParameters", "strategies"});
    note_left_out(spec_, at_,
                  {"deschedulerPolicy", "globalParameters", "strategies", "deploymentTemplate", "nodeLabelSelector",
                   "podLabelSelector", "namespaceLabelSelector", "priorityClassThreshold", "evictLocalStoragePods"});
    const Json* local = find_at(spec_, {"evictLocalStoragePods"});
    if (local != nullptr)
      policy["evictLocalStoragePods"] = local->is_object() ? Json(local->value("enabled", true)) : *local;
    strategies_at_ = at.field("strategies");
    for (const auto& [name, entry] : member_of(body, "strategies").items())
      policy["strategies"][canonical_plugin(name)] = strategy_of(name, entry, strategies_at_.key(name));
    context_.note(NoteKind::kChanged, at_, "Deckhouse's module adds settings that are not in this file",
                  "compare with the ConfigMap in d8-descheduler, or convert the ConfigMap");
    read_v1alpha1(policy, at, common(at), context_);
    context_.move_paths(moved_);
  }

 private:
  /// Returns the global parameters. In v1alpha1 they are siblings of the strategies.
  Json global_parameters(const Json& body, const FieldPath& at) {
    const FieldPath inside = at.field("globalParameters");
    Json policy = member_of(body, "globalParameters");
    if (policy.erase("strategies") > 0) context_.note(NoteKind::kDropped, inside.field("strategies"), kUnknown);
    for (const auto& [name, value] : policy.items()) moved_.push_back({at.key(name).text(), inside.key(name).text()});
    return policy;
  }

  Draft common(const FieldPath& at) {
    Draft draft;
    if (const Json* nodes = find_at(spec_, {"nodeLabelSelector"})) draft.spec["nodeSelector"] = *nodes;
    draft.origins.push_back({"spec.nodeSelector", at_.field("nodeLabelSelector").text()});
    const auto put = [&](const char* theirs, const char* ours) {
      const Json* value = find_at(spec_, {theirs});
      if (value == nullptr) return;
      evictability_[ours] = *value;
      moved_.push_back({at.field(ours).text(), at_.field(theirs).text()});
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
    const FieldPath legacy = legacy_path(strategy, at);
    Json args = deckhouse_defaults(strategy);
    const Json members = entry.is_object() ? entry : Json::object();
    for (const auto& [member, value] : members.items()) {
      if (member == "enabled") continue;
      if (member == "nodeFit") {
        params["nodeFit"] = value;
      } else if (member == "priorityFilter" || member == "namespaceFilter") {
        if (!value.is_object()) continue;
        params.update(value);
        for (const auto& [each, unused] : value.items())
          moved_.push_back({legacy.key(each).text(), at.field(member).key(each).text()});
      } else if (member == "nodeFilter") {
        context_.note(NoteKind::kDropped, at.field(member), "selects nodes for one strategy only",
                      "set spec.nodeSelector of the policy");
      } else if (value.is_object() && args.contains(member)) {
        for (const auto& [resource, percent] : value.items()) {
          if (!percent.is_null()) args[member][resource] = percent;
        }
      } else if (!value.is_null()) {
        args[member] = value;
      }
    }
    put_args(strategy, args, params);
    return {{"enabled", enabled_of(members)}, {"params", std::move(params)}};
  }

  /// Default false, in its CRD.
  static Json enabled_of(const Json& members) {
    const auto at = members.find("enabled");
    return at == members.end() || at->is_null() ? Json(false) : *at;
  }

  /// Returns the member of v1alpha1's params that contains the strategy's args, or an empty string if they are direct
  /// members.
  static const char* nested_in(std::string_view strategy) {
    return strategy.ends_with("NodeUtilization")           ? "nodeResourceUtilizationThresholds"
           : strategy == "RemoveDuplicates"                ? "removeDuplicates"
           : strategy == "RemovePodsHavingTooManyRestarts" ? "podsHavingTooManyRestarts"
           : strategy == "PodLifeTime"                     ? "podLifeTime"
           : strategy == "RemoveFailedPods"                ? "failedPods"
                                                           : "";
  }

  /// Returns the path of the params of the v1alpha1 strategy from which the strategy at `at` was made.
  FieldPath legacy_path(std::string_view strategy, const FieldPath& at) {
    const FieldPath params = strategies_at_.key(strategy).field("params");
    moved_.push_back({strategies_at_.key(strategy).text(), at.text()});
    moved_.push_back({params.text(), at.text()});
    if (const char* nested = nested_in(strategy); *nested != '\0')
      moved_.push_back({params.field(nested).text(), at.text()});
    return params;
  }

  static void put_args(std::string_view strategy, const Json& args, Json& params) {
    const char* nested = nested_in(strategy);
    if (args.empty()) return;
    if (*nested == '\0')
      params.update(args);
    else
      params[nested] = args;
  }

  void note_left_out(const Json& json, const FieldPath& at, std::initializer_list<std::string_view> known) {
    for (const auto& [name, value] : json.items()) {
      if (std::ranges::find(known, name) == known.end()) context_.note(NoteKind::kDropped, at.key(name), kUnknown);
    }
  }

  const Json& spec_;
  static constexpr const char* kUnknown = "is not a field of Deckhouse's Descheduler";
  const FieldPath at_;
  ConversionContext& context_;
  Json evictability_ = Json::object();
  FieldPath strategies_at_;
  std::vector<Origin> moved_;  ///< maps paths in the v1alpha1 policy to paths in the Descheduler
};

// ---------------------------------------------------------------- Koordinator

constexpr const char* kKoordinatorSource = "koordinator";

/// Calls `inside` with the member `name` if present. Members that `inside` does not read are noted.
void with_leniently(StrictObject& object, const char* name, ConversionContext& bench,
                    const std::function<void(StrictObject&)>& inside) {
  const Json* json = object.find(name);
  if (json == nullptr) return;
  StrictObject member(*json, object.path().field(name), bench.errors());
  inside(member);
  finish_with_notes(member, bench);
}

/// Reads dryRun. If true, the policy stays a dry run, whatever mode was requested.
void read_dry_run(StrictObject& object, Draft& draft, ConversionContext& bench) {
  bool dry = false;
  object.read("dryRun", dry);
  if (!dry) return;
  draft.spec["mode"] = to_string(PolicyMode::kDryRun);
  if (bench.options().mode == PolicyMode::kDryRun) return;
  bench.note(NoteKind::kChanged, object.path().field("dryRun"),
             fmt::format("keeps the mode DryRun; {} was requested", to_string(bench.options().mode)),
             "set spec.mode after you have reviewed the plan");
}

/// Converts LowNodeLoad's arguments to a LowNodeUtilization strategy with measured usage.
class LowNodeLoadReader {
 public:
  LowNodeLoadReader(const Json& args, const FieldPath& at, ConversionContext& bench)
      : args_(args, at, bench.errors()), context_(bench) {}

  using Members = std::vector<std::pair<std::string, FieldPath>>;

  /// Pods that one policy may move.
  struct PodsOfPolicy {
    std::string name;  ///< may be empty
    Json selector;
    FieldPath at;
  };
  /// Has an entry for each policy that is needed, after read(); empty: one, for all pods.
  const std::vector<PodsOfPolicy>& pods() const { return pods_; }

  StrategySource read(Draft& draft) {
    for (const char* of_type : {"apiVersion", "kind"}) args_.find(of_type);
    StrategySource source{"LowNodeUtilization", Json::object(), args_.path(), {}, false, true};
    source.args["usage"] = {{"source", kKoordinatorSource}};
    read_thresholds(args_, source.args, "", source.members);
    read_pools(source.args, source.members);
    if (const Json* number = args_.find("numberOfNodes")) source.args["numberOfNodes"] = *number;
    read_namespaces(draft, source.args);
    read_hysteresis(source.args);
    read_scope(draft);
    read_pods();
    draft.spec["evictability"]["nodeFit"] = true;
    if (const Json* fit = args_.find("nodeFit")) draft.spec["evictability"]["nodeFit"] = *fit;
    draft.spec["usageSources"] = Json::array({source_of_usage()});
    bool paused = false;
    args_.read("paused", paused);
    if (paused) draft.spec["suspend"] = true;
    read_dry_run(args_, draft, context_);
    for (const char* other : {"prodLowThresholds", "prodHighThresholds", "resourceWeights", "detectorCacheTimeout",
                              "nodeMetricExpirationSeconds"})
      drop(args_, other);
    finish_with_notes(args_, context_);
    return source;
  }

 private:
  void drop(StrictObject& object, const char* name) {
    const Json* value = object.find(name);
    if (value != nullptr && !value->empty() && *value != false)
      context_.note(NoteKind::kDropped, object.path().field(name), "has no equivalent in LowNodeUtilization");
  }

  /// Reads both thresholds. Our lists must name the same resources, so missing resources are filled in: a resource
  /// missing below must not keep a node from being underutilized, one missing above must not make a node overutilized.
  void read_thresholds(StrictObject& object, Json& to, const std::string& place, Members& members) {
    members.emplace_back(place + "thresholds", object.path().field("lowThresholds"));
    members.emplace_back(place + "targetThresholds", object.path().field("highThresholds"));
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

  void read_pools(Json& to, Members& members) {
    args_.for_each("nodePools", [&](const Json& item, const FieldPath& path) {
      StrictObject pool(item, path, context_.errors());
      Json ours = Json::object();
      for (const char* same : {"name", "nodeSelector"}) {
        if (const Json* value = pool.find(same)) ours[same] = *value;
      }
      const std::size_t number = to.value("nodePools", Json::array()).size();
      if (!ours.contains("name")) ours["name"] = fmt::format("pool-{}", number + 1);
      read_thresholds(pool, ours, fmt::format("nodePools[{}].", number), members);
      for (const char* other : {"prodLowThresholds", "prodHighThresholds", "resourceWeights", "anomalyCondition"})
        drop(pool, other);
      finish_with_notes(pool, context_);
      to["nodePools"].push_back(std::move(ours));
    });
  }

  void read_namespaces(Draft& draft, Json& to) {
    with_leniently(args_, "evictableNamespaces", context_, [&](StrictObject& namespaces) {
      if (const Json* include = namespaces.find("include"); include != nullptr && !include->empty())
        draft.spec["evictability"]["namespaces"]["include"] = *include;
      if (const Json* exclude = namespaces.find("exclude"); exclude != nullptr && !exclude->empty())
        to["evictableNamespaces"]["exclude"] = *exclude;
    });
  }

  /// consecutiveAbnormalities: number of rounds in a row that make a node abnormal. 0 and none are the default.
  void read_hysteresis(Json& to) {
    constexpr std::uint32_t kDefaultRounds = 5;
    constexpr std::uint32_t kMaxSamples = 20;
    std::uint32_t rounds = 0;
    with_leniently(args_, "anomalyCondition", context_, [&](StrictObject& condition) {
      condition.read("consecutiveAbnormalities", rounds);
      if (rounds > kMaxSamples)
        context_.note(NoteKind::kChanged, condition.path().field("consecutiveAbnormalities"),
                      fmt::format("keeping {} samples is not supported: {} must agree", rounds, kMaxSamples));
      for (const char* other : {"timeout", "consecutiveNormalities"}) condition.find(other);
    });
    const std::uint32_t samples = std::min(rounds == 0 ? kDefaultRounds : rounds, kMaxSamples);
    to["usage"]["hysteresis"] = {{"samples", samples}, {"of", samples}};
  }

  void read_scope(Draft& draft) {
    if (const Json* nodes = args_.find("nodeSelector")) {
      draft.spec["nodeSelector"] = *nodes;
      draft.origins.push_back({"spec.nodeSelector", args_.path().field("nodeSelector").text()});
    }
  }

  /// A pod may leave if any of the selectors selects it.
  void read_pods() {
    std::vector<PodsOfPolicy> pods;
    std::vector<Json> selectors;
    args_.for_each("podSelectors", [&](const Json& item, const FieldPath& path) {
      StrictObject object(item, path, context_.errors());
      PodsOfPolicy& each = pods.emplace_back(PodsOfPolicy{{}, {}, path.field("selector")});
      object.read("name", each.name);
      const Json* selector = object.find("selector");
      finish_with_notes(object, context_);
      if (selector != nullptr) return selectors.push_back(*selector);
      pods.pop_back();
      context_.note(NoteKind::kIgnored, path, "has no selector, which selects nothing in Koordinator");
    });
    for (EitherSelector& either : either_selectors(std::move(selectors))) {
      if (either.is_joined)
        pods_.push_back({{}, std::move(either.selector), args_.path().field("podSelectors")});
      else
        pods_.push_back({pods[either.first].name, std::move(either.selector), pods[either.first].at});
    }
    check_count_of_policies();
  }

  void check_count_of_policies() {
    constexpr std::size_t kMaxPolicies = 16;
    const FieldPath at = args_.path().field("podSelectors");
    if (pods_.size() > kMaxPolicies)
      return context_.error(
          at, fmt::format("would become {} policies, more than {}; give the pods one label that podSelectors selects",
                          std::exchange(pods_, {}).size(), kMaxPolicies));
    if (pods_.size() > 1)
      context_.note(
          NoteKind::kChanged, at,
          fmt::format("becomes {} policies, one for each selector: each balances the same nodes independently",
                      pods_.size()),
          "give the pods one label, and select it in spec.evictability.labelSelector of one policy");
  }

  Json source_of_usage() {
    context_.note(NoteKind::kChanged, args_.path(),
                  "uses NodeMetrics of Koordinator, as LowNodeUtilization with usage does",
                  "grant the operator permission to read them: config/optional/usage-koordinator.yaml");
    return {{"name", kKoordinatorSource}, {"type", "Koordinator"}, {"interval", "60s"}, {"maxAge", "3m"}};
  }

  StrictObject args_;
  ConversionContext& context_;
  std::vector<PodsOfPolicy> pods_;
};

struct MigrationLimit {
  const char* upstream_path;
  const char* evacuator_path;  ///< member of spec.limits.inFlight
};
constexpr std::array kMigrationLimits = {MigrationLimit{"maxMigratingGlobally", "total"},
                                         MigrationLimit{"maxMigratingPerNode", "perNode"},
                                         MigrationLimit{"maxMigratingPerNamespace", "perNamespace"},
                                         MigrationLimit{"maxMigratingPerWorkload", "perWorkload"}};

struct MigrationArg {
  const char* name;
  const char* advice;
};
/// Koordinator's protections of pods that have no equivalent.
constexpr std::array kLostMigrationArgs = {
    MigrationArg{"maxUnavailablePerWorkload", "PodDisruptionBudgets and spec.limits.inFlight.perWorkload limit it"},
    MigrationArg{"objectLimiters", "set spec.limits.cooldown.workload"},
    MigrationArg{"skipCheckExpectedReplicas", ""},
    MigrationArg{"evictAllBarePods", ""},
    MigrationArg{"flowControlQPS", "set spec.limits.rate"},
    MigrationArg{"flowControlBurst", "set spec.limits.rate"},
    MigrationArg{"defaultDeleteOptions", "set spec.evacuation.gracePeriodSeconds"},
};
/// Arguments that control how PodMigrationJobs work.
constexpr std::array kJobArgs = {"defaultJobMode",          "defaultJobTTL",   "schedulerNames",
                                 "maxConcurrentReconciles", "arbitrationArgs", "evictionPolicy"};

/// Reads MigrationController's arguments that decide which pods may leave, and how many concurrently. The Evacuation
/// decides how they leave.
class MigrationReader {
 public:
  MigrationReader(const Json& args, const FieldPath& at, ConversionContext& bench)
      : args_(args, at, bench.errors()), context_(bench) {}

  Draft read() {
    for (const char* of_type : {"apiVersion", "kind"}) args_.find(of_type);
    read_dry_run(args_, draft_, context_);
    read_evictor();
    read_namespaces();
    for (const MigrationLimit& limit : kMigrationLimits) read_limit(limit);
    read_rate();
    note_others();
    finish_with_notes(args_, context_);
    return std::move(draft_);
  }

 private:
  /// Renames the arguments to those of DefaultEvictor.
  void read_evictor() {
    Json evictor = Json::object();
    for (const char* same : {"evictFailedBarePods", "evictLocalStoragePods", "evictSystemCriticalPods", "ignorePvcPods",
                             "labelSelector", "nodeFit", "nodeSelector", "priorityThreshold"}) {
      if (const Json* value = args_.find(same)) evictor[same] = *value;
    }
    read_evictor_args(evictor, args_.path(), draft_, context_);
  }

  void read_namespaces() {
    with_leniently(args_, "namespaces", context_, [&](StrictObject& namespaces) {
      for (const char* list : {"include", "exclude"}) {
        const Json* names = namespaces.find(list);
        if (names != nullptr && !names->empty()) draft_.spec["evictability"]["namespaces"][list] = *names;
      }
    });
  }

  void read_limit(const MigrationLimit& limit) {
    const Json* most = args_.find(limit.upstream_path);
    if (most == nullptr) return;
    const FieldPath at = args_.path().field(limit.upstream_path);
    if (*most == 0) return context_.note(NoteKind::kIgnored, at, "0 means no limit in Koordinator");
    draft_.spec["limits"]["inFlight"][limit.evacuator_path] = *most;
    draft_.origins.push_back({fmt::format("spec.limits.inFlight.{}", limit.evacuator_path), at.text()});
  }

  /// Reads evictQPS, which is text or a number. Fractions have no equivalent.
  void read_rate() {
    const Json* qps = args_.find("evictQPS");
    if (qps == nullptr) return;
    const FieldPath at = args_.path().field("evictQPS");
    const double rate = qps->is_string()   ? std::strtod(qps->get_ref<const std::string&>().c_str(), nullptr)
                        : qps->is_number() ? qps->get<double>()
                                           : 0;
    const Json* burst = args_.find("evictBurst");
    if (rate < 1 || rate > static_cast<double>(bounds::kMaxRate) || rate != std::floor(rate))
      return context_.note(NoteKind::kDropped, at, "only whole numbers have an equivalent", "set spec.limits.rate");
    draft_.spec["limits"]["rate"]["perSecond"] = static_cast<std::int64_t>(rate);
    draft_.origins.push_back({"spec.limits.rate.perSecond", at.text()});
    if (burst == nullptr) return;
    draft_.spec["limits"]["rate"]["burst"] = *burst;
    draft_.origins.push_back({"spec.limits.rate.burst", args_.path().field("evictBurst").text()});
  }

  void note_others() {
    for (const MigrationArg& lost : kLostMigrationArgs) {
      const Json* value = args_.find(lost.name);
      if (value != nullptr && *value != false)
        context_.note(NoteKind::kDropped, args_.path().field(lost.name), "has no equivalent", lost.advice);
    }
    for (const char* name : kJobArgs) {
      if (args_.find(name) != nullptr)
        context_.note(NoteKind::kChanged, args_.path().field(name),
                      "configures PodMigrationJobs; Evacuator moves pods with Evacuations", "use spec.evacuation");
    }
  }

  StrictObject args_;
  ConversionContext& context_;
  Draft draft_;
};

bool admits(const Json& namespaces, const Json& name) {
  const auto has = [&](const char* list) {
    const Json& names = items_at(namespaces, {list});
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return has("include") || (items_at(namespaces, {"include"}).empty() && !has("exclude"));
}

/// Converts a Koordinator profile to one policy per strategy, because LowNodeLoad has its own scope.
class KoordinatorProfileReader {
 public:
  KoordinatorProfileReader(const Json& json, const FieldPath& at, ConversionContext& bench)
      : profile_(json, at, bench.errors()), context_(bench) {}

  std::vector<Draft> read() {
    profile_.read("name", name_);
    read_configs();
    with_leniently(profile_, "plugins", context_, [&](StrictObject& plugins) {
      for (const char* point : {"deschedule", "balance", "evict", "filter"}) read_point(plugins, point);
    });
    read_evictor();
    nodes_ = profile_.find("nodeSelector");
    for (const Enabled& strategy : strategies_) add_strategy(strategy);
    note_shared_limits();
    note_unused();
    finish_with_notes(profile_, context_);
    return std::move(drafts_);
  }

 private:
  struct Config {
    std::string name;
    Json args = Json::object();
    FieldPath at;  ///< path of the args
    bool used = false;
  };
  struct Enabled {
    std::string plugin;
    FieldPath at;
  };

  void read_configs() {
    profile_.for_each("pluginConfig", [&](const Json& item, const FieldPath& path) {
      StrictObject object(item, path, context_.errors());
      Config config{"", Json::object(), path.field("args")};
      object.read("name", config.name);
      if (const Json* args = object.find("args")) config.args = *args;
      finish_with_notes(object, context_);
      if (!config.args.is_object())
        return object.complain("args", fmt::format("must be an object, not {}", kind_of(config.args)));
      if (config_of(config.name) != nullptr)
        return context_.note(NoteKind::kIgnored, path, fmt::format("{} is already configured above", config.name));
      configs_.push_back(std::move(config));
    });
  }

  void read_point(StrictObject& plugins, const char* point) {
    const bool evicts = std::string_view(point) == "evict";
    const bool is_evictor = evicts || std::string_view(point) == "filter";
    with_leniently(plugins, point, context_, [&](StrictObject& set) {
      set.for_each("enabled", [&](const Json& item, const FieldPath& path) {
        const std::string plugin = item.is_string() ? item.get<std::string>() : text_at(item, {"name"});
        if (is_evictor || plugin == kMigration) return read_evictor_of(plugin, path);
        strategies_.push_back({plugin, path});
      });
      set.for_each("disabled", [&](const Json& item, const FieldPath&) {
        const std::string plugin = item.is_string() ? item.get<std::string>() : text_at(item, {"name"});
        migration_off_ = migration_off_ || (evicts && (plugin == "*" || plugin == kMigration));
      });
    });
  }

  void read_evictor_of(const std::string& plugin, const FieldPath& at) {
    if (plugin == kMigration) {
      migration_on_ = true;
    } else if (plugin == kDefaultEvictor) {
      default_on_ = true;
    } else {
      context_.note(NoteKind::kDropped, at, fmt::format("the plugin {} has no equivalent", plugin));
    }
  }

  /// Reads the arguments of the evictor plugin, by default MigrationController.
  void read_evictor() {
    const bool migrates = migration_on_ || (!migration_off_ && !default_on_);
    Config* config = migrates || default_on_ ? config_of(migrates ? kMigration : kDefaultEvictor) : nullptr;
    if (config == nullptr) return;
    config->used = true;
    evictor_ = MigrationReader(config->args, config->at, context_).read();
    evictor_.source = config->at.text();
  }

  void add_strategy(const Enabled& strategy) {
    Config* config = config_of(strategy.plugin);
    if (config != nullptr) config->used = true;
    const Json args = config != nullptr ? config->args : Json::object();
    const bool is_load = strategy.plugin == "LowNodeLoad";
    const FieldPath missing = profile_.path().field("pluginConfig").field("LowNodeLoad").field("args");
    const FieldPath at = config != nullptr ? config->at : is_load ? missing : strategy.at;
    Draft draft;
    draft.name = name_;
    draft.source = profile_.path().text();
    if (is_load) return add_load(std::move(draft), args, at);
    context_.add_strategy(draft, {strategy.plugin, args, at, {}});
    add_draft(std::move(draft));
  }

  void add_load(Draft draft, const Json& args, const FieldPath& at) {
    LowNodeLoadReader reader(args, at, context_);
    context_.add_strategy(draft, reader.read(draft));
    if (reader.pods().empty()) return add_draft(std::move(draft));
    for (const auto& pods : reader.pods()) {
      Draft part = draft;
      if (reader.pods().size() > 1 && !pods.name.empty()) part.name = fmt::format("{}-{}", name_, pods.name);
      part.spec["evictability"]["labelSelector"] = pods.selector;
      part.origins.push_back({"spec.evictability.labelSelector", pods.at.text()});
      add_draft(std::move(part));
    }
  }

  void add_draft(Draft own) {
    Draft& draft = drafts_.emplace_back(std::move(own));
    put_evictor(draft);
    if (nodes_ == nullptr) return;
    draft.spec["nodeSelector"] =
        draft.spec.contains("nodeSelector") ? both_selectors(*nodes_, draft.spec["nodeSelector"]) : *nodes_;
    draft.origins.push_back({"spec.nodeSelector", profile_.path().field("nodeSelector").text()});
  }

  /// Merges the evictor's settings into the draft. Both LowNodeLoad's requirements on pods and the evictor's apply.
  void put_evictor(Draft& draft) {
    const Json own = draft.spec.value("evictability", Json::object());
    const Json theirs = evictor_.spec.value("evictability", Json::object());
    Json both = own;
    both.update(theirs);
    draft.spec.update(evictor_.spec);
    if (!both.empty()) draft.spec["evictability"] = std::move(both);
    draft.origins.insert(draft.origins.begin(), evictor_.origins.begin(), evictor_.origins.end());
    if (own.value("nodeFit", Json()) == true) draft.spec["evictability"]["nodeFit"] = true;
    if (own.contains("labelSelector") && theirs.contains("labelSelector"))
      draft.spec["evictability"]["labelSelector"] = both_selectors(theirs["labelSelector"], own["labelSelector"]);
    if (own.contains("namespaces") && theirs.contains("namespaces"))
      draft.spec["evictability"]["namespaces"] = {{"include", both_includes(own["namespaces"], theirs["namespaces"])}};
  }

  Json both_includes(const Json& own, const Json& theirs) {
    Json names = Json::array();
    for (const Json& name : items_at(own, {"include"})) {
      if (admits(theirs, name)) names.push_back(name);
    }
    if (names.empty())
      context_.error(FieldPath(evictor_.source).field("namespaces"),
                     "allows none of the namespaces of LowNodeLoad's evictableNamespaces.include");
    return names;
  }

  void note_shared_limits() {
    const auto policies = std::ranges::count_if(drafts_, [](const Draft& d) { return d.spec.contains("strategies"); });
    if (policies < 2) return;
    for (const Origin& origin : evictor_.origins) {
      if (origin.evacuator_path.starts_with("spec.limits."))
        context_.note(NoteKind::kChanged, FieldPath(origin.upstream_path),
                      fmt::format("applies to each of the {} policies separately", policies),
                      "limit all of them together in the operator's configuration");
    }
  }

  void note_unused() {
    for (const Config& config : configs_) {
      if (!config.used)
        context_.note(NoteKind::kIgnored, config.at, fmt::format("{} is configured, but not enabled", config.name));
    }
  }

  Config* config_of(std::string_view name) {
    const auto at = std::ranges::find(configs_, name, &Config::name);
    return at == configs_.end() ? nullptr : &*at;
  }

  static constexpr std::string_view kMigration = "MigrationController";
  StrictObject profile_;
  ConversionContext& context_;
  std::string name_;
  const Json* nodes_ = nullptr;
  std::vector<Config> configs_;
  std::vector<Enabled> strategies_;
  bool migration_on_ = false;
  bool migration_off_ = false;
  bool default_on_ = false;
  Draft evictor_;  ///< settings that apply to all strategies of the profile
  std::vector<Draft> drafts_;
};

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

void read_deckhouse(const Json& spec, const FieldPath& at, ConversionContext& bench) {
  DeckhouseReader(spec, at, bench).read();
}

void read_koordinator(const Json& object, const FieldPath& at, ConversionContext& bench) {
  StrictObject config(object, at, bench.errors());
  Draft common;
  for (const char* of_process :
       {"apiVersion", "kind", "metadata", "leaderElection", "clientConnection", "enableProfiling",
        "enableContentionProfiling", "healthzBindAddress", "metricsBindAddress"})
    config.find(of_process);
  std::string interval;
  config.read("deschedulingInterval", interval);
  if (!interval.empty()) {
    common.spec["schedule"]["interval"] = interval;
    common.origins.push_back({"spec.schedule.interval", at.field("deschedulingInterval").text()});
  }
  read_dry_run(config, common, bench);
  read_cycle_limits(config, common, bench);
  if (const Json* nodes = config.find("nodeSelector")) common.spec["nodeSelector"] = *nodes;
  common.origins.push_back({"spec.nodeSelector", at.field("nodeSelector").text()});
  std::vector<Draft> drafts;
  config.for_each("profiles", [&](const Json& profile, const FieldPath& path) {
    for (Draft& draft : KoordinatorProfileReader(profile, path, bench).read()) drafts.push_back(std::move(draft));
  });
  finish_with_notes(config, bench);
  bench.add_drafts(std::move(drafts), common);
}

}  // namespace api::upstream
