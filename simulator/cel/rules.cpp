#include "simulator/cel/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "api/json/json_access.hpp"
#include "simulator/cel/evaluate.hpp"

namespace simulator::cel {
namespace {

using api::FieldErrors;
using api::FieldPath;
using api::Json;

constexpr std::size_t kCachedRules = 512;
constexpr const char* kRules = "x-kubernetes-validations";

struct Rule {
  base::Result<Expression> expression;
  bool is_transition;
};

/// Parses a rule. Results are cached per thread.
std::shared_ptr<const Rule> compiled(const std::string& text) {
  thread_local std::map<std::string, std::shared_ptr<const Rule>> cache;
  if (cache.size() > kCachedRules) cache.clear();
  auto& rule = cache[text];
  if (rule) return rule;
  auto expression = parse(text);
  const bool is_transition = expression && reads(*expression, "oldSelf");
  return rule = std::make_shared<const Rule>(Rule{std::move(expression), is_transition});
}

const Json* member_of(const Json& object, const std::string& name) {
  if (!object.is_object()) return nullptr;
  const auto at = object.find(name);
  return at == object.end() || at->is_null() ? nullptr : &*at;
}

/// Returns the schema of a field, nullptr if the schema has none.
const Json* schema_of(const Json& schema, const std::string& field) {
  const Json* properties = member_of(schema, "properties");
  const Json* known = properties == nullptr ? nullptr : member_of(*properties, field);
  if (known != nullptr) return known;
  const Json* additional = member_of(schema, "additionalProperties");
  return additional != nullptr && additional->is_object() ? additional : nullptr;
}

std::string_view type_name(const Json& value) {
  if (value.is_object()) return "object";
  if (value.is_array()) return "array";
  if (value.is_string()) return "string";
  if (value.is_boolean()) return "boolean";
  return value.is_number_integer() ? "integer" : "number";
}

/// Calls each(rule, text) for the rules of one schema.
template <typename F>
void for_each_rule(const Json& schema, F&& each) {
  const Json* rules = member_of(schema, kRules);
  if (rules == nullptr || !rules->is_array()) return;
  for (const Json& rule : *rules) {
    if (const std::string text = api::text_at(rule, {"rule"}); !text.empty()) each(rule, text);
  }
}

/// Returns the item of `before` with the same keys as `item`. Returns nullptr if there is none or the list has no keys.
const Json* item_before(const Json& schema, const Json& item, const Json* before) {
  const Json* keys = member_of(schema, "x-kubernetes-list-map-keys");
  if (before == nullptr || keys == nullptr || !before->is_array()) return nullptr;
  for (const Json& old : *before) {
    const bool same = std::ranges::all_of(*keys, [&](const Json& key) {
      const Json* now = member_of(item, key);
      const Json* then = member_of(old, key);
      return now != nullptr && then != nullptr && *now == *then;
    });
    if (same) return &old;
  }
  return nullptr;
}

/// Traverses schema, value and previous value in parallel and evaluates the rules.
class RuleCheck {
 public:
  void check(const Json& schema, const Json& value, const Json* before, const FieldPath& at) {
    if (!schema.is_object() || value.is_null()) return;
    for_each_rule(schema, [&](const Json& rule, const std::string& text) { judge(rule, text, value, before, at); });
    if (value.is_array()) check_items(schema, value, before, at);
    if (value.is_object()) check_members(schema, value, before, at);
  }
  FieldErrors errors;

 private:
  void judge(const Json& rule, const std::string& text, const Json& value, const Json* before, const FieldPath& at) {
    const auto made = compiled(text);
    if (made->is_transition && before == nullptr) return;
    if (!made->expression) return complain(at, value, "compilation failed: " + made->expression.error().message);
    Scope scope{{"self", Value::view_of(value)}};
    if (before != nullptr) scope.emplace("oldSelf", Value::view_of(*before));
    const auto fine = holds(*made->expression, scope);
    if (!fine)
      return complain(at, value, fmt::format("{} evaluating rule: {}", fine.error().message, message_of(rule, text)));
    if (!*fine) complain(at, value, message_of(rule, text));
  }

  static std::string message_of(const Json& rule, const std::string& text) {
    const std::string message = api::text_at(rule, {"message"});
    return message.empty() ? "failed rule: " + text : message;
  }

  void complain(const FieldPath& at, const Json& value, const std::string& message) {
    errors.push_back({at.text(), fmt::format("Invalid value: \"{}\": {}", type_name(value), message)});
  }

