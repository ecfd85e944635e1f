#include <fmt/format.h>

#include "api/json/json_access.hpp"
#include "simulator/api/core.hpp"
#include "simulator/cel/rules.hpp"

namespace simulator {
namespace {

using api::FieldErrors;
using api::Json;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

Json definition_condition(const char* type, bool holds, const char* reason, const std::string& message,
                          const std::string& now) {
  return {{"type", type},
          {"status", holds ? "True" : "False"},
          {"reason", reason},
          {"message", message},
          {"lastTransitionTime", now}};
}

/// Reports invalid CEL rules and references to unknown fields when the CRD is created rather than when an object is
/// validated.
void check_rules_of(const Json& versions, FieldErrors& errors) {
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const Json* schema = api::find_at(versions[i], {"schema", "openAPIV3Schema"});
    for (const api::FieldError& problem : cel::problems_of_rules(*schema)) {
      const std::string path = fmt::format("spec.versions[{}].schema.openAPIV3Schema[{}]", i, problem.path);
      errors.push_back({path, "Invalid value: rule: compilation failed: " + problem.message});
    }
  }
}

FieldErrors validate_definition(const Json& definition) {
  FieldErrors errors;
  const auto require = [&](std::initializer_list<std::string_view> path, const char* text) {
    if (api::text_at(definition, path).empty()) errors.push_back({text, "Required value"});
  };
  require({"spec", "group"}, "spec.group");
  require({"spec", "names", "plural"}, "spec.names.plural");
  require({"spec", "names", "kind"}, "spec.names.kind");
  const std::string scope = api::text_at(definition, {"spec", "scope"});
  if (scope != "Namespaced" && scope != "Cluster") {
    errors.push_back(
        {"spec.scope", fmt::format("Unsupported value: \"{}\": supported values: \"Cluster\", \"Namespaced\"", scope)});
  }
  const std::string wanted =
      api::text_at(definition, {"spec", "names", "plural"}) + "." + api::text_at(definition, {"spec", "group"});
  if (api::text_at(definition, {"metadata", "name"}) != wanted) {
    errors.push_back({"metadata.name", fmt::format("Invalid value: \"{}\": must be spec.names.plural+\".\"+spec.group",
                                                   api::text_at(definition, {"metadata", "name"}))});
  }
  const Json* versions = api::find_at(definition, {"spec", "versions"});
  if (!versions || !versions->is_array() || versions->empty()) {
    errors.push_back({"spec.versions", "Required value"});
    return errors;
  }
  int stored = 0;
  for (std::size_t i = 0; i < versions->size(); ++i) {
    const Json& version = (*versions)[i];
    stored += api::flag_at(version, {"storage"}) ? 1 : 0;
    if (api::text_at(version, {"name"}).empty())
      errors.push_back({fmt::format("spec.versions[{}].name", i), "Required value"});
    if (!api::find_at(version, {"schema", "openAPIV3Schema"})) {
      errors.push_back(
          {fmt::format("spec.versions[{}].schema.openAPIV3Schema", i), "Required value: schemas are required"});
    }
  }
  if (stored != 1)
    errors.push_back({"spec.versions", "Invalid value: must have exactly one version marked as storage version"});
  if (errors.empty()) check_rules_of(*versions, errors);
  return errors;
}

Json stored_versions(const Json& definition) {
  Json names = Json::array();
  for (const Json& version : definition.at("spec").at("versions")) {
    if (api::flag_at(version, {"storage"})) names.push_back(api::text_at(version, {"name"}));
  }
  return names;
}

}  // namespace

bool is_definition(const ServedResource& resource) {
  return resource.group == "apiextensions.k8s.io" && resource.plural == "customresourcedefinitions";
}

CheckResult complete_definition(ApiCore& core, Json& definition) {
  const std::string name = api::text_at(definition, {"metadata", "name"});
  if (FieldErrors errors = validate_definition(definition); !errors.empty()) {
    return invalid_object("apiextensions.k8s.io", "CustomResourceDefinition", name, errors);
  }
  Json& names = definition["spec"]["names"];
  const std::string kind = api::text_at(names, {"kind"});
  if (!names.contains("singular")) names["singular"] = lower(kind);
  if (!names.contains("listKind")) names["listKind"] = kind + "List";
  if (!definition["spec"].contains("conversion")) definition["spec"]["conversion"] = {{"strategy", "None"}};

  const ServedPtr holder = core.registry.conflicting_resource(definition);
  if (api::find_at(definition, {"status", "acceptedNames"}) && definition["status"]["acceptedNames"] == names)
    return base::Done{};
  const std::string now = base::format_time(core.store.clock().now());
  Json status = {{"acceptedNames", names}, {"storedVersions", stored_versions(definition)}};
  if (holder) {
    return Failure{409, "Conflict",
                   fmt::format("customresourcedefinitions \"{}\": the names {} and {} are already served as {}.{}",
                               name, api::text_at(names, {"plural"}), kind, holder->plural, holder->group),
                   nullptr};
  }
  status["conditions"] = Json::array(
      {definition_condition("NamesAccepted", true, "NoConflicts", "no conflicts found", now),
       definition_condition("Established", true, "InitialNamesAccepted", "the initial names have been accepted", now)});
  definition["status"] = std::move(status);
  return base::Done{};
}

}  // namespace simulator
