#include "simulator/json_access.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace simulator {

using api::Json;

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

bool is_nested_deeper(const Json& value, int limit) {
  if (value.is_primitive()) return false;
  if (limit == 0) return true;
  return std::ranges::any_of(value, [limit](const Json& child) { return is_nested_deeper(child, limit - 1); });
}

}  // namespace simulator
