#include "api/json/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>

#include "api/meta/names.hpp"
#include "base/clock.hpp"

namespace api {
namespace {

/// std::regex recurses once per character; longer texts are refused without matching.
constexpr std::size_t kMaxMatched = 1024;
constexpr std::size_t kCachedPatterns = 256;
constexpr std::size_t kMaxShown = 200;
constexpr double kExactIntegers = 9007199254740992.0;  // 2^53

const Json* keyword(const Json& schema, std::string_view name) {
  if (!schema.is_object()) return nullptr;
  const auto at = schema.find(name);
  return at == schema.end() || at->is_null() ? nullptr : &*at;
}

bool flag(const Json& schema, std::string_view name) {
  const Json* found = keyword(schema, name);
  return found != nullptr && found->is_boolean() && found->get<bool>();
}

std::optional<double> number(const Json& schema, std::string_view name) {
  const Json* found = keyword(schema, name);
  return found != nullptr && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

std::string shown(const Json& value) {
  std::string text = to_json_text(value);
  return text.size() <= kMaxShown ? text : text.substr(0, kMaxShown) + "…";
}

std::string number_text(double value) {
  return value == std::floor(value) && std::abs(value) < kExactIntegers
             ? fmt::format("{}", static_cast<std::int64_t>(value))
             : fmt::format("{}", value);
}

bool is_whole(const Json& value) {
  if (value.is_number_integer()) return true;
  if (!value.is_number_float()) return false;
  const auto real = value.get<double>();
  return real == std::floor(real) && std::abs(real) < kExactIntegers;
}

/// Returns the JSON type with Kubernetes' name.
std::string_view type_name(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_object()) return "object";
  if (value.is_array()) return "array";
  if (value.is_string()) return "string";
  if (value.is_boolean()) return "boolean";
  return is_whole(value) ? "integer" : "number";
}

/// Returns nullptr for an unsupported pattern.
const std::regex* compiled(const std::string& pattern) {
  thread_local std::map<std::string, std::optional<std::regex>> cache;
  if (cache.size() > kCachedPatterns) cache.clear();
  auto [at, is_new] = cache.try_emplace(pattern);
  if (is_new) {
    try {
      at->second.emplace(pattern, std::regex::ECMAScript | std::regex::optimize);
    } catch (const std::regex_error&) {
      at->second.reset();
    }
  }
  return at->second ? &*at->second : nullptr;
}

bool matches_pattern(const std::string& text, const std::string& pattern) {
  const std::regex* regex = compiled(pattern);
  if (regex == nullptr || text.size() > kMaxMatched) return false;
  try {
    return std::regex_search(text, *regex);
  } catch (const std::regex_error&) {  // too complex
    return false;
  }
}

/// Validates by walking schema and value together.
class SchemaCheck {
 public:
  explicit SchemaCheck(FieldErrors& errors) : errors_(errors) {}

  void check(const Json& schema, const Json& value, const FieldPath& at) {
    if (!schema.is_object()) return;
    if (value.is_null() && flag(schema, "nullable")) return;
    if (!has_type(schema, value, at)) return;  // other checks need the right type
    check_enum(schema, value, at);
    if (value.is_number()) check_number(schema, value, at);
    if (value.is_string()) check_string(schema, value, at);
    if (value.is_array()) check_array(schema, value, at);
    if (value.is_object()) check_object(schema, value, at);
    check_junctors(schema, value, at);
  }

 private:
  void complain(const FieldPath& at, std::string message) { errors_.push_back({at.text(), std::move(message)}); }

  void complain_value(const FieldPath& at, const Json& value, std::string_view what) {
    complain(at, fmt::format("Invalid value: {}: {} in body {}", shown(value), at.text(), what));
  }

  bool has_type(const Json& schema, const Json& value, const FieldPath& at) {
    if (flag(schema, "x-kubernetes-int-or-string")) {
      if (value.is_string() || is_whole(value)) return true;
      complain(at, fmt::format("Invalid value: \"{0}\": {1} in body must be of type integer,string: \"{0}\"",
                               type_name(value), at.text()));
      return false;
    }
    const Json* type = keyword(schema, "type");
    if (type == nullptr || !type->is_string()) return true;
    const auto& wanted = type->get_ref<const std::string&>();
    const std::string_view have = type_name(value);
    if (have == wanted || (wanted == "number" && have == "integer")) return true;
    complain(at,
             fmt::format("Invalid value: \"{0}\": {1} in body must be of type {2}: \"{0}\"", have, at.text(), wanted));
    return false;
  }

  void check_enum(const Json& schema, const Json& value, const FieldPath& at) {
    const Json* allowed = keyword(schema, "enum");
    if (allowed == nullptr || !allowed->is_array() || std::ranges::find(*allowed, value) != allowed->end()) return;
    std::string names;
    for (const Json& name : *allowed) names += (names.empty() ? "" : ", ") + shown(name);
    complain(at, fmt::format("Unsupported value: {}: supported values: {}", shown(value), names));
  }

