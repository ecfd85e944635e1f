#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/registry/json_path.hpp"
#include "simulator/registry/output.hpp"
#include "simulator/registry/table_columns.hpp"

/// Tables, which `kubectl get` requests: rows of cells instead of objects.

namespace simulator {
namespace {

using api::Json;
using base::TimePoint;

Json definition(std::string_view name, std::string_view type, std::string_view description, std::int64_t priority) {
  return {{"name", name},
          {"type", type},
          {"format", name == "Name" ? "name" : ""},
          {"description", description},
          {"priority", priority}};
}

/// Returns the cell of a custom column: dates as ages, integers unchanged, several values joined.
Json custom_cell(const Json& object, const Json& column, TimePoint now) {
  const std::vector<const Json*> found = evaluate_json_path(object, api::text_at(column, {"jsonPath"}));
  if (found.empty()) return nullptr;
  const std::string type = api::text_at(column, {"type"});
  if (type == "date") return age_text(found[0]->is_string() ? found[0]->get<std::string>() : "", now);
  if (found.size() == 1 && type != "string") return *found[0];
  std::string text;
  for (const Json* value : found) {
    text += (text.empty() ? "" : ",") + (value->is_string() ? value->get<std::string>() : api::to_json_text(*value));
  }
  return text;
}

Json row_object(const ServedResource& resource, const Json& stored, const Output& output) {
  switch (output.include) {
    case Output::Include::kNone: return nullptr;
    case Output::Include::kObject: return served_form(resource, stored);
    case Output::Include::kMetadata:
      return {{"kind", "PartialObjectMetadata"}, {"apiVersion", "meta.k8s.io/v1"}, {"metadata", stored.at("metadata")}};
  }
  std::abort();
}

Json age_column() { return {{"name", "Age"}, {"type", "date"}, {"jsonPath", ".metadata.creationTimestamp"}}; }

Json custom_definitions(const Json& columns) {
  Json definitions = Json::array({definition("Name", "string", "Name must be unique within a namespace.", 0)});
  for (const Json& column : columns) {
    definitions.push_back(definition(api::text_at(column, {"name"}), api::text_at(column, {"type"}),
                                     api::text_at(column, {"description"}),
                                     api::number_at(column, {"priority"}).value_or(0)));
  }
  return definitions;
}

}  // namespace

Json table_of(const ServedResource& resource, const std::vector<Object>& stored, const Output& output) {
  const bool own_columns = resource.custom && resource.custom->columns.is_array() && !resource.custom->columns.empty();
  const Json custom = own_columns ? resource.custom->columns : Json::array({age_column()});
  const Columns& columns = columns_of(resource);
  Json definitions = Json::array();
  if (resource.custom) {
    definitions = custom_definitions(custom);
  } else {
    for (const Column& column : columns)
      definitions.push_back(definition(column.name, column.type, "", column.priority));
  }
  Json rows = Json::array();
  for (const Object& object : stored) {
    Json cells = Json::array();
    if (resource.custom) {
      cells.push_back(api::text_at(*object, {"metadata", "name"}));
      for (const Json& column : custom) cells.push_back(custom_cell(*object, column, output.now));
    } else {
      for (const Column& column : columns) cells.push_back(column.cell(*object, output.now));
    }
    Json row = {{"cells", std::move(cells)}};
    if (Json whole = row_object(resource, *object, output); !whole.is_null()) row["object"] = std::move(whole);
    rows.push_back(std::move(row));
  }
  const std::string version = stored.size() == 1 ? api::text_at(*stored[0], {"metadata", "resourceVersion"}) : "";
  return {{"kind", "Table"},
          {"apiVersion", "meta.k8s.io/v1"},
          {"metadata", {{"resourceVersion", version}}},
          {"columnDefinitions", std::move(definitions)},
          {"rows", std::move(rows)}};
}

}  // namespace simulator
