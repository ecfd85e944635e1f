#pragma once

/// Lenient access to untrusted JSON: a wrong type counts as absent, nothing throws. Also copies parts between objects.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "api/json/json.hpp"

namespace api {

/// Returns the value at this path of field names, or nullptr.
const Json* find_at(const Json& object, std::initializer_list<std::string_view> path);
/// Returns the string at `path`, or "".
std::string text_at(const Json& object, std::initializer_list<std::string_view> path);
/// Returns the integer at `path`, or nullopt.
std::optional<std::int64_t> number_at(const Json& object, std::initializer_list<std::string_view> path);
/// Returns the boolean at `path`, or false.
bool flag_at(const Json& object, std::initializer_list<std::string_view> path);
/// Returns the array at `path`, or an empty one.
const Json& items_at(const Json& object, std::initializer_list<std::string_view> path);

/// Sets member `name` of `to` to that of `from`, or removes it if `from` has none. Copies only if they differ.
void copy_member(const Json& from, Json& to, std::string_view name);
/// Reverts all changes except those that a status write may make: keeps status and metadata.managedFields of `edited`.
/// Both must be objects with metadata objects.
void revert_all_but_status(const Json& stored, Json& edited);

/// Returns true if arrays and objects are nested deeper than `limit`. Such JSON must not be passed to recursive code.
bool is_nested_deeper(const Json& value, int limit);

}  // namespace api
