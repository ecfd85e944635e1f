#include "api/json/lenient.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "api/meta/well_known.hpp"

namespace api::lenient {
namespace {

StringMap string_map(const Json& json, std::string_view name, bool annotations) {
  const Json* map = object(json, name);
  if (map == nullptr) return {};
  std::vector<StringMap::Entry> entries;
  for (const auto& [key, value] : map->items()) {
    if (!value.is_string()) continue;
    const auto& text = value.get_ref<const std::string&>();
    if (!annotations || keeps_annotation(key, text.size())) entries.emplace_back(key, text);
  }
  return StringMap::shared(std::move(entries));
}

OwnerReference owner_of(const Json& json) {
  return {text(json, "apiVersion"), text(json, "kind"), text(json, "name"), text(json, "uid"),
          boolean(json, "controller")};
}

Condition condition_of(const Json& json) {
  Condition condition;
  condition.type = text(json, "type");
  const std::string status = text(json, "status");
  condition.status = status == "True"    ? ConditionStatus::kTrue
                     : status == "False" ? ConditionStatus::kFalse
                                         : ConditionStatus::kUnknown;
  condition.reason = text(json, "reason");
  condition.message = text(json, "message");
  condition.observed_generation = integer(json, "observedGeneration");
  condition.last_transition_time = time_or_epoch(json, "lastTransitionTime");
  return condition;
}

}  // namespace

const Json* object(const Json& json, std::string_view name) {
  const Json* found = find_at(json, {name});
  return found != nullptr && found->is_object() ? found : nullptr;
}

const Json* array(const Json& json, std::string_view name) {
  const Json* found = find_at(json, {name});
  return found != nullptr && found->is_array() ? found : nullptr;
}

std::string text(const Json& json, std::string_view name) { return text_at(json, {name}); }

bool boolean(const Json& json, std::string_view name) { return flag_at(json, {name}); }

std::int64_t integer(const Json& json, std::string_view name) {
  const Json* found = find_at(json, {name});
  if (found == nullptr || !found->is_number_integer()) return 0;
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (found->is_number_unsigned() && found->get<std::uint64_t>() > kMax) return 0;
  return found->get<std::int64_t>();
}

std::int32_t small_integer(const Json& json, std::string_view name) {
  using Limits = std::numeric_limits<std::int32_t>;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(integer(json, name), Limits::min(), Limits::max()));
}

std::optional<std::int32_t> optional_integer(const Json& json, std::string_view name) {
  const Json* found = find_at(json, {name});
  if (found == nullptr || !found->is_number_integer()) return std::nullopt;
  return small_integer(json, name);
}

std::optional<double> number(const Json& json, std::string_view name) {
  const Json* found = find_at(json, {name});
  if (found == nullptr || !found->is_number()) return std::nullopt;
  const auto value = found->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<base::TimePoint> time(const Json& json, std::string_view name) {
  const Json* found = find_at(json, {name});
  if (found == nullptr || !found->is_string()) return std::nullopt;
  return base::parse_time(found->get_ref<const std::string&>());
}

base::TimePoint time_or_epoch(const Json& json, std::string_view name) {
  return time(json, name).value_or(base::TimePoint{});
}

ObjectMeta meta(const Json& json) {
  ObjectMeta meta;
  const Json* metadata = object(json, "metadata");
  if (metadata == nullptr) return meta;
  meta.ns = text(*metadata, "namespace");
  meta.name = text(*metadata, "name");
  meta.uid = text(*metadata, "uid");
  meta.resource_version = text(*metadata, "resourceVersion");
  meta.generation = integer(*metadata, "generation");
  meta.creation_timestamp = time_or_epoch(*metadata, "creationTimestamp");
  meta.deletion_timestamp = time(*metadata, "deletionTimestamp");
  if (const Json* grace = find_at(*metadata, {"deletionGracePeriodSeconds"}); grace && grace->is_number_integer())
    meta.deletion_grace_period_seconds = integer(*metadata, "deletionGracePeriodSeconds");
  meta.labels = string_map(*metadata, "labels", false);
  meta.annotations = string_map(*metadata, "annotations", true);
  if (const Json* owners = array(*metadata, "ownerReferences")) {
    for (const Json& item : *owners) {
      if (meta.owner_references.size() >= kMaxOwners) break;
      if (!item.is_object()) continue;
      if (OwnerReference owner = owner_of(item); keeps_owner(owner)) meta.owner_references.push_back(std::move(owner));
    }
  }
  if (const Json* finalizers = array(*metadata, "finalizers")) {
    for (const Json& item : *finalizers) {
      if (item.is_string()) meta.finalizers.push_back(item.get<std::string>());
    }
  }
  meta.share_owners();
  return meta;
}

std::optional<OwnerReference> owner(const Json& json, std::string_view name) {
  const Json* found = object(json, name);
  return found == nullptr ? std::nullopt : std::optional(owner_of(*found));
}

std::vector<Condition> conditions(const Json& status) {
  std::vector<Condition> conditions;
  if (const Json* list = array(status, "conditions")) {
    for (const Json& item : *list) {
      if (item.is_object()) conditions.push_back(condition_of(item));
    }
  }
  return conditions;
}

Json readable_spec(const Json& spec, Json start, const std::function<bool(const Json& spec)>& decodes) {
  if (!spec.is_object()) return start;
  for (const auto& [name, value] : spec.items()) {
    if (start.contains(name)) continue;
    Json more = start;
    more[name] = value;
    if (decodes(more)) start = std::move(more);
  }
  return start;
}

}  // namespace api::lenient

