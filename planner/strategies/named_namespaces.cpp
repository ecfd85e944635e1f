#include "planner/strategies/named_namespaces.hpp"

#include <nlohmann/json.hpp>

#include "api/json/json.hpp"

namespace strategies {
namespace {

void collect_list(const api::Json& filter, const char* list, const api::FieldPath& at,
                  std::vector<NamedNamespace>& found) {
  const auto names = filter.find(list);
  if (names == filter.end() || !names->is_array()) return;
  for (std::size_t i = 0; i < names->size(); ++i) {
    if (!names->at(i).is_string()) continue;
    found.push_back(
        {at.field(list).index(i).text(), names->at(i).get<std::string>(), std::string_view(list) == "exclude"});
  }
}

void collect_namespaces(const api::Json& json, const api::FieldPath& at, std::vector<NamedNamespace>& found) {
  if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) collect_namespaces(json.at(i), at.index(i), found);
  }
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.items()) {
    const api::FieldPath here = at.field(key);
    if ((key == "namespaces" || key == "evictableNamespaces") && value.is_object()) {
      for (const char* list : {"include", "exclude"}) collect_list(value, list, here, found);
    } else {
      collect_namespaces(value, here, found);
    }
  }
}

}  // namespace

void append_named_namespaces(const api::Json& args, const api::FieldPath& path, std::vector<NamedNamespace>& found) {
  collect_namespaces(args, path, found);
}

}  // namespace strategies