  void check_items(const Json& schema, const Json& value, const Json* before, const FieldPath& at) {
    const Json* items = member_of(schema, "items");
    if (items == nullptr) return;
    for (std::size_t i = 0; i < value.size(); ++i)
      check(*items, value[i], item_before(schema, value[i], before), at.index(i));
  }

  void check_members(const Json& schema, const Json& value, const Json* before, const FieldPath& at) {
    for (const auto& [name, member] : value.items()) {
      const Json* known = schema_of(schema, name);
      const Json* old = before == nullptr ? nullptr : member_of(*before, name);
      if (known != nullptr) check(*known, member, old, at.field(name));
    }
  }
};

/// Schema of each variable, nullptr if unknown.
using Schemas = std::map<std::string, const Json*, std::less<>>;

/// Resolves members of variables with a known schema, and collects members that the schema lacks.
class FieldCheck {
 public:
  explicit FieldCheck(const Json& schema) : schemas_{{"self", &schema}, {"oldSelf", &schema}} {}

  /// Returns the schema of the result, nullptr if unknown.
  const Json* follow(const Expression& e) {
    if (e.kind == Kind::kName) {
      const auto at = schemas_.find(e.text);
      return at == schemas_.end() ? nullptr : at->second;
    }
    if (e.kind == Kind::kMacro) return follow_macro(e);
    const Json* first = e.operands.empty() ? nullptr : follow(e.operands[0]);
    for (std::size_t i = 1; i < e.operands.size(); ++i) follow(e.operands[i]);
    if (e.kind == Kind::kMember || e.kind == Kind::kHas) return member(e, first);
    return nullptr;
  }

  std::set<std::string> unknown;

 private:
  const Json* member(const Expression& e, const Json* of) {
    if (of == nullptr || api::text_at(*of, {"type"}) != "object") return nullptr;
    const Json* found = schema_of(*of, e.text);
    if (found == nullptr && of->value("x-kubernetes-preserve-unknown-fields", false)) return nullptr;
    if (found == nullptr) unknown.insert(e.text);
    return e.kind == Kind::kHas ? nullptr : found;
  }

  const Json* follow_macro(const Expression& e) {
    const Json* list = follow(e.operands[0]);
    const auto outer = schemas_.find(e.variable);
    const bool hides = outer != schemas_.end();
    const Json* hidden = hides ? outer->second : nullptr;
    schemas_[e.variable] = list == nullptr ? nullptr : member_of(*list, "items");
    follow(e.operands[1]);
    schemas_.erase(e.variable);
    if (hides) schemas_[e.variable] = hidden;
    return e.text == "filter" ? list : nullptr;
  }

  Schemas schemas_;
};

/// Adds apiVersion, kind and metadata, which every kind has and a schema may omit, at the root.
Json with_root_fields(Json schema) {
  for (const char* field : {"apiVersion", "kind", "metadata"}) {
    if (!schema["properties"].contains(field)) schema["properties"][field] = Json::object();
  }
  return schema;
}

void find_problems(const Json& schema, const FieldPath& at, FieldErrors& errors) {
  if (!schema.is_object()) return;
  for_each_rule(schema, [&](const Json&, const std::string& text) {
    const auto rule = compiled(text);
    if (!rule->expression) return errors.push_back({at.text(), rule->expression.error().message + ": " + text});
    FieldCheck fields(schema);
    fields.follow(*rule->expression);
    for (const std::string& name : fields.unknown)
      errors.push_back({at.text(), fmt::format("undefined field '{}': {}", name, text)});
  });
  if (const Json* properties = member_of(schema, "properties"); properties != nullptr && properties->is_object()) {
    for (const auto& [name, inner] : properties->items()) find_problems(inner, at.field(name), errors);
  }
  for (const char* inner : {"items", "additionalProperties"}) {
    if (const Json* found = member_of(schema, inner)) find_problems(*found, at, errors);
  }
}

Json visible(const Json& object) {
  Json seen = object;
  Json metadata = Json::object();
  for (const char* field : {"name", "generateName"}) {
    if (const std::string text = api::text_at(object, {"metadata", field}); !text.empty()) metadata[field] = text;
  }
  seen["metadata"] = std::move(metadata);
  return seen;
}

}  // namespace

FieldErrors check_rules(const Json& schema, const Json& object, const Json* before) {
  RuleCheck walk;
  const Json now = visible(object);
  const Json then = before == nullptr ? Json() : visible(*before);
  walk.check(schema, now, before == nullptr ? nullptr : &then, {});
  return std::move(walk.errors);
}

FieldErrors problems_of_rules(const Json& schema) {
  FieldErrors errors;
  if (schema.is_object()) find_problems(with_root_fields(schema), {}, errors);
  return errors;
}

}  // namespace simulator::cel