namespace api {

bool keeps_annotation(std::string_view key, std::size_t value_size) {
  return value_size <= kMaxAnnotationValue && key != well_known::kLastApplied;
}

bool keeps_owner(const OwnerReference& owner) {
  constexpr std::size_t kMaxName = 253;
  constexpr std::size_t kMaxUid = 128;
  return owner.name.size() <= kMaxName && owner.kind.size() <= kMaxName && owner.api_version.size() <= 2 * kMaxName &&
         owner.uid.size() <= kMaxUid;
}

std::string wire_time(base::TimePoint time) {
  const bool whole = time.time_since_epoch() % base::seconds(1) == base::Duration::zero();
  return whole ? base::format_time(time) : base::format_micro_time(time);
}

void put_text(Json& json, const char* name, const std::string& text) {
  if (!text.empty()) json[name] = text;
}

void put_time(Json& json, const char* name, const std::optional<base::TimePoint>& time) {
  if (time) json[name] = wire_time(*time);
}

void put_optional(Json& json, const char* name, const std::optional<std::int32_t>& number) {
  if (number) json[name] = *number;
}

void put_optional(Json& json, const char* name, const std::optional<double>& number) {
  if (number) json[name] = *number;
}

Json encode_owner(const OwnerReference& owner) {
  Json json = {{"apiVersion", owner.api_version}, {"kind", owner.kind}, {"name", owner.name}, {"uid", owner.uid}};
  if (owner.controller) json["controller"] = true;
  return json;
}

Json encode_conditions(const std::vector<Condition>& conditions) {
  Json list = Json::array();
  for (const Condition& condition : conditions) {
    Json json = Json::object();  // set members one by one: an initializer list would copy them twice
    json["type"] = condition.type;
    json["status"] = to_string(condition.status);
    json["lastTransitionTime"] = wire_time(condition.last_transition_time);
    // Omitted if empty: API servers before 1.21 built with newer Go refuse "" in custom resources.
    put_text(json, "reason", condition.reason);
    put_text(json, "message", condition.message);
    if (condition.observed_generation != 0) json["observedGeneration"] = condition.observed_generation;
    list.push_back(std::move(json));
  }
  return list;
}

Json encode_meta(const ObjectMeta& meta) {
  Json json = Json::object();
  json["name"] = meta.name;
  if (!meta.ns.empty()) json["namespace"] = meta.ns;
  for (const auto& [key, value] : meta.labels) json["labels"][key] = value;
  for (const auto& [key, value] : meta.annotations) json["annotations"][key] = value;
  if (!meta.finalizers.empty()) json["finalizers"] = meta.finalizers;
  for (const OwnerReference& owner : meta.owner_references) json["ownerReferences"].push_back(encode_owner(owner));
  return json;
}

}  // namespace api
