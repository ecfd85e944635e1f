#include "simulator/registry/json_path.hpp"

#include "base/text.hpp"
#include "simulator/text.hpp"

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

namespace simulator {
namespace {

using api::Json;
using Nodes = std::vector<const Json*>;

void step_into_field(Nodes& nodes, const std::string& name) {
  Nodes next;
  for (const Json* node : nodes) {
    if (!node->is_object()) continue;
    if (const auto found = node->find(name); found != node->end()) next.push_back(&*found);
  }
  nodes = std::move(next);
}

void step_into_index(Nodes& nodes, std::ptrdiff_t index) {
  Nodes next;
  for (const Json* node : nodes) {
    if (!node->is_array()) continue;
    const auto size = static_cast<std::ptrdiff_t>(node->size());
    const auto at = index < 0 ? size + index : index;
    if (at >= 0 && at < size) next.push_back(&(*node)[static_cast<std::size_t>(at)]);
  }
  nodes = std::move(next);
}

template <typename Keep>
void step_into_items(Nodes& nodes, const Keep& keep) {
  Nodes next;
  for (const Json* node : nodes) {
    if (!node->is_array()) continue;
    for (const Json& item : *node) {
      if (keep(item)) next.push_back(&item);
    }
  }
  nodes = std::move(next);
}

std::string_view unquoted(std::string_view text) {
  text = trim(text);
  const bool quoted = text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front();
  return quoted ? text.substr(1, text.size() - 2) : text;
}

/// Applies a filter such as `?(@.type=="Ready")`. Returns false if it is not supported.
bool step_by_filter(Nodes& nodes, std::string_view filter) {
  if (!filter.starts_with("?(@.") || !filter.ends_with(")")) return false;
  filter = filter.substr(4, filter.size() - 5);
  const auto equals = filter.find("==");
  if (equals == std::string_view::npos) return false;
  const std::string name(unquoted(filter.substr(0, equals)));
  const std::string value(unquoted(filter.substr(equals + 2)));
  step_into_items(nodes, [&](const Json& item) {
    if (!item.is_object() || !item.contains(name)) return false;
    const Json& member = item.at(name);
    return member.is_string() ? member.get_ref<const std::string&>() == value : member.dump() == value;
  });
  return true;
}

bool step_into_brackets(Nodes& nodes, std::string_view inside) {
  if (inside == "*") {
    step_into_items(nodes, [](const Json&) { return true; });
    return true;
  }
  if (inside.starts_with("?")) return step_by_filter(nodes, inside);
  if (const auto index = base::parse_number<std::ptrdiff_t>(inside)) {
    step_into_index(nodes, *index);
    return true;
  }
  const std::string_view name = unquoted(inside);
  if (name.size() == inside.size()) return false;
  step_into_field(nodes, std::string(name));
  return true;
}

/// Consumes a field name up to an unescaped '.' or '['.
std::string take_name(std::string_view& path) {
  std::string name;
  while (!path.empty() && path.front() != '.' && path.front() != '[') {
    if (path.front() == '\\' && path.size() > 1) path.remove_prefix(1);
    name += path.front();
    path.remove_prefix(1);
  }
  return name;
}

}  // namespace

Nodes evaluate_json_path(const Json& object, std::string_view path) {
  if (path.starts_with("{") && path.ends_with("}")) path = path.substr(1, path.size() - 2);
  if (path.starts_with("$")) path.remove_prefix(1);
  Nodes nodes{&object};
  while (!path.empty() && !nodes.empty()) {
    if (path.front() == '[') {
      const auto end = path.find(']');
      if (end == std::string_view::npos || !step_into_brackets(nodes, path.substr(1, end - 1))) return {};
      path.remove_prefix(end + 1);
      continue;
    }
    if (path.front() == '.') path.remove_prefix(1);
    if (path.starts_with("[")) continue;
    const std::string name = take_name(path);
    if (name.empty()) return {};
    step_into_field(nodes, name);
  }
  return nodes;
}

}  // namespace simulator
