#pragma once

/// Lenient reading of JSON objects for metadata and status: a field of a wrong type counts as absent. Also writes such
/// fields. Internal to api/.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json/json.hpp"
#include "api/meta/condition.hpp"
#include "api/meta/object_meta.hpp"

namespace api::lenient {

/// Returns the member if it is an object, otherwise nullptr. The following functions do so for other types. `json` may
/// have any type.
const Json* object(const Json& json, std::string_view name);
const Json* array(const Json& json, std::string_view name);
std::string text(const Json& json, std::string_view name);
bool boolean(const Json& json, std::string_view name);
std::int64_t integer(const Json& json, std::string_view name);
/// Clamps to the range of int32.
std::int32_t small_integer(const Json& json, std::string_view name);
std::optional<std::int32_t> optional_integer(const Json& json, std::string_view name);
/// Returns a finite number, or nullopt.
std::optional<double> number(const Json& json, std::string_view name);
std::optional<base::TimePoint> time(const Json& json, std::string_view name);
/// Returns the time, or the epoch if absent.
base::TimePoint time_or_epoch(const Json& json, std::string_view name);

ObjectMeta meta(const Json& object);
std::optional<OwnerReference> owner(const Json& json, std::string_view name);
std::vector<Condition> conditions(const Json& status);

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

/// The put functions write a member only if it is not empty.
void put_text(Json& json, const char* name, const std::string& text);
void put_time(Json& json, const char* name, const std::optional<base::TimePoint>& time);
void put_optional(Json& json, const char* name, const std::optional<std::int32_t>& number);
void put_optional(Json& json, const char* name, const std::optional<double>& number);

Json encode_owner(const OwnerReference& owner);
Json encode_conditions(const std::vector<Condition>& conditions);
/// Encodes name, namespace, labels, annotations, finalizers and ownerReferences: the metadata of a create.
Json encode_meta(const ObjectMeta& meta);

}  // namespace api
