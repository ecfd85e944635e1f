/// Reads descheduler/v1alpha1: a map of strategies, which upstream supported until 0.29. Each strategy had its own
/// nodeFit and priority threshold, so strategies with equal settings become one policy.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cmd/convert/parts.hpp"

namespace convert {
namespace {

/// A params member that became args, under the same names, of the strategy.
struct LegacyParam {
  std::string_view name;
  std::string_view strategy;
};
/// Params whose members became the args.
constexpr std::array kNestedParams = {
    LegacyParam{"removeDuplicates", "RemoveDuplicates"},
    LegacyParam{"nodeResourceUtilizationThresholds", "LowNodeUtilization"},
    LegacyParam{"nodeResourceUtilizationThresholds", "HighNodeUtilization"},
    LegacyParam{"podsHavingTooManyRestarts", "RemovePodsHavingTooManyRestarts"},
    LegacyParam{"podLifeTime", "PodLifeTime"},
    LegacyParam{"failedPods", "RemoveFailedPods"},
};
constexpr std::array kPlainParams = {
    LegacyParam{"nodeAffinityType", "RemovePodsViolatingNodeAffinity"},
    LegacyParam{"includePreferNoSchedule", "RemovePodsViolatingNodeTaints"},
    LegacyParam{"excludedTaints", "RemovePodsViolatingNodeTaints"},
    LegacyParam{"includedTaints", "RemovePodsViolatingNodeTaints"},
    LegacyParam{"topologyBalanceNodeFit", "RemovePodsViolatingTopologySpreadConstraint"},
};
constexpr std::array<std::string_view, 4> kEvictorSwitches = {"evictFailedBarePods", "evictLocalStoragePods",
                                                              "evictSystemCriticalPods", "evictDaemonSetPods"};

bool is_utilization(std::string_view strategy) { return strategy.ends_with("NodeUtilization"); }
bool takes_labels(std::string_view strategy) { return strategy != "RemoveDuplicates" && !is_utilization(strategy); }

class LegacyStrategyReader {
 public:
  LegacyStrategyReader(std::string name, const Json& json, const FieldPath& at, ConversionContext& bench)
      : name_(std::move(name)), entry_(json, at, bench.errors()), context_(bench) {}

  bool enabled() {
    bool on = false;
    entry_.read("enabled", on);
    return on;
  }

  /// Returns the strategy's args. Stores the settings of the evictor in `evictor`.
  StrategySource read(Json& evictor, std::vector<Origin>& origins) {
    std::int32_t weight = 0;
    entry_.read("weight", weight);
    source_.name = name_;
    source_.lenient = true;
    source_.at = entry_.path().field("params");
    if (const Json* json = entry_.find("params")) {
      StrictObject params(*json, source_.at, context_.errors());
      read_evictor(params, evictor, origins);
      read_scope(params);
      read_own(params);
      finish_with_notes(params, context_);
    }
    finish_with_notes(entry_, context_);
    if (name_ == "RemoveFailedPods" && !source_.args.contains("minPodLifetimeSeconds"))
      context_.note(NoteKind::kChanged, source_.at,
                    "keeps failed pods for an hour (minPodLifetimeSeconds), as upstream does since 0.27; 0.26 and "
                    "older had no such default",
                    "set minPodLifetimeSeconds: 0 if your version was 0.26 or older");
    return std::move(source_);
  }

 private:
  void read_evictor(StrictObject& params, Json& evictor, std::vector<Origin>& origins) {
    const auto take = [&](const char* name, const char* ours) {
      const Json* value = params.find(name);
      if (value != nullptr) origins.push_back({ours, params.path().field(name).text()});
      return value;
    };
    if (name_ == "PodLifeTime" && params.find("nodeFit") != nullptr) {
      pass_over(params, "nodeFit");
    } else if (const Json* fit = take("nodeFit", "spec.evictability.nodeFit")) {
      evictor["nodeFit"] = *fit;
    }
    const Json* value = take("thresholdPriority", "spec.evictability.priorityThreshold.value");
    const Json* name = take("thresholdPriorityClassName", "spec.evictability.priorityThreshold.name");
    if (value != nullptr) evictor["priorityThreshold"]["value"] = *value;
    if (name != nullptr && *name != "") evictor["priorityThreshold"]["name"] = *name;
    if (value != nullptr && evictor["priorityThreshold"].contains("name"))
      params.complain("thresholdPriority", "only one of thresholdPriority and thresholdPriorityClassName can be set");
  }

  void read_scope(StrictObject& params) {
    if (const Json* namespaces = params.find("namespaces"))
      put(is_utilization(name_) ? "evictableNamespaces" : "namespaces", *namespaces, params.path().field("namespaces"));
    const Json* labels = params.find("labelSelector");
    if (labels == nullptr) return;
    if (takes_labels(name_)) return put("labelSelector", *labels, params.path().field("labelSelector"));
    pass_over(params, "labelSelector");
  }

  void read_own(StrictObject& params) {
    for (const LegacyParam& each : kPlainParams) {
      const Json* value = params.find(each.name);
      if (value == nullptr) continue;
      if (each.strategy == name_) {
        put(std::string(each.name), *value, params.path().field(each.name));
      } else {
        pass_over(params, each.name);
      }
    }
    for (const LegacyParam& each : kNestedParams) {
      const Json* value = params.find(each.name);
      if (value != nullptr && each.strategy == name_) read_nested(params, each.name, *value);
      if (value != nullptr && each.name != nested_param_of(name_)) pass_over(params, each.name);
    }
    read_soft_constraints(params);
  }

