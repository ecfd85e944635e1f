#include "api/json/json_access.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace api {

const Json* find_at(const Json& object, std::initializer_list<std::string_view> path) {
  const Json* at = &object;
  for (const std::string_view name : path) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(name);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at;
}

std::string text_at(const Json& object, std::initializer_list<std::string_view> path) {
  const Json* found = find_at(object, path);
  return found && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<std::int64_t> number_at(const Json& object, std::initializer_list<std::string_view> path) {
  const Json* found = find_at(object, path);
  return found && found->is_number_integer() ? std::optional(found->get<std::int64_t>()) : std::nullopt;
}

bool flag_at(const Json& object, std::initializer_list<std::string_view> path) {
  const Json* found = find_at(object, path);
  return found && found->is_boolean() && found->get<bool>();
}

const Json& items_at(const Json& object, std::initializer_list<std::string_view> path) {
  static const Json kNone = Json::array();
  const Json* found = find_at(object, path);
  return found && found->is_array() ? *found : kNone;
}

void copy_member(const Json& from, Json& to, std::string_view name) {
  const auto wanted = from.find(name);
  const auto there = to.find(name);
  if (wanted == from.end()) {
    if (there != to.end()) to.erase(there);
  } else if (there == to.end()) {
    to[std::string(name)] = *wanted;
  } else if (*there != *wanted) {
    *there = *wanted;
  }
}

namespace {

/// Sets all members of `edited` to those of `stored`, except the members in `but`.
void keep_members(const Json& stored, Json& edited, std::initializer_list<std::string_view> but) {
  const auto is_free = [&](const std::string& name) { return std::ranges::find(but, name) != but.end(); };
  for (auto member = edited.begin(); member != edited.end();) {
    const bool stays = is_free(member.key()) || stored.contains(member.key());
    member = stays ? std::next(member) : edited.erase(member);
  }
  for (const auto& [name, value] : stored.items()) {
    if (!is_free(name)) copy_member(stored, edited, name);
  }
}

}  // namespace

void revert_all_but_status(const Json& stored, Json& edited) {
  keep_members(stored.at("metadata"), edited["metadata"], {"managedFields"});
  keep_members(stored, edited, {"metadata", "status"});
}

bool is_nested_deeper(const Json& value, int limit) {
  if (value.is_primitive()) return false;
  if (limit == 0) return true;
  return std::ranges::any_of(value, [limit](const Json& child) { return is_nested_deeper(child, limit - 1); });
}

}  // namespace api
