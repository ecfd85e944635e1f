#include "simulator/registry/custom_objects.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "api/json/schema.hpp"
#include "simulator/cel/rules.hpp"

namespace simulator {
namespace {

using api::Json;

constexpr const char* kServerFields[] = {"apiVersion", "kind", "metadata"};

/// Calls `work` on the object without the fields of every kind, which the CRD's schema does not describe.
template <typename Work>
auto without_server_fields(Json& object, const Work& work) {
  Json kept = Json::object();
  for (const char* field : kServerFields) {
    if (auto found = object.find(field); found != object.end()) kept[field] = std::move(*found);
    object.erase(field);
  }
  auto result = work(object);
  for (auto& [field, value] : kept.items()) object[field] = std::move(value);
  return result;
}

}  // namespace

std::vector<std::string> prune_custom(const ServedResource& resource, Json& object) {
  const Json& schema = resource.custom->schema;
  if (!schema.is_object()) return {};
  return without_server_fields(object, [&](Json& rest) { return api::prune(schema, rest); });
}

void default_custom(const ServedResource& resource, Json& object) {
  const Json& schema = resource.custom->schema;
  if (schema.is_object()) api::apply_defaults(schema, object);
}

api::FieldErrors validate_custom(const ServedResource& resource, const Json* before, const Json& object) {
  const Json& schema = resource.custom->schema;
  if (!schema.is_object()) return {};
  auto errors = api::validate_schema(schema, object);
  if (!errors.empty() || before == nullptr) return errors.empty() ? cel::check_rules(schema, object, nullptr) : errors;
  Json old = *before;
  api::apply_defaults(schema, old);  // stored objects get defaults when they are read
  return cel::check_rules(schema, object, &old);
}

}  // namespace simulator
