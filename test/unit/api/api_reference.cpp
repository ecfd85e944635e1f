#include "api_reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json/yaml.hpp"

namespace api_reference {
namespace {

using api::Json;

std::string text_of(const Json& schema, const char* name) {
  const auto at = schema.find(name);
  return at != schema.end() && at->is_string() ? at->get<std::string>() : std::string();
}

bool refuses_everything(const Json& schema) {
  const auto rules = schema.find("x-kubernetes-validations");
  if (rules == schema.end()) return false;
  return std::ranges::any_of(*rules, [](const Json& rule) { return rule.at("rule") == "false"; });
}

void drop_rules(Json& node) {
  if (node.is_object() && node.contains("x-kubernetes-validations")) {
    if (refuses_everything(node)) node["not"] = Json::object();
    node.erase("x-kubernetes-validations");
  }
  if (!node.is_structured()) return;
  for (Json& child : node) drop_rules(child);
}

/// Returns the type such as "string", "list of objects", "map of strings" or "number or percentage".
std::string type_of(const Json& schema) {
  if (schema.contains("x-kubernetes-int-or-string")) return "number or percentage";
  const std::string type = text_of(schema, "type");
  if (type == "array") return "list of " + type_of(schema.at("items")) + "s";
  if (type == "object" && schema.contains("additionalProperties")) {
    return "map of " + type_of(schema.at("additionalProperties")) + "s";
  }
  if (text_of(schema, "format") == "date-time") return "time";
  return type.empty() ? "boolean or object" : type;
}

std::string number_of(const Json& number) { return number.is_null() ? "" : api::to_json_text(number); }

/// Returns limits such as "1 … 20", "at most 253 characters" or the values of an enum.
std::string bounds_of(const Json& schema) {
  std::vector<std::string> parts;
  if (schema.contains("enum")) {
    std::string names;
    for (const Json& name : schema.at("enum")) names += (names.empty() ? "`" : " · `") + name.get<std::string>() + "`";
    parts.push_back(names);
  }
  if (schema.contains("minimum") || schema.contains("maximum")) {
    parts.push_back(
        fmt::format("{} … {}", number_of(schema.value("minimum", Json())), number_of(schema.value("maximum", Json()))));
  }
  if (schema.contains("maxLength") && !schema.contains("enum") && !schema.contains("x-kubernetes-int-or-string")) {
    parts.push_back(fmt::format("≤ {} characters", number_of(schema.at("maxLength"))));
  }
  if (schema.contains("maxItems")) parts.push_back(fmt::format("≤ {} items", number_of(schema.at("maxItems"))));
  if (schema.contains("maxProperties"))
    parts.push_back(fmt::format("≤ {} keys", number_of(schema.at("maxProperties"))));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string default_of(const Json& schema) {
  const auto at = schema.find("default");
  if (at == schema.end() || at->is_object()) return "";
  return "`" + (at->is_string() ? at->get<std::string>() : api::to_json_text(*at)) + "`";
}

/// Escapes the text for a table cell.
std::string cell(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) text.insert(at, "\\");
  return text;
}

/// Writes members in alphabetical order, because the schema is a JSON object without an order of its own.
void write_fields(const Json& schema, const std::string& path, std::string& page) {
  if (text_of(schema, "type") == "array") return write_fields(schema.at("items"), path + "[]", page);
  if (!schema.contains("properties")) return;
  const Json required = schema.value("required", Json::array());
  for (const auto& [name, member] : schema.at("properties").items()) {
    const std::string here = fmt::format("{}.{}", path, name);
    const bool is_required = std::ranges::find(required, Json(name)) != required.end();
    page += fmt::format("| `{}` | {}{} | {} | {} | {} |\n", here, type_of(member), is_required ? ", required" : "",
                        default_of(member), cell(bounds_of(member)), cell(text_of(member, "description")));
    if (!refuses_everything(member)) write_fields(member, here, page);
  }
}

void write_columns(const Json& version, std::string& page) {
  page += "| column | from | meaning |\n|---|---|---|\n";
  for (const Json& column : version.at("additionalPrinterColumns")) {
    std::string name = column.at("name");
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
    page += fmt::format("| {}{} | `{}` | {} |\n", name, column.value("priority", 0) > 0 ? " (wide)" : "",
                        column.at("jsonPath").get<std::string>(), cell(text_of(column, "description")));
  }
}

void write_rules(const Json& schema, const std::string& path, std::string& page) {
  if (!schema.is_object()) return;
  if (schema.contains("x-kubernetes-validations") && !refuses_everything(schema)) {
    for (const Json& rule : schema.at("x-kubernetes-validations")) {
      page += fmt::format("* `{}`: {}\n", path, rule.at("message").get<std::string>());
    }
  }
  if (schema.contains("properties")) {
    for (const auto& [name, member] : schema.at("properties").items())
      write_rules(member, fmt::format("{}.{}", path, name), page);
  }
  if (schema.contains("items")) write_rules(schema.at("items"), path + "[]", page);
}

void write_kind(const Json& crd, std::string& page) {
  const Json& spec = crd.at("spec");
  const Json& names = spec.at("names");
  const Json& version = spec.at("versions").at(0);
  const Json& schema = version.at("schema").at("openAPIV3Schema");
  const Json& properties = schema.at("properties");
  page += fmt::format("\n## {}\n\n{}\n\n", names.at("kind").get<std::string>(), text_of(schema, "description"));
  page +=
      fmt::format("`{}/{}`, {}, short name `{}`, category `{}`.\n\n", text_of(spec, "group"), text_of(version, "name"),
                  text_of(spec, "scope") == "Namespaced" ? "namespaced" : "cluster-scoped",
                  names.at("shortNames").at(0).get<std::string>(), names.at("categories").at(0).get<std::string>());
  write_columns(version, page);
  for (const char* part : {"spec", "status"}) {
    if (!properties.contains(part)) continue;
    page += fmt::format("\n### {}: {}\n\n{}\n\n", names.at("kind").get<std::string>(), part,
                        text_of(properties.at(part), "description"));
    page += "| field | type | default | bounds | meaning |\n|---|---|---|---|---|\n";
    write_fields(properties.at(part), part, page);
  }
  if (!properties.contains("spec")) return;
  page += "\nRules that reach over several fields or over time:\n\n";
  write_rules(properties.at("spec"), "spec", page);
}

}  // namespace

Json without_cel(Json crd) {
  drop_rules(crd);
  return crd;
}

std::string legacy_file(const Json& crd, const std::string& name) {
  return fmt::format(
             "# Generated from crds/{} by `make generate`: for servers before 1.25, which have no CEL rules. Do not "
             "edit.\n",
             name) +
         api::to_yaml(without_cel(crd));
}

std::string reference_page(const std::vector<Json>& crds) {
  std::string page =
      "# API reference\n\nFor authors of policies and Evacuations: every field. Generated from `crds/` by `make "
      "generate`; do not edit. Times are RFC 3339 in UTC, durations Go's (`90s`, `5m`, `1h30m`).\nUnknown fields in "
      "`spec` are errors. \"Not supported yet\" means that the field is refused, never ignored.\n";
  for (const Json& crd : crds) write_kind(crd, page);
  return page;
}

}  // namespace api_reference
