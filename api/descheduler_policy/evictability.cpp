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

/// Codec of podProtections, as api/json/fields.hpp calls it.
static void read_member(StrictObject& parent, std::string_view name, PodProtections& protections) {
  parent.with(name, [&](StrictObject& object) {
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
  });
}

static Json encode_value(const PodProtections& protections) {
  Json json = Json::object();
  for (const PodProtection p : protections.default_disabled) json["defaultDisabled"].push_back(to_string(p));
  for (const PodProtection p : protections.extra_enabled) json["extraEnabled"].push_back(to_string(p));
  if (!protections.ignored_volumes.empty())
    json["config"]["PodsWithLocalStorage"]["ignoredVolumes"] = protections.ignored_volumes;
  for (const std::string& name : protections.protected_storage_classes)
    json["config"]["PodsWithPVC"]["protectedStorageClasses"].push_back({{"name", name}});
  return json;
}

/// The fields that are not special; nodeFit, nodeSelector and autoscalerAnnotations are.
template <>
inline constexpr auto kFields<Evictability> =
    std::tuple{always("minReplicas", &Evictability::min_replicas),
               field("minPodAge", &Evictability::min_pod_age),
               field("priorityThreshold", &Evictability::priority_threshold),
               field("labelSelector", &Evictability::label_selector),
               field("namespaceLabelSelector", &Evictability::namespace_label_selector),
               field("namespaces", &Evictability::namespaces),
               field("podProtections", &Evictability::pod_protections),
               always("noEvictionPolicy", &Evictability::no_eviction_policy),
               field("optOuts", &Evictability::opt_outs)};

void read_evictability(StrictObject& object, Evictability& evictability) {
  read_node_fit(object, evictability);
  read_label_selector(object, "nodeSelector", evictability.node_selector, true);
  read_fields(object, evictability);
  if (object.find("autoscalerAnnotations") != nullptr) {
    evictability.autoscaler_annotations = AutoscalerAnnotations::kRespect;
    object.read("autoscalerAnnotations", kAutoscalerAnnotationsNames, *evictability.autoscaler_annotations);
  }
}

Json encode_evictability(const Evictability& evictability) {
  Json json = encode_fields(evictability);
  json["nodeFit"] = evictability.node_fit;
  if (evictability.node_fit && evictability.node_fit_level) {
    json["nodeFit"] = {{"level", to_string(*evictability.node_fit_level)}};
  }
  if (evictability.autoscaler_annotations)
    json["autoscalerAnnotations"] = to_string(*evictability.autoscaler_annotations);
  if (evictability.node_selector) json["nodeSelector"] = encode_label_selector(*evictability.node_selector);
  return json;
}

}  // namespace api