  void check_number(const Json& schema, const Json& value, const FieldPath& at) {
    const auto real = value.get<double>();
    const auto least = number(schema, "minimum");
    const auto most = number(schema, "maximum");
    const bool above_least = flag(schema, "exclusiveMinimum");
    const bool below_most = flag(schema, "exclusiveMaximum");
    if (least && (real < *least || (above_least && real == *least))) {
      complain_value(
          at, value,
          fmt::format("should be greater than {}{}", above_least ? "" : "or equal to ", number_text(*least)));
    }
    if (most && (real > *most || (below_most && real == *most))) {
      complain_value(at, value,
                     fmt::format("should be less than {}{}", below_most ? "" : "or equal to ", number_text(*most)));
    }
    if (const auto factor = number(schema, "multipleOf"); factor && *factor > 0 && std::fmod(real, *factor) != 0) {
      complain_value(at, value, fmt::format("should be a multiple of {}", number_text(*factor)));
    }
    const Json* format = keyword(schema, "format");
    using Small = std::numeric_limits<std::int32_t>;
    if (format != nullptr && *format == "int32" && (real < Small::min() || real > Small::max())) {
      complain_value(at, value, "must be of type int32");
    }
  }

  void check_string(const Json& schema, const Json& value, const FieldPath& at) {
    const auto& text = value.get_ref<const std::string&>();
    const auto length = static_cast<double>(length_in_characters(text));
    if (const auto most = number(schema, "maxLength"); most && length > *most) {
      complain(at, fmt::format("Too long: may not be longer than {}", number_text(*most)));
    }
    if (const auto least = number(schema, "minLength"); least && length < *least) {
      complain_value(at, value, fmt::format("should be at least {} chars long", number_text(*least)));
    }
    const Json* pattern = keyword(schema, "pattern");
    if (pattern != nullptr && pattern->is_string() && !matches_pattern(text, pattern->get_ref<const std::string&>())) {
      complain_value(at, value, fmt::format("should match '{}'", pattern->get<std::string>()));
    }
    const Json* format = keyword(schema, "format");
    if (format != nullptr && *format == "date-time" && !base::parse_time(text)) {
      complain_value(at, value, "must be of type date-time: " + shown(value));
    }
  }

  void check_array(const Json& schema, const Json& value, const FieldPath& at) {
    const auto size = static_cast<double>(value.size());
    if (const auto most = number(schema, "maxItems"); most && size > *most) {
      complain(at, fmt::format("Too many: {}: must have at most {} items", value.size(), number_text(*most)));
      return;
    }
    if (const auto least = number(schema, "minItems"); least && size < *least) {
      complain_value(at, value.size(), fmt::format("should have at least {} items", number_text(*least)));
    }
    check_duplicates(schema, value, at);
    const Json* items = keyword(schema, "items");
    if (items == nullptr) return;
    for (std::size_t i = 0; i < value.size(); ++i) check(*items, value[i], at.index(i));
  }

  /// Lists of type "set" must have unique values, lists of type "map" unique keys.
  void check_duplicates(const Json& schema, const Json& value, const FieldPath& at) {
    const Json* type = keyword(schema, "x-kubernetes-list-type");
    const bool is_set = (type != nullptr && *type == "set") || flag(schema, "uniqueItems");
    const bool is_map = type != nullptr && *type == "map";
    if (!is_set && !is_map) return;
    std::map<Json, std::size_t> seen;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const Json key = is_map ? key_of(schema, value[i]) : value[i];
      if (!seen.emplace(key, i).second) complain(at.index(i), fmt::format("Duplicate value: {}", shown(key)));
    }
  }

  static Json key_of(const Json& schema, const Json& item) {
    Json key = Json::object();
    const Json* names = keyword(schema, "x-kubernetes-list-map-keys");
    if (names == nullptr || !names->is_array() || !item.is_object()) return key;
    for (const Json& name : *names) {
      if (name.is_string() && item.contains(name.get<std::string>()))
        key[name.get<std::string>()] = item[name.get<std::string>()];
    }
    return key;
  }

