#pragma once

/// Lenient reading of JSON objects, for metadata and status: a wrong type counts as absent; and the writing of the
/// same. Internal to api/.

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

/// The member if it is an object (a list, a string…), else nullptr. `json` may be of any type.
const Json* object(const Json& json, std::string_view name);
const Json* array(const Json& json, std::string_view name);
std::string text(const Json& json, std::string_view name);
bool boolean(const Json& json, std::string_view name);
std::int64_t integer(const Json& json, std::string_view name);
/// Clamped to the range of int32.
std::int32_t small_integer(const Json& json, std::string_view name);
std::optional<std::int32_t> optional_integer(const Json& json, std::string_view name);
/// A finite one.
std::optional<double> number(const Json& json, std::string_view name);
std::optional<base::TimePoint> time(const Json& json, std::string_view name);
/// The epoch when absent.
base::TimePoint time_or_epoch(const Json& json, std::string_view name);

/// metadata of `object`.
ObjectMeta meta(const Json& object);
std::optional<OwnerReference> owner(const Json& json, std::string_view name);
std::vector<Condition> conditions(const Json& status);

/// Of a spec that does not decode, what of it does: `start` and every member of `spec` with which it still decodes, in
/// order of their names. `decodes` tries a whole spec. A spec that is no object gives `start`.
Json readable_spec(const Json& spec, Json start, const std::function<bool(const Json& spec)>& decodes);

}  // namespace api::lenient

namespace api {

/// Annotation values above this are dropped on decoding: nobody here reads them, and a cache holds 100,000 pods.
inline constexpr std::size_t kMaxAnnotationValue = 8192;
/// False for kubectl's last-applied-configuration and for huge values.
bool keeps_annotation(std::string_view key, std::size_t value_size);

/// Of the owners of one object so many are kept on decoding, and only those that an API server can have made: it bounds
/// neither their number nor their names, and whoever may make pods or Evacuations writes what is cached here.
inline constexpr std::size_t kMaxOwners = 64;
bool keeps_owner(const OwnerReference& owner);

/// RFC 3339 in UTC: whole seconds when there is no fraction, else six decimals. Reads back equal.
std::string wire_time(base::TimePoint time);

/// Write a member only when there is something to write.
void put_text(Json& json, const char* name, const std::string& text);
void put_time(Json& json, const char* name, const std::optional<base::TimePoint>& time);
void put_optional(Json& json, const char* name, const std::optional<std::int32_t>& number);
void put_optional(Json& json, const char* name, const std::optional<double>& number);

Json encode_owner(const OwnerReference& owner);
Json encode_conditions(const std::vector<Condition>& conditions);
/// name, namespace, labels, annotations, finalizers and ownerReferences: what a create may say.
Json encode_meta(const ObjectMeta& meta);

}  // namespace api