  void read_nested(StrictObject& params, std::string_view param, const Json& value) {
    const FieldPath at = params.path().field(param);
    if (!value.is_object()) return context_.error(at, fmt::format("must be an object, not {}", kind_of(value)));
    for (const auto& [member, item] : value.items()) {
      // podStatusPhases is the older name of states. Upstream merges the two.
      const bool phases = param == "podLifeTime" && member == "podStatusPhases";
      const std::string ours = phases ? "states" : member;
      if (ours == "states" && item.is_array() && source_.args.contains(ours) && source_.args[ours].is_array()) {
        append_new(item, at.key(member), ours);
      } else if (!item.is_null()) {
        put(ours, item, at.key(member));
      }
    }
  }

  void append_new(const Json& items, const FieldPath& at, const std::string& member) {
    Json& to = source_.args[member];
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (std::find(to.begin(), to.end(), items[i]) != to.end()) continue;
      source_.members.emplace_back(fmt::format("{}[{}]", member, to.size()), at.index(i));
      to.push_back(items[i]);
    }
  }

  void read_soft_constraints(StrictObject& params) {
    bool soft = false;
    params.read("includeSoftConstraints", soft);
    if (!soft) return;
    if (name_ != "RemovePodsViolatingTopologySpreadConstraint") return pass_over(params, "includeSoftConstraints");
    put("constraints", Json::array({"DoNotSchedule", "ScheduleAnyway"}), params.path().field("includeSoftConstraints"));
  }

  void put(std::string member, const Json& value, const FieldPath& at) {
    source_.args[member] = value;
    source_.members.emplace_back(std::move(member), at);
  }

  void pass_over(StrictObject& params, std::string_view name) {
    context_.note(NoteKind::kIgnored, params.path().field(name), fmt::format("{} ignores it", name_));
  }

  std::string name_;
  StrictObject entry_;
  ConversionContext& context_;
  StrategySource source_;
};

/// Strategies with equal evictor settings.
struct LegacyGroup {
  Json evictor;
  Draft draft;
  int strategies = 0;
};

LegacyGroup& group_for(const Json& evictor, std::vector<LegacyGroup>& groups) {
  const auto at = std::ranges::find(groups, evictor, &LegacyGroup::evictor);
  if (at != groups.end()) return *at;
  return groups.emplace_back(LegacyGroup{evictor, {}, 0});
}

/// Returns the policy-level evictability settings as DefaultEvictor args.
Json legacy_evictor(StrictObject& policy) {
  Json evictor = Json::object();
  for (const std::string_view name : kEvictorSwitches) {
    if (const Json* value = policy.find(name)) evictor[std::string(name)] = *value;
  }
  if (const Json* value = policy.find("ignorePvcPods")) evictor["ignorePvcPods"] = *value;
  return evictor;
}

void read_legacy_strategy(const std::string& name, const Json& json, const FieldPath& at, const Json& evictor,
                          std::vector<LegacyGroup>& groups, ConversionContext& bench) {
  if (json.is_null()) return bench.note(NoteKind::kIgnored, at, "is null: not enabled");
  if (const std::string known = canonical_plugin(name); known != name) {
    bench.note(NoteKind::kChanged, at, fmt::format("is read as {}; upstream ignores the other spelling", known));
    return read_legacy_strategy(known, json, at, evictor, groups, bench);
  }
  LegacyStrategyReader reader(name, json, at, bench);
  if (!reader.enabled()) return bench.note(NoteKind::kIgnored, at, "is not enabled");
  if (!point_of_plugin(name) || name == kDefaultEvictor) {
    const auto known = plugin_names();
    return bench.note(NoteKind::kDropped, at,
                      fmt::format("upstream has no such strategy{}", api::did_you_mean(name, known)),
                      "correct or remove it");
  }
  Json its_evictor = evictor;
  std::vector<Origin> origins;
  StrategySource source = reader.read(its_evictor, origins);
  LegacyGroup& group = group_for(its_evictor, groups);
  if (group.strategies == 0) {
    group.draft.name = name;
    group.draft.source = at.text();
  } else {
    group.draft.name = "descheduler";
  }
  ++group.strategies;
  group.draft.origins.insert(group.draft.origins.end(), origins.begin(), origins.end());
  bench.add_strategy(group.draft, std::move(source));
}

}  // namespace

std::string_view nested_param_of(std::string_view strategy) {
  const auto nested = std::ranges::find(kNestedParams, strategy, &LegacyParam::strategy);
  return nested == kNestedParams.end() ? "" : nested->name;
}

void read_v1alpha1(const Json& json, const FieldPath& at, const Draft& outside, ConversionContext& bench) {
  StrictObject policy(json, at, bench.errors());
  Draft common = outside;
  for (const char* of_type : {"apiVersion", "kind", "metadata"}) policy.find(of_type);
  read_cycle_settings(policy, common, bench);
  Json evictor = legacy_evictor(policy);
  evictor.update(outside.evictability);
  std::vector<LegacyGroup> groups;
  if (const Json* strategies = policy.find("strategies")) {
    if (!strategies->is_object())
      return bench.error(at.field("strategies"), fmt::format("must be an object, not {}", kind_of(*strategies)));
    for (const auto& [name, entry] : strategies->items())
      read_legacy_strategy(name, entry, at.field("strategies").key(name), evictor, groups, bench);
  }
  if (policy.find("profiles") != nullptr)
    bench.note(NoteKind::kIgnored, at.field("profiles"),
               "belongs to descheduler/v1alpha2; upstream ignores it in v1alpha1, which has strategies");
  finish_with_notes(policy, bench);
  std::vector<Draft> drafts;
  for (LegacyGroup& group : groups) {
    read_evictor_args(group.evictor, at, group.draft, bench);
    if (groups.size() == 1 && group.strategies > 1) group.draft.source = at.field("strategies").text();
    drafts.push_back(std::move(group.draft));
  }
  bench.add_drafts(std::move(drafts), common);
}

}  // namespace convert
