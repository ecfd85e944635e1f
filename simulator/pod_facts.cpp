#include "simulator/pod_facts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "base/text.hpp"
#include "simulator/text.hpp"

namespace simulator {
namespace {

using api::Json;

const Json* controller_of(const Json& object) {
  for (const Json& owner : api::items_at(object, {"metadata", "ownerReferences"})) {
    if (api::flag_at(owner, {"controller"})) return &owner;
  }
  return nullptr;
}

std::optional<api::TaintEffect> taint_effect(const std::string& text) {
  if (text == "NoSchedule") return api::TaintEffect::kNoSchedule;
  if (text == "PreferNoSchedule") return api::TaintEffect::kPreferNoSchedule;
  if (text == "NoExecute") return api::TaintEffect::kNoExecute;
  return std::nullopt;
}

std::optional<api::SelectorOperator> selector_operator(const std::string& text) {
  using enum api::SelectorOperator;
  for (const auto op : {kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt}) {
    if (to_string(op) == text) return op;
  }
  return std::nullopt;
}

/// Returns the node name in the matchFields that the DaemonSet controller sets, empty if there is none.
std::string daemon_target(const Json& pod) {
  const Json* terms = api::find_at(
      pod, {"spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"});
  if (!terms || !terms->is_array() || terms->empty()) return {};
  for (const auto& requirement : requirements_of(api::find_at(terms->front(), {"matchFields"}))) {
    if (requirement.key == "metadata.name" && !requirement.values.empty()) return requirement.values.front();
  }
  return {};
}

}  // namespace

PodFacts facts_of(const Json& pod) {
  PodFacts facts;
  facts.key = key_of(pod);
  facts.uid = uid_of(pod);
  facts.node = api::text_at(pod, {"spec", "nodeName"});
  facts.phase = api::text_at(pod, {"status", "phase"});
  facts.terminating = is_terminating(pod);
  facts.deletion_cost =
      base::parse_number<std::int64_t>(
          api::text_at(pod, {"metadata", "annotations", "controller.kubernetes.io/pod-deletion-cost"}))
          .value_or(0);
  facts.revision = api::text_at(pod, {"metadata", "labels", "controller-revision-hash"});
  facts.created = time_at(pod, {"metadata", "creationTimestamp"}).value_or(base::TimePoint{});
  if (const Json* owner = controller_of(pod)) {
    facts.controller_uid = api::text_at(*owner, {"uid"});
    facts.controller_kind = api::text_at(*owner, {"kind"});
    if (facts.controller_kind == "DaemonSet") facts.target_node = facts.node.empty() ? daemon_target(pod) : facts.node;
  }
  if (const Json* ready = condition_of(pod, "Ready"); ready && api::text_at(*ready, {"status"}) == "True") {
    facts.ready = true;
    facts.ready_since = time_at(*ready, {"lastTransitionTime"}).value_or(base::TimePoint{});
  }
  return facts;
}

api::ObjectKey key_of(const Json& object) {
  return {api::text_at(object, {"metadata", "namespace"}), api::text_at(object, {"metadata", "name"})};
}

std::string uid_of(const Json& object) { return api::text_at(object, {"metadata", "uid"}); }

bool is_terminating(const Json& object) { return !api::text_at(object, {"metadata", "deletionTimestamp"}).empty(); }

bool is_newer(const std::shared_ptr<const Json>& written, const Json& before) {
  return written && api::text_at(*written, {"metadata", "resourceVersion"}) !=
                        api::text_at(before, {"metadata", "resourceVersion"});
}

std::string controller_uid_of(const Json& object) {
  const Json* owner = controller_of(object);
  return owner ? api::text_at(*owner, {"uid"}) : std::string();
}

api::StringMap string_map(const Json* labels) {
  std::vector<api::StringMap::Entry> entries;
  if (labels && labels->is_object()) {
    for (const auto& [key, value] : labels->items()) {
      if (value.is_string()) entries.emplace_back(key, value.get<std::string>());
    }
  }
  return api::StringMap(std::move(entries));
}

std::optional<api::LabelSelector> label_selector(const Json* selector) {
  if (!selector || !selector->is_object()) return std::nullopt;
  api::LabelSelector result;
  for (const auto& [key, value] : string_map(api::find_at(*selector, {"matchLabels"}))) {
    result.requirements.push_back({key, api::SelectorOperator::kIn, {value}});
  }
  for (auto& requirement : requirements_of(api::find_at(*selector, {"matchExpressions"})))
    result.requirements.push_back(std::move(requirement));
  return result;
}

std::vector<api::SelectorRequirement> requirements_of(const Json* expressions) {
  std::vector<api::SelectorRequirement> found;
  if (!expressions || !expressions->is_array()) return found;
  for (const Json& expression : *expressions) {
    if (const auto op = selector_operator(api::text_at(expression, {"operator"}))) {
      found.push_back({api::text_at(expression, {"key"}), *op, strings_at(expression, {"values"})});
    }
  }
  return found;
}

bool selects_node(const Json& pod_spec, const Json& node) {
  const api::StringMap labels = string_map(api::find_at(node, {"metadata", "labels"}));
  const api::StringMap fields{{"metadata.name", api::text_at(node, {"metadata", "name"})}};
  for (const auto& [key, value] : string_map(api::find_at(pod_spec, {"nodeSelector"}))) {
    const std::string* found = labels.find(key);
    if (!found || *found != value) return false;
  }
  const Json* terms = api::find_at(
      pod_spec, {"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"});
  if (!terms || !terms->is_array()) return true;
  return std::ranges::any_of(*terms, [&](const Json& term) {
    const auto by_label = requirements_of(api::find_at(term, {"matchExpressions"}));
    const auto by_field = requirements_of(api::find_at(term, {"matchFields"}));
    if (by_label.empty() && by_field.empty()) return false;
    return std::ranges::all_of(by_label, [&](const auto& r) { return r.matches(labels); }) &&
           std::ranges::all_of(by_field, [&](const auto& r) { return r.matches(fields); });
  });
}

std::vector<api::Taint> taints_of(const Json& node) {
  std::vector<api::Taint> found;
  for (const Json& taint : api::items_at(node, {"spec", "taints"})) {
    if (const auto effect = taint_effect(api::text_at(taint, {"effect"}))) {
      found.push_back({api::text_at(taint, {"key"}), api::text_at(taint, {"value"}), *effect});
    }
  }
  return found;
}

std::vector<api::Toleration> tolerations_of(const Json& pod_spec) {
  std::vector<api::Toleration> found;
  for (const Json& entry : api::items_at(pod_spec, {"tolerations"})) {
    api::Toleration toleration;
    toleration.key = api::text_at(entry, {"key"});
    toleration.exists = api::text_at(entry, {"operator"}) == "Exists";
    toleration.value = api::text_at(entry, {"value"});
    toleration.effect = taint_effect(api::text_at(entry, {"effect"}));
    toleration.toleration_seconds = seconds_at(entry, {"tolerationSeconds"});
    found.push_back(std::move(toleration));
  }
  return found;
}

std::optional<std::int64_t> scaled_value(const Json* value, std::int64_t total, bool round_up) {
  if (!value) return std::nullopt;
  if (value->is_number_integer())
    return std::clamp<std::int64_t>(value->get<std::int64_t>(), 0, std::numeric_limits<std::int32_t>::max());
  if (!value->is_string()) return std::nullopt;
  const auto& text = value->get_ref<const std::string&>();
  if (!text.ends_with('%')) return std::nullopt;
  const auto percent = base::parse_number<int>(std::string_view(text).substr(0, text.size() - 1));
  if (!percent || *percent < 0) return std::nullopt;
  const double exact = static_cast<double>(*percent) * static_cast<double>(total) / 100.0;
  return static_cast<std::int64_t>(round_up ? std::ceil(exact) : std::floor(exact));
}

std::vector<std::string> strings_at(const Json& object, std::initializer_list<std::string_view> path) {
  std::vector<std::string> found;
  for (const Json& item : api::items_at(object, path)) {
    if (item.is_string()) found.push_back(item.get<std::string>());
  }
  return found;
}

std::optional<base::TimePoint> time_at(const Json& object, std::initializer_list<std::string_view> path) {
  return base::parse_time(api::text_at(object, path));
}

std::optional<base::seconds> seconds_at(const Json& object, std::initializer_list<std::string_view> path) {
  const auto number = api::number_at(object, path);
  if (!number) return std::nullopt;
  return base::seconds(std::clamp<std::int64_t>(*number, 0, 315'360'000));
}

std::int64_t count_at(const Json& object, std::initializer_list<std::string_view> path, std::int64_t otherwise) {
  return std::clamp<std::int64_t>(api::number_at(object, path).value_or(otherwise), 0, 100'000);
}

Json& object_in(Json& parent, std::string_view name) {
  if (!parent.is_object()) parent = Json::object();
  Json& member = parent[std::string(name)];
  if (!member.is_object()) member = Json::object();
  return member;
}

Json& array_in(Json& parent, std::string_view name) {
  if (!parent.is_object()) parent = Json::object();
  Json& member = parent[std::string(name)];
  if (!member.is_array()) member = Json::array();
  return member;
}

bool put_condition(Json& status, Json next) {
  Json& conditions = array_in(status, "conditions");
  for (Json& known : conditions) {
    if (api::text_at(known, {"type"}) != api::text_at(next, {"type"})) continue;
    if (api::text_at(known, {"status"}) == api::text_at(next, {"status"}))
      next["lastTransitionTime"] = api::text_at(known, {"lastTransitionTime"});
    if (known == next) return false;
    known = std::move(next);
    return true;
  }
  conditions.push_back(std::move(next));
  return true;
}

bool put_condition(Json& status, std::string_view type, std::string_view value, std::string_view reason,
                   std::string_view message, base::TimePoint now) {
  Json next = {{"type", type}, {"status", value}, {"lastTransitionTime", base::format_time(now)}};
  if (!reason.empty()) next["reason"] = reason;
  if (!message.empty()) next["message"] = message;
  return put_condition(status, std::move(next));
}

const Json* condition_of(const Json& object, std::string_view type) {
  for (const Json& condition : api::items_at(object, {"status", "conditions"})) {
    if (api::text_at(condition, {"type"}) == type) return &condition;
  }
  return nullptr;
}

std::string condition_value(const Json& object, std::string_view type, std::string_view member) {
  const Json* condition = condition_of(object, type);
  return condition ? api::text_at(*condition, {member}) : std::string();
}

bool same_at(const Json& a, const Json& b, std::initializer_list<std::string_view> path) {
  const Json* left = api::find_at(a, path);
  const Json* right = api::find_at(b, path);
  return left && right ? *left == *right : left == right;
}

Json controller_reference(const Json& owner) {
  return {{"apiVersion", api::text_at(owner, {"apiVersion"})},
          {"kind", api::text_at(owner, {"kind"})},
          {"name", api::text_at(owner, {"metadata", "name"})},
          {"uid", uid_of(owner)},
          {"controller", true},
          {"blockOwnerDeletion", true}};
}

Json pod_from_template(const Json& owner, const Json* pod_template) {
  static const Json kNone = Json::object();
  const Json& from = pod_template && pod_template->is_object() ? *pod_template : kNone;
  Json metadata = Json::object();
  for (const char* field : {"labels", "annotations", "finalizers"}) {
    if (const Json* value = api::find_at(from, {"metadata", field})) metadata[field] = *value;
  }
  metadata["namespace"] = api::text_at(owner, {"metadata", "namespace"});
  metadata["generateName"] = api::text_at(owner, {"metadata", "name"}) + "-";
  metadata["ownerReferences"] = Json::array({controller_reference(owner)});
  const Json* spec = api::find_at(from, {"spec"});
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", std::move(metadata)},
          {"spec", spec && spec->is_object() ? *spec : kNone}};
}

std::string template_hash(const Json& pod_template) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::uint64_t hash = 1469598103934665603ULL;
  for (const char c : api::to_json_text(pod_template)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  std::string text;
  for (int i = 0; i < 10; ++i, hash /= kAlphabet.size()) text += kAlphabet[hash % kAlphabet.size()];
  return text;
}

}  // namespace simulator