  void check_object(const Json& schema, const Json& value, const FieldPath& at) {
    const auto size = static_cast<double>(value.size());
    if (const auto most = number(schema, "maxProperties"); most && size > *most) {
      complain(at, fmt::format("Too many: {}: must have at most {} items", value.size(), number_text(*most)));
      return;
    }
    if (const auto least = number(schema, "minProperties"); least && size < *least) {
      complain_value(at, value, fmt::format("should have at least {} properties", number_text(*least)));
    }
    if (const Json* required = keyword(schema, "required"); required != nullptr && required->is_array()) {
      for (const Json& name : *required) {
        if (name.is_string() && !value.contains(name.get<std::string>())) {
          complain(at.field(name.get<std::string>()), "Required value");
        }
      }
    }
    const Json* properties = keyword(schema, "properties");
    const Json* additional = keyword(schema, "additionalProperties");
    for (const auto& [name, member] : value.items()) {
      if (const Json* known = properties == nullptr ? nullptr : keyword(*properties, name)) {
        check(*known, member, at.field(name));
      } else if (additional != nullptr) {
        check(*additional, member, at.field(name));
      }
    }
  }

  static bool holds(const Json& schema, const Json& value, const FieldPath& at) {
    FieldErrors inner;
    SchemaCheck(inner).check(schema, value, at);
    return inner.empty();
  }

  static std::size_t count_holding(const Json& schemas, const Json& value, const FieldPath& at) {
    return static_cast<std::size_t>(std::ranges::count_if(schemas, [&](const Json& s) { return holds(s, value, at); }));
  }

  void check_junctors(const Json& schema, const Json& value, const FieldPath& at) {
    if (const Json* all = keyword(schema, "allOf"); all != nullptr && all->is_array()) {
      for (const Json& part : *all) check(part, value, at);
    }
    const auto complain_schema = [&](std::string_view what) {
      complain(at, fmt::format("Invalid value: {}: \"{}\" must {}", shown(value), at.text(), what));
    };
    if (const Json* any = keyword(schema, "anyOf");
        any != nullptr && any->is_array() && count_holding(*any, value, at) == 0) {
      complain_schema("validate at least one schema (anyOf)");
    }
    if (const Json* one = keyword(schema, "oneOf");
        one != nullptr && one->is_array() && count_holding(*one, value, at) != 1) {
      complain_schema("validate one and only one schema (oneOf)");
    }
    if (const Json* none = keyword(schema, "not"); none != nullptr && holds(*none, value, at)) {
      complain_schema("not validate the schema (not)");
    }
  }

  FieldErrors& errors_;
};

/// Calls each(schema, member, path) for the members and items of `value` that have a schema.
template <typename F>
void for_each_child(const Json& schema, Json& value, F&& each) {
  if (value.is_array()) {
    const Json* items = keyword(schema, "items");
    for (std::size_t i = 0; items != nullptr && i < value.size(); ++i) each(*items, value[i], std::to_string(i));
  }
  if (!value.is_object()) return;
  const Json* properties = keyword(schema, "properties");
  const Json* additional = keyword(schema, "additionalProperties");
  for (auto& [name, member] : value.items()) {
    const Json* known = properties == nullptr ? nullptr : keyword(*properties, name);
    if (known == nullptr) known = additional;
    if (known != nullptr && known->is_object()) each(*known, member, name);
  }
}

/// Returns true if the schema keeps every member of an object.
bool keeps_unknown(const Json& schema) {
  if (flag(schema, "x-kubernetes-preserve-unknown-fields")) return true;
  const Json* additional = keyword(schema, "additionalProperties");
  return additional != nullptr && (additional->is_object() || *additional == true);
}

}  // namespace

FieldErrors validate_schema(const Json& schema, const Json& value, const FieldPath& at) {
  FieldErrors errors;
  SchemaCheck(errors).check(schema, value, at);
  return errors;
}

void apply_defaults(const Json& schema, Json& value) {
  const Json* properties = keyword(schema, "properties");
  if (value.is_object() && properties != nullptr && properties->is_object()) {
    for (const auto& [name, property] : properties->items()) {
      const Json* standard = keyword(property, "default");
      if (standard == nullptr) continue;
      const bool is_refused_null = value.contains(name) && value[name].is_null() && !flag(property, "nullable");
      if (!value.contains(name) || is_refused_null) value[name] = *standard;
    }
  }
  for_each_child(schema, value,
                 [](const Json& part, Json& member, const std::string&) { apply_defaults(part, member); });
}

std::vector<std::string> prune(const Json& schema, Json& value, const FieldPath& at) {
  std::vector<std::string> pruned;
  if (value.is_object() && !keeps_unknown(schema)) {
    const Json* properties = keyword(schema, "properties");
    for (auto member = value.begin(); member != value.end();) {
      if (properties != nullptr && properties->contains(member.key())) {
        ++member;
        continue;
      }
      pruned.push_back(at.field(member.key()).text());
      member = value.erase(member);
    }
  }
  const bool in_array = value.is_array();
  for_each_child(schema, value, [&](const Json& part, Json& member, const std::string& name) {
    const FieldPath here = in_array ? at.index(std::stoul(name)) : at.field(name);
    for (std::string& path : prune(part, member, here)) pruned.push_back(std::move(path));
  });
  return pruned;
}

}  // namespace api
