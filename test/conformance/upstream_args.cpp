/// Converts upstream's DefaultEvictor arguments to ours.

#include <nlohmann/json.hpp>

#include "api/core/selector_codec.hpp"
#include "api/json/strict_object.hpp"
#include "api/meta/selector_text.hpp"
#include "test/conformance/conformance_case.hpp"

namespace conformance {
namespace {

bool flag(const Json& args, const char* name) { return args.value(name, false); }

/// Upstream parses the selector for each pod. A selector that does not parse selects no node.
std::optional<api::LabelSelector> node_selector_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto selector = api::parse_selector_text(text);
  return selector ? *selector : api::LabelSelector{{{"unparsable", api::SelectorOperator::kIn, {}}}};
}

std::optional<api::LabelSelector> selector_of(const Json& args, const char* name, api::FieldErrors& errors) {
  api::StrictObject object(args, {}, errors);
  std::optional<api::LabelSelector> selector;
  api::read_label_selector(object, name, selector);
  return selector;
}

void take_protections(const Json& args, api::PodProtections& protections) {
  using enum api::PodProtection;
  const Json lists = args.value("podProtections", Json::object());
  for (const Json& name : lists.value("defaultDisabled", Json::array())) {
    protections.default_disabled.push_back(api::parse_pod_protection(name.get<std::string>()).value());
  }
  for (const Json& name : lists.value("extraEnabled", Json::array())) {
    protections.extra_enabled.push_back(api::parse_pod_protection(name.get<std::string>()).value());
  }
  if (protections.default_disabled.empty() && protections.extra_enabled.empty()) {
    if (flag(args, "evictLocalStoragePods")) protections.default_disabled.push_back(kPodsWithLocalStorage);
    if (flag(args, "evictSystemCriticalPods")) protections.default_disabled.push_back(kSystemCriticalPods);
    if (flag(args, "evictFailedBarePods")) protections.default_disabled.push_back(kFailedBarePods);
    if (flag(args, "evictDaemonSetPods")) protections.default_disabled.push_back(kDaemonSetPods);
    if (flag(args, "ignorePvcPods")) protections.extra_enabled.push_back(kPodsWithPVC);
    if (flag(args, "ignorePodsWithoutPDB")) protections.extra_enabled.push_back(kPodsWithoutPDB);
  }
  const Json classes = lists.value(Json::json_pointer("/config/PodsWithPVC/protectedStorageClasses"), Json::array());
  for (const Json& each : classes) protections.protected_storage_classes.push_back(each.at("name").get<std::string>());
}

std::optional<api::PriorityThreshold> threshold_of(const Json& args) {
  const Json given = args.value("priorityThreshold", Json::object());
  api::PriorityThreshold threshold;
  if (given.contains("value")) threshold.value = given["value"].get<std::int32_t>();
  threshold.name = given.value("name", "");
  if (!threshold.value && threshold.name.empty()) return std::nullopt;
  return threshold;
}

base::Duration duration_of(const Json& given) {
  if (given.is_string()) return base::parse_duration(given.get<std::string>()).value();
  return std::chrono::duration_cast<base::Duration>(std::chrono::nanoseconds(given.get<std::int64_t>()));
}

}  // namespace

api::Evictability evictability_of(const Json& written, api::FieldErrors& errors) {
  const Json args = without_nulls(written);
  api::Evictability evictability;
  evictability.node_fit = flag(args, "nodeFit");
  evictability.node_selector = node_selector_of(args.value("nodeSelector", ""));
  evictability.min_replicas = args.value("minReplicas", 0U);
  if (args.contains("minPodAge")) evictability.min_pod_age = duration_of(args["minPodAge"]);
  evictability.priority_threshold = threshold_of(args);
  evictability.label_selector = selector_of(args, "labelSelector", errors);
  evictability.namespace_label_selector = selector_of(args, "namespaceLabelSelector", errors);
  take_protections(args, evictability.pod_protections);
  if (args.value("noEvictionPolicy", "") == "Mandatory")
    evictability.no_eviction_policy = api::NoEvictionPolicy::kMandatory;
  return evictability;
}

}  // namespace conformance
