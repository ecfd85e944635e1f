#pragma once

/// Lenient reading of JSON objects for metadata and status: a field of a wrong type counts as absent. Also writes such
/// fields. Internal to api/.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/json/json.hpp"
#include "api/meta/object_meta.hpp"

namespace api::lenient {

/// Reads one value. A value of a wrong type leaves the target unchanged.
void read_value(const Json& json, std::string& to);
void read_value(const Json& json, bool& to);
void read_value(const Json& json, std::int64_t& to);
/// Clamps to the range of int32.
void read_value(const Json& json, std::int32_t& to);
void read_value(const Json& json, std::optional<std::int32_t>& to);
/// Reads a value of a wrong type as 0.
void read_value(const Json& json, std::optional<std::int64_t>& to);
/// Reads a finite number.
void read_value(const Json& json, std::optional<double>& to);
void read_value(const Json& json, double& to);
void read_value(const Json& json, base::TimePoint& to);
void read_value(const Json& json, std::optional<base::TimePoint>& to);
/// Reads text in Go's duration syntax.
void read_value(const Json& json, base::milliseconds& to);
/// Reads an object of texts, sorted by key.
void read_value(const Json& json, std::vector<std::pair<std::string, std::string>>& to);

/// Appends the elements of an array that have the right type.
template <typename T>
void read_value(const Json& json, std::vector<T>& to) {
  if (!json.is_array()) return;
  for (const Json& item : json) {
    std::optional<T> value;
    if constexpr (std::is_same_v<T, std::string>) {
      if (item.is_string()) value = item.get<std::string>();
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      if (item.is_number_integer()) value = item.get<std::int64_t>();
    } else {
      read_value(item, value);
    }
    if (value) to.push_back(*std::move(value));
  }
}

/// Returns the member if it is an object, otherwise nullptr. `json` may have any type.
const Json* object(const Json& json, std::string_view name);

ObjectMeta meta(const Json& object);

/// Returns the parts of a spec that decode: `start` plus every member of `spec` with which it still decodes, tried in
/// order of names. `decodes` tries a whole spec. Returns `start` if `spec` is not an object.
Json readable_spec(const Json& spec, Json start, const std::function<bool(const Json& spec)>& decodes);

}  // namespace api::lenient

namespace api {

/// Larger annotation values are dropped on decoding, because they are never read and a cache contains 100,000 pods.
inline constexpr std::size_t kMaxAnnotationValue = 8192;
/// Returns false for kubectl's last-applied-configuration and for values above kMaxAnnotationValue.
bool keeps_annotation(std::string_view key, std::size_t value_size);

/// Maximum number of owners kept per object. Further owners are dropped, and so are owners with longer names than an
/// API server can have created. The API server limits neither in ownerReferences, so a user who may create pods or
/// Evacuations could otherwise control the size of the cache.
inline constexpr std::size_t kMaxOwners = 64;
bool keeps_owner(const OwnerReference& owner);

/// Formats RFC 3339 in UTC: whole seconds if there is no fraction, otherwise six decimals. Parsing returns an equal
/// time.
std::string wire_time(base::TimePoint time);

/// Writes a member only if it is not empty.
void put_text(Json& json, const char* name, const std::string& text);

/// Encodes a value of a field: a time as wire_time(), a duration in Go's syntax, seconds as a number, texts with names
/// as an object.
template <typename T>
Json encode_value(const T& value) {
  return value;
}
inline Json encode_value(base::TimePoint time) { return wire_time(time); }
inline Json encode_value(base::Duration duration) { return base::format_duration(duration); }
inline Json encode_value(base::milliseconds duration) { return base::format_duration(duration); }
inline Json encode_value(base::seconds duration) { return duration.count(); }
Json encode_value(const std::vector<base::TimePoint>& times);
Json encode_value(const std::vector<std::pair<std::string, std::string>>& texts);

/// Encodes name, namespace, labels, annotations, finalizers and ownerReferences: the metadata of a create.
Json encode_meta(const ObjectMeta& meta);

}  // namespace api
