/// Upstream's DefaultEvictor arguments in our words.

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "api/selector_codec.hpp"
#include "api/strict_object.hpp"
#include "test/conformance/conformance_case.hpp"

namespace conformance {
namespace {

bool flag(const Json& args, const char* name) { return args.value(name, false); }

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

std::vector<std::string> split(std::string_view text, bool outside_parentheses) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && (depth == 0 || !outside_parentheses)) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  for (std::string& part : parts) part = trimmed(part);
  return parts;
}

std::vector<std::string> set_of(std::string_view text) {
  const auto open = text.find('(');
  return split(text.substr(open + 1, text.find(')') - open - 1), false);
}

/// kubectl's selector syntax: "a=b,c!=d,e in (f,g),h,!i".
api::SelectorRequirement requirement_of(const std::string& text) {
  using enum api::SelectorOperator;
  if (const auto at = text.find(" notin "); at != std::string::npos)
    return {trimmed(text.substr(0, at)), kNotIn, set_of(text)};
  if (const auto at = text.find(" in "); at != std::string::npos)
    return {trimmed(text.substr(0, at)), kIn, set_of(text)};
  if (const auto at = text.find("!="); at != std::string::npos) {
    return {trimmed(text.substr(0, at)), kNotIn, {trimmed(text.substr(at + 2))}};
  }
  if (const auto at = text.find('='); at != std::string::npos) {
    const std::size_t value = text.find_first_not_of('=', at);
    return {trimmed(text.substr(0, at)), kIn, {value == std::string::npos ? "" : trimmed(text.substr(value))}};
  }
  if (text.starts_with('!')) return {trimmed(text.substr(1)), kDoesNotExist, {}};
  return {text, kExists, {}};
}

std::optional<api::LabelSelector> parse_selector_text(const std::string& text) {
  if (text.empty()) return std::nullopt;
  api::LabelSelector selector;
  for (const std::string& part : split(text, true)) selector.requirements.push_back(requirement_of(part));
  return selector;
}

std::optional<api::LabelSelector> selector_of(const Json& args, const char* name) {
  api::FieldErrors errors;
  api::StrictObject object(args, {}, errors);
  std::optional<api::LabelSelector> selector;
  api::read_label_selector(object, name, selector);
  if (!errors.empty()) throw std::runtime_error(errors.front().to_string());
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
  const Json json = args.value("priorityThreshold", Json::object());
  api::PriorityThreshold threshold;
  if (json.contains("value") && !json["value"].is_null()) threshold.value = json["value"].get<std::int32_t>();
  threshold.name = json.value("name", "");
  if (!threshold.value && threshold.name.empty()) return std::nullopt;
  return threshold;
}

base::Duration duration_of(const Json& json) {
  if (json.is_string()) return base::parse_duration(json.get<std::string>()).value();
  return std::chrono::duration_cast<base::Duration>(std::chrono::nanoseconds(json.get<std::int64_t>()));
}

}  // namespace

api::Evictability evictability_of(const Json& args) {
  api::Evictability evictability;
  evictability.node_fit = flag(args, "nodeFit");
  evictability.node_selector = parse_selector_text(args.value("nodeSelector", ""));
  evictability.min_replicas = args.value("minReplicas", 0U);
  if (args.contains("minPodAge") && !args["minPodAge"].is_null())
    evictability.min_pod_age = duration_of(args["minPodAge"]);
  evictability.priority_threshold = threshold_of(args);
  evictability.label_selector = selector_of(args, "labelSelector");
  evictability.namespace_label_selector = selector_of(args, "namespaceLabelSelector");
  take_protections(args, evictability.pod_protections);
  if (args.value("noEvictionPolicy", "") == "Mandatory")
    evictability.no_eviction_policy = api::NoEvictionPolicy::kMandatory;
  return evictability;
}

}  // namespace conformance
