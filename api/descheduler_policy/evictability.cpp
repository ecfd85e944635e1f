#include "api/descheduler_policy/evictability.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/core/selector_codec.hpp"
#include "api/json/fields.hpp"

namespace api {
template <>
inline constexpr auto kFields<PriorityThreshold> =
    std::tuple{field("value", &PriorityThreshold::value), field("name", &PriorityThreshold::name)};

template <>
inline constexpr auto kFields<NamespaceFilter> =
    std::tuple{field("include", &NamespaceFilter::include), field("exclude", &NamespaceFilter::exclude)};

template <>
inline constexpr auto kFields<OptOut> =
    std::tuple{always("annotation", &OptOut::annotation), always("maxDuration", &OptOut::max_duration)};

namespace {

void read_protection_list(StrictObject& object, std::string_view name, std::vector<PodProtection>& to) {
  object.for_each(name, [&](const Json& item, const FieldPath& path) {
    const auto text = item.is_string() ? item.get<std::string>() : std::string();
    if (const auto protection = parse_pod_protection(text)) return to.push_back(*protection);
    const auto valid = all_names(kProtectionNames);
    object.errors().push_back({path.text(), fmt::format("{} is not one of {}{}", to_json_text(item),
                                                        join_alternatives(valid), did_you_mean(text, valid))});
  });
}

void read_protections(StrictObject& object, PodProtections& protections) {
  read_protection_list(object, "defaultDisabled", protections.default_disabled);
  read_protection_list(object, "extraEnabled", protections.extra_enabled);
  object.with("config", [&](StrictObject& config) {
    config.with("PodsWithLocalStorage",
                [&](StrictObject& local) { local.read("ignoredVolumes", protections.ignored_volumes); });
    config.with("PodsWithPVC", [&](StrictObject& pvc) {
      pvc.for_each("protectedStorageClasses", [&](const Json& item, const FieldPath& path) {
        StrictObject storage_class(item, path, pvc.errors());
        storage_class.read("name", protections.protected_storage_classes.emplace_back());
        storage_class.finish();
      });
    });
  });
}

/// Reads true or false, like upstream, or an object: {level: Basic}.
void read_node_fit(StrictObject& object, Evictability& evictability) {
  const Json* json = object.find("nodeFit");
  if (json == nullptr || json->is_boolean()) return object.read("nodeFit", evictability.node_fit);
  if (!json->is_object()) {
    return object.complain("nodeFit", fmt::format("must be a boolean or an object, not {}", kind_of(*json)));
  }
  evictability.node_fit = true;
  object.with("nodeFit", [&](StrictObject& fit) {
    NodeFitLevel level = NodeFitLevel::kScheduler;
    fit.read("level", kNodeFitLevelNames, level);
    evictability.node_fit_level = level;
  });
}

}  // namespace

void read_evictability(StrictObject& object, Evictability& evictability) {
  read_node_fit(object, evictability);
  read_label_selector(object, "nodeSelector", evictability.node_selector, true);
  object.read("minReplicas", evictability.min_replicas);
  object.read_duration("minPodAge", evictability.min_pod_age);
  read_member(object, "priorityThreshold", evictability.priority_threshold);
  read_label_selector(object, "labelSelector", evictability.label_selector);
  read_label_selector(object, "namespaceLabelSelector", evictability.namespace_label_selector);
  read_member(object, "namespaces", evictability.namespaces);
  object.with("podProtections", [&](StrictObject& json) { read_protections(json, evictability.pod_protections); });
  object.read("noEvictionPolicy", kNoEvictionNames, evictability.no_eviction_policy);
  read_member(object, "optOuts", evictability.opt_outs);
  if (object.find("autoscalerAnnotations") != nullptr) {
    evictability.autoscaler_annotations = AutoscalerAnnotations::kRespect;
    object.read("autoscalerAnnotations", kAutoscalerAnnotationsNames, *evictability.autoscaler_annotations);
  }
}

Json encode_evictability(const Evictability& evictability) {
  Json json = {{"nodeFit", evictability.node_fit},
               {"minReplicas", evictability.min_replicas},
               {"noEvictionPolicy", to_string(evictability.no_eviction_policy)}};
  if (evictability.node_fit && evictability.node_fit_level) {
    json["nodeFit"] = {{"level", to_string(*evictability.node_fit_level)}};
  }
  if (evictability.autoscaler_annotations)
    json["autoscalerAnnotations"] = to_string(*evictability.autoscaler_annotations);
  if (evictability.node_selector) json["nodeSelector"] = encode_label_selector(*evictability.node_selector);
  if (evictability.min_pod_age) json["minPodAge"] = base::format_duration(*evictability.min_pod_age);
  if (evictability.priority_threshold) json["priorityThreshold"] = encode(*evictability.priority_threshold);
  if (evictability.label_selector) json["labelSelector"] = encode_label_selector(*evictability.label_selector);
  if (evictability.namespace_label_selector) {
    json["namespaceLabelSelector"] = encode_label_selector(*evictability.namespace_label_selector);
  }
  if (evictability.namespaces != NamespaceFilter{}) json["namespaces"] = encode(evictability.namespaces);
  if (!evictability.opt_outs.empty()) json["optOuts"] = encode(evictability.opt_outs);
  const PodProtections& protections = evictability.pod_protections;
  for (const PodProtection p : protections.default_disabled)
    json["podProtections"]["defaultDisabled"].push_back(to_string(p));
  for (const PodProtection p : protections.extra_enabled)
    json["podProtections"]["extraEnabled"].push_back(to_string(p));
  if (!protections.ignored_volumes.empty())
    json["podProtections"]["config"]["PodsWithLocalStorage"]["ignoredVolumes"] = protections.ignored_volumes;
  for (const std::string& name : protections.protected_storage_classes) {
    json["podProtections"]["config"]["PodsWithPVC"]["protectedStorageClasses"].push_back({{"name", name}});
  }
  return json;
}

}  // namespace api
