#include "api/json/lenient.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/json/fields.hpp"
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

/// Returns nullopt for a fraction, and 0 for an integer beyond the range.
std::optional<std::int64_t> integer_of(const Json& json) {
  if (!json.is_number_integer()) return std::nullopt;
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > kMax) return 0;
  return json.get<std::int64_t>();
}

}  // namespace

const Json* object(const Json& json, std::string_view name) {
  const Json* found = find_at(json, {name});
  return found != nullptr && found->is_object() ? found : nullptr;
}

void read_value(const Json& json, std::string& to) {
  if (json.is_string()) to = json.get_ref<const std::string&>();
}

void read_value(const Json& json, bool& to) {
  if (json.is_boolean()) to = json.get<bool>();
}

void read_value(const Json& json, std::int64_t& to) { to = integer_of(json).value_or(to); }

void read_value(const Json& json, std::int32_t& to) {
  std::optional<std::int32_t> number;
  read_value(json, number);
  to = number.value_or(to);
}

void read_value(const Json& json, std::optional<std::int32_t>& to) {
  using Limits = std::numeric_limits<std::int32_t>;
  if (const auto number = integer_of(json))
    to = static_cast<std::int32_t>(std::clamp<std::int64_t>(*number, Limits::min(), Limits::max()));
}

void read_value(const Json& json, std::optional<std::int64_t>& to) { to = integer_of(json).value_or(0); }

void read_value(const Json& json, std::optional<double>& to) {
  if (!json.is_number()) return;
  if (const auto value = json.get<double>(); std::isfinite(value)) to = value;
}

void read_value(const Json& json, double& to) {
  std::optional<double> number;
  read_value(json, number);
  to = number.value_or(to);
}

void read_value(const Json& json, base::TimePoint& to) {
  std::optional<base::TimePoint> time;
  read_value(json, time);
  to = time.value_or(to);
}

void read_value(const Json& json, std::optional<base::TimePoint>& to) {
  if (json.is_string()) to = base::parse_time(json.get_ref<const std::string&>());
}

void read_value(const Json& json, base::milliseconds& to) {
  const auto duration = json.is_string() ? base::parse_duration(json.get_ref<const std::string&>()) : std::nullopt;
  if (duration) to = std::chrono::duration_cast<base::milliseconds>(*duration);
}

void read_value(const Json& json, std::vector<std::pair<std::string, std::string>>& to) {
  if (!json.is_object()) return;
  for (const auto& [name, value] : json.items()) {
    if (value.is_string()) to.emplace_back(name, value.get<std::string>());
  }
}

ObjectMeta meta(const Json& json) {
  ObjectMeta meta;
  const Json* metadata = object(json, "metadata");
  if (metadata == nullptr) return meta;
  read(*metadata, "namespace", meta.ns);
  read(*metadata, "name", meta.name);
  read(*metadata, "uid", meta.uid);
  read(*metadata, "resourceVersion", meta.resource_version);
  read(*metadata, "generation", meta.generation);
  read(*metadata, "creationTimestamp", meta.creation_timestamp);
  read(*metadata, "deletionTimestamp", meta.deletion_timestamp);
  if (const Json* grace = find_at(*metadata, {"deletionGracePeriodSeconds"}); grace && grace->is_number_integer())
    read(*grace, meta.deletion_grace_period_seconds);
  meta.labels = string_map(*metadata, "labels", false);
  meta.annotations = string_map(*metadata, "annotations", true);
  for (const Json& item : items_at(*metadata, {"ownerReferences"})) {
    if (meta.owner_references.size() >= kMaxOwners) break;
    if (!item.is_object()) continue;
    OwnerReference owner;
    read(item, owner);
    if (keeps_owner(owner)) meta.owner_references.push_back(std::move(owner));
  }
  read(*metadata, "finalizers", meta.finalizers);
  meta.share_owners();
  return meta;
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

Json encode_value(const std::vector<base::TimePoint>& times) {
  Json list = Json::array();
  for (const base::TimePoint time : times) list.push_back(wire_time(time));
  return list;
}

Json encode_value(const std::vector<std::pair<std::string, std::string>>& texts) {
  Json json = Json::object();
  for (const auto& [name, text] : texts) json[name] = text;
  return json;
}

Json encode_meta(const ObjectMeta& meta) {
  Json json = Json::object();
  json["name"] = meta.name;
  if (!meta.ns.empty()) json["namespace"] = meta.ns;
  for (const auto& [key, value] : meta.labels) json["labels"][key] = value;
  for (const auto& [key, value] : meta.annotations) json["annotations"][key] = value;
  if (!meta.finalizers.empty()) json["finalizers"] = meta.finalizers;
  for (const OwnerReference& owner : meta.owner_references) json["ownerReferences"].push_back(encode_fields(owner));
  return json;
}

}  // namespace api
