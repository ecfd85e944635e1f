/// Reads Deckhouse's Descheduler.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cmd/convert/wrappers.hpp"

namespace convert {
namespace {

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
    const Json& body = is_first ? object_at(spec_, {"deschedulerPolicy"}) : spec_;
    Json policy = global_parameters(body, at);
    if (is_first) note_left_out(body, at, {"globalParameters", "strategies"});
    note_left_out(spec_, at_,
                  {"deschedulerPolicy", "globalParameters", "strategies", "deploymentTemplate", "nodeLabelSelector",
                   "podLabelSelector", "namespaceLabelSelector", "priorityClassThreshold", "evictLocalStoragePods"});
    const Json* local = find_at(spec_, {"evictLocalStoragePods"});
    if (local != nullptr)
      policy["evictLocalStoragePods"] = local->is_object() ? Json(local->value("enabled", true)) : *local;
    strategies_at_ = at.field("strategies");
    for (const auto& [name, entry] : object_at(body, {"strategies"}).items())
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
    Json policy = object_at(body, {"globalParameters"});
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

  /// Returns the path of the params of the v1alpha1 strategy from which the strategy at `at` was made.
  FieldPath legacy_path(std::string_view strategy, const FieldPath& at) {
    const FieldPath params = strategies_at_.key(strategy).field("params");
    moved_.push_back({strategies_at_.key(strategy).text(), at.text()});
    moved_.push_back({params.text(), at.text()});
    if (const std::string_view nested = nested_param_of(strategy); !nested.empty())
      moved_.push_back({params.field(nested).text(), at.text()});
    return params;
  }

  static void put_args(std::string_view strategy, const Json& args, Json& params) {
    const std::string nested(nested_param_of(strategy));
    if (args.empty()) return;
    if (nested.empty())
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

}  // namespace

bool is_deckhouse_spec(const Json& json) {
  const Json& policy = json.contains("deschedulerPolicy") ? object_at(json, {"deschedulerPolicy"}) : json;
  const auto is_lower = [](const auto& entry) {
    return !entry.key().empty() && std::islower(static_cast<unsigned char>(entry.key().front())) != 0;
  };
  const Json& strategies = object_at(policy, {"strategies"});
  bool has_lower = false;
  for (auto entry = strategies.begin(); entry != strategies.end(); ++entry) has_lower = has_lower || is_lower(entry);
  return policy.contains("globalParameters") || has_lower;
}

void read_deckhouse(const Json& spec, const FieldPath& at, ConversionContext& bench) {
  DeckhouseReader(spec, at, bench).read();
}

}  // namespace convert
