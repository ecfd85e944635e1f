#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "api/evacuation_parts.hpp"
#include "cmd/convert/koordinator.hpp"

namespace convert {
namespace {

constexpr const char* kKoordinatorSource = "koordinator";

class LowNodeLoadReader {
 public:
  LowNodeLoadReader(const Json& args, const FieldPath& at, ConversionContext& bench)
      : args_(args, at, bench.errors()), context_(bench) {}

  using Members = std::vector<std::pair<std::string, FieldPath>>;

  LowNodeLoad read(Draft& draft) {
    for (const char* of_type : {"apiVersion", "kind"}) args_.find(of_type);
    StrategySource source{"LowNodeUtilization", Json::object(), args_.path(), {}, false, true};
    source.args["usage"] = {{"source", kKoordinatorSource}};
    read_thresholds(args_, source.args, "", source.members);
    read_pools(source.args, source.members);
    if (const Json* number = args_.find("numberOfNodes")) source.args["numberOfNodes"] = *number;
    read_namespaces(draft, source.args);
    read_hysteresis(source.args);
    if (const Json* nodes = args_.find("nodeSelector"))
      draft.set("nodeSelector", *nodes, args_.path().field("nodeSelector"));
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
    return {std::move(source), std::move(pods_)};
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

/// Limits, and the members of spec.limits.inFlight that they become.
constexpr std::array kMigrationLimits = {
    Renamed{"maxMigratingGlobally", "total"}, Renamed{"maxMigratingPerNode", "perNode"},
    Renamed{"maxMigratingPerNamespace", "perNamespace"}, Renamed{"maxMigratingPerWorkload", "perWorkload"}};

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

class MigrationReader {
 public:
  MigrationReader(const Json& args, const FieldPath& at, ConversionContext& bench)
      : args_(args, at, bench.errors()), context_(bench) {}

  Draft read() {
    for (const char* of_type : {"apiVersion", "kind"}) args_.find(of_type);
    read_dry_run(args_, draft_, context_);
    read_evictor();
    read_namespaces();
    for (const Renamed& limit : kMigrationLimits) read_limit(limit);
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

  void read_limit(const Renamed& limit) {
    const Json* most = args_.find(limit.theirs);
    if (most == nullptr) return;
    const FieldPath at = args_.path().field(limit.theirs);
    if (*most == 0) return context_.note(NoteKind::kIgnored, at, "0 means no limit in Koordinator");
    draft_.set(fmt::format("limits.inFlight.{}", limit.ours), *most, at);
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
    if (rate < 1 || rate > static_cast<double>(api::bounds::kMaxRate) || rate != std::floor(rate))
      return context_.note(NoteKind::kDropped, at, "only whole numbers have an equivalent", "set spec.limits.rate");
    draft_.set("limits.rate.perSecond", static_cast<std::int64_t>(rate), at);
    if (burst != nullptr) draft_.set("limits.rate.burst", *burst, args_.path().field("evictBurst"));
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

}  // namespace

void with_leniently(StrictObject& object, const char* name, ConversionContext& bench,
                    const std::function<void(StrictObject&)>& inside) {
  const Json* json = object.find(name);
  if (json == nullptr) return;
  StrictObject member(*json, object.path().field(name), bench.errors());
  inside(member);
  finish_with_notes(member, bench);
}

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

LowNodeLoad read_low_node_load(const Json& args, const FieldPath& at, Draft& draft, ConversionContext& bench) {
  return LowNodeLoadReader(args, at, bench).read(draft);
}

Draft read_migration_controller(const Json& args, const FieldPath& at, ConversionContext& bench) {
  return MigrationReader(args, at, bench).read();
}

}  // namespace convert
