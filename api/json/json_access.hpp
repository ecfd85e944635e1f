#pragma once

/// Reading JSON that somebody else wrote: wrong types read as absent, nothing throws. And carrying parts of it over.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "api/json/json.hpp"

namespace api {

/// The value at that path of field names, or nullptr.
const Json* find_at(const Json& object, std::initializer_list<std::string_view> path);
/// The string there, or "".
std::string text_at(const Json& object, std::initializer_list<std::string_view> path);
/// The integer there.
std::optional<std::int64_t> number_at(const Json& object, std::initializer_list<std::string_view> path);
/// The boolean there, or false.
bool flag_at(const Json& object, std::initializer_list<std::string_view> path);
/// The array there, or an empty one.
const Json& items_at(const Json& object, std::initializer_list<std::string_view> path);

/// `to` gets that member of `from`, or loses its own when `from` has none. Copies only what differs.
void carry_member(const Json& from, Json& to, std::string_view name);
/// What a write of the status may change of an object: status and metadata.managedFields; all else stays as stored.
/// REQUIRES: both are objects with metadata objects.
void keep_all_but_status(const Json& stored, Json& edited);

/// True if arrays and objects nest deeper than `limit`. Such JSON must not reach recursive code.
bool is_nested_deeper(const Json& value, int limit);

}  // namespace api
