#include "simulator/cel/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "api/json/strict_object.hpp"
#include "api/meta/names.hpp"

namespace simulator::cel {
namespace {

using api::Json;

bool is_text(const Value& value) { return !value.duration() && value.json().is_string(); }
bool is_number(const Value& value) { return !value.duration() && value.json().is_number(); }
bool is_list(const Value& value) { return !value.duration() && value.json().is_array(); }

std::string type_of(const Value& value) {
  return value.duration() ? std::string("a duration") : std::string(api::kind_of(value.json()));
}

base::Error no_overload(std::string_view what, const Value& left, const Value& right) {
  return base::invalid(fmt::format("no such overload: {} {} {}", type_of(left), what, type_of(right)));
}

/// Returns true if the values are comparable. The API server rejects a CRD with a rule that compares different types.
bool same_type(const Value& left, const Value& right) {
  if (left.duration() || right.duration()) return left.duration().has_value() == right.duration().has_value();
  return (is_number(left) && is_number(right)) || left.json().type() == right.json().type() || left.json().is_null() ||
         right.json().is_null();
}

base::Result<Value> order(std::string_view op, const Value& left, const Value& right) {
  const bool orderable = (left.duration() && right.duration()) || (is_number(left) && is_number(right)) ||
                         (is_text(left) && is_text(right));
  if (!orderable) return no_overload(op, left, right);
  const bool less = left.duration() ? *left.duration() < *right.duration() : left.json() < right.json();
  const bool more = left.duration() ? *right.duration() < *left.duration() : right.json() < left.json();
  if (op == "<") return Value(Json(less));
  if (op == ">") return Value(Json(more));
  return Value(Json(op == "<=" ? !more : !less));
}

base::Result<Value> whole(std::string_view op, std::int64_t left, std::int64_t right) {
  std::int64_t result = 0;
  bool overflow = false;
  if (op == "+") overflow = __builtin_add_overflow(left, right, &result);
  if (op == "-") overflow = __builtin_sub_overflow(left, right, &result);
  if (op == "*") overflow = __builtin_mul_overflow(left, right, &result);
  if (op == "/" || op == "%") {
    if (right == 0) return base::invalid("divide by zero");
    overflow = right == -1;
    result = overflow ? 0 : op == "/" ? left / right : left % right;
  }
  if (overflow) return base::invalid("integer overflow");
  return Value(Json(result));
}

base::Result<Value> real(std::string_view op, double left, double right) {
  if (op == "+") return Value(Json(left + right));
  if (op == "-") return Value(Json(left - right));
  if (op == "*") return Value(Json(left * right));
  if (op == "/") return Value(Json(left / right));
  return base::invalid("no such overload: % of real numbers");
}

base::Result<Value> calculate(std::string_view op, const Value& left, const Value& right) {
  if (is_number(left) && is_number(right)) {
    const bool integers = left.json().is_number_integer() && right.json().is_number_integer();
    return integers ? whole(op, left.json().get<std::int64_t>(), right.json().get<std::int64_t>())
                    : real(op, left.json().get<double>(), right.json().get<double>());
  }
  if (op == "+" && is_text(left) && is_text(right))
    return Value(Json(left.json().get<std::string>() + right.json().get<std::string>()));
  if (op == "+" && is_list(left) && is_list(right)) {
    Json joined = left.json();
    joined.insert(joined.end(), right.json().begin(), right.json().end());
    return Value(Json(std::move(joined)));
  }
  return no_overload(op, left, right);
}

base::Result<Value> is_in(const Value& left, const Value& right) {
  if (is_list(right)) return Value(Json(std::ranges::find(right.json(), left.json()) != right.json().end()));
  if (!right.duration() && right.json().is_object() && is_text(left))
    return Value(Json(right.json().contains(left.json().get<std::string>())));
  return no_overload("in", left, right);
}

base::Result<Value> size_of(const Value& value) {
  if (is_text(value))
    return Value(
        Json(static_cast<std::int64_t>(api::length_in_characters(value.json().get_ref<const std::string&>()))));
  if (!value.duration() && value.json().is_structured())
    return Value(Json(static_cast<std::int64_t>(value.json().size())));
  return base::invalid("no such overload: size of " + type_of(value));
}

base::Result<Value> sum_of(const Value& list) {
  Value sum(Json(std::int64_t{0}));
  for (const Json& each : list.json()) {
    auto next = calculate("+", sum, list.part(each));
    if (!next) return next;
    sum = *std::move(next);
  }
  return sum;
}

base::Result<Value> join(const Value& list, const std::string& separator) {
  std::string text;
  for (std::size_t i = 0; i < list.json().size(); ++i) {
    if (!list.json()[i].is_string()) return base::invalid("no such overload: join() needs a list of strings");
    text += (i > 0 ? separator : "") + list.json()[i].get<std::string>();
  }
  return Value(Json(std::move(text)));
}

base::Result<Value> look_at_text(std::string_view name, const std::string& text, const std::string& part) {
  if (name == "startsWith") return Value(Json(text.starts_with(part)));
  if (name == "endsWith") return Value(Json(text.ends_with(part)));
  if (name == "contains") return Value(Json(text.find(part) != std::string::npos));
  return base::invalid(fmt::format("undeclared reference to '{}'", name));
}

/// Evaluates `left op right` for every operator except && and ||.
base::Result<Value> apply_operator(std::string_view op, const Value& left, const Value& right) {
  if (op == "in") return is_in(left, right);
  if (op == "==" || op == "!=") {
    if (!same_type(left, right)) return no_overload(op, left, right);
    return Value(Json((left == right) == (op == "==")));
  }
  if (op == "<" || op == "<=" || op == ">" || op == ">=") return order(op, left, right);
  return calculate(op, left, right);
}

/// Evaluates size(x), duration(text) or string(x).
base::Result<Value> call_function(std::string_view name, const std::vector<Value>& arguments) {
  if (arguments.size() == 1 && name == "size") return size_of(arguments[0]);
  if (arguments.size() == 1 && name == "string" && is_text(arguments[0])) return arguments[0];
  if (arguments.size() == 1 && name == "string" && is_number(arguments[0]))
    return Value(Json(arguments[0].json().dump()));
  if (arguments.size() == 1 && name == "duration" && is_text(arguments[0])) {
    const auto duration = base::parse_duration(arguments[0].json().get_ref<const std::string&>());
    if (!duration) return base::invalid("invalid duration " + arguments[0].json().dump());
    return Value(*duration);
  }
  return base::invalid(
      fmt::format("undeclared reference to '{}' with {} arguments of these types", name, arguments.size()));
}

/// Evaluates arguments[0].name(arguments[1]…).
base::Result<Value> call_method(std::string_view name, const std::vector<Value>& arguments) {
  const Value& on = arguments[0];
  if (arguments.size() == 1 && name == "size") return size_of(on);
  if (arguments.size() == 1 && name == "sum" && is_list(on)) return sum_of(on);
  if (arguments.size() == 1 && name == "join" && is_list(on)) return join(on, "");
  if (arguments.size() == 2 && name == "join" && is_list(on) && is_text(arguments[1]))
    return join(on, arguments[1].json().get<std::string>());
  if (arguments.size() == 2 && is_text(on) && is_text(arguments[1]))
    return look_at_text(name, on.json().get_ref<const std::string&>(),
                        arguments[1].json().get_ref<const std::string&>());
  return base::invalid(fmt::format("undeclared reference to '{}' of {}", name, type_of(on)));
}

/// Returns what a macro iterates over: the items of a list or the keys of a map.
base::Result<Json> members_of(const Value& value) {
  if (!value.duration() && value.json().is_array()) return value.json();
  if (value.duration() || !value.json().is_object())
    return base::invalid("no such overload: a macro of no list and no map");
  Json keys = Json::array();
  for (const auto& [key, member] : value.json().items()) keys.push_back(key);
  return keys;
}

class Evaluator {
 public:
  explicit Evaluator(Scope scope) : scope_(std::move(scope)) {}

  base::Result<Value> value_of(const Expression& e) {
    switch (e.kind) {
      case Kind::kLiteral: return Value(e.value);
      case Kind::kName: return variable(e.text);
      case Kind::kList: return list(e);
      case Kind::kMap: return map(e);
      case Kind::kMember: return member(e);
      case Kind::kIndex: return element(e);
      case Kind::kHas: return has(e);
      case Kind::kCall: return call(e, call_function);
      case Kind::kMethod: return call(e, call_method);
      case Kind::kMacro: return macro(e);
      case Kind::kNot: return negation(e);
      case Kind::kNegative: return negative(e);
      case Kind::kBinary: return binary(e);
      case Kind::kChoice: return choice(e);
    }
    return base::invalid("unknown expression");
  }

  base::Result<bool> truth_of(const Expression& e) {
    auto value = value_of(e);
    if (!value) return std::move(value).error();
    if (value->duration() || !value->json().is_boolean()) return base::invalid("no such overload: no boolean");
    return value->json().get<bool>();
  }

 private:
  base::Result<Value> variable(const std::string& name) {
    const auto at = scope_.find(name);
    if (at == scope_.end()) return base::invalid(fmt::format("undeclared reference to '{}'", name));
    return at->second;
  }

  base::Result<std::vector<Value>> values_of(const std::vector<Expression>& operands) {
    std::vector<Value> values;
    for (const Expression& each : operands) {
      auto value = value_of(each);
      if (!value) return std::move(value).error();
      values.push_back(*std::move(value));
    }
    return values;
  }

  base::Result<Value> list(const Expression& e) {
    auto values = values_of(e.operands);
    if (!values) return std::move(values).error();
    Json items = Json::array();
    for (const Value& each : *values) items.push_back(each.json());
    return Value(std::move(items));
  }

  base::Result<Value> map(const Expression& e) {
    auto values = values_of(e.operands);
    if (!values) return std::move(values).error();
    Json made = Json::object();
    for (std::size_t i = 0; i + 1 < values->size(); i += 2) {
      if (!(*values)[i].json().is_string()) return base::invalid("no such overload: map keys must be strings");
      made[(*values)[i].json().get<std::string>()] = (*values)[i + 1].json();
    }
    return Value(std::move(made));
  }

  base::Result<Value> member(const Expression& e) {
    auto from = value_of(e.operands[0]);
    if (!from) return from;
    return at(*from, e.text);
  }

  base::Result<Value> element(const Expression& e) {
    auto from = value_of(e.operands[0]);
    if (!from) return from;
    const auto key = value_of(e.operands[1]);
    return key ? at(*from, key->json()) : key;
  }

  static base::Result<Value> at(const Value& from, const Json& key) {
    if (!from.duration() && from.json().is_object() && key.is_string()) {
      const auto found = from.json().find(key.get<std::string>());
      if (found != from.json().end()) return from.part(*found);
      return base::invalid("no such key: " + key.get<std::string>());
    }
    if (!from.duration() && from.json().is_array() && key.is_number_integer()) {
      const auto index = key.get<std::int64_t>();
      if (index >= 0 && index < static_cast<std::int64_t>(from.json().size()))
        return from.part(from.json()[static_cast<std::size_t>(index)]);
      return base::invalid(fmt::format("index out of bounds: {}", index));
    }
    return base::invalid("no such overload: a member of neither a map nor a list");
  }

  base::Result<Value> has(const Expression& e) {
    const auto from = value_of(e.operands[0]);
    if (!from) return from;
    if (from->duration() || !from->json().is_object()) return base::invalid("no such overload: has() needs a map");
    return Value(Json(from->json().contains(e.text)));
  }

  template <typename Function>
  base::Result<Value> call(const Expression& e, Function function) {
    auto values = values_of(e.operands);
    if (!values) return std::move(values).error();
    return function(e.text, *values);
  }

  base::Result<Value> negation(const Expression& e) {
    const auto truth = truth_of(e.operands[0]);
    if (!truth) return truth.error();
    return Value(Json(!*truth));
  }

  base::Result<Value> negative(const Expression& e) {
    const auto value = value_of(e.operands[0]);
    return value ? apply_operator("-", Value(Json(std::int64_t{0})), *value) : value;
  }

  base::Result<Value> choice(const Expression& e) {
    const auto truth = truth_of(e.operands[0]);
    if (!truth) return truth.error();
    return value_of(e.operands[*truth ? 1 : 2]);
  }

  base::Result<Value> binary(const Expression& e) {
    if (e.text == "&&" || e.text == "||") return evaluate_logical(e);
    const auto left = value_of(e.operands[0]);
    if (!left) return left;
    const auto right = value_of(e.operands[1]);
    if (!right) return right;
    return apply_operator(e.text, *left, *right);
  }

  /// Evaluates && or ||. If one side decides the result, an error of the other side is ignored, in either order.
  base::Result<Value> evaluate_logical(const Expression& e) {
    const bool deciding = e.text == "||";
    const auto left = truth_of(e.operands[0]);
    if (left && *left == deciding) return Value(Json(deciding));
    const auto right = truth_of(e.operands[1]);
    if (right && *right == deciding) return Value(Json(deciding));
    if (!left) return left.error();
    if (!right) return right.error();
    return Value(Json(!deciding));
  }

  base::Result<Value> macro(const Expression& e) {
    const auto on = value_of(e.operands[0]);
    if (!on) return on;
    auto members = members_of(*on);
    if (!members) return std::move(members).error();
    const auto outer = scope_.find(e.variable);
    const std::optional<Value> hidden = outer == scope_.end() ? std::nullopt : std::optional(outer->second);
    auto result = run_macro(e, *members);
    scope_.erase(e.variable);
    if (hidden) scope_.insert_or_assign(e.variable, *hidden);
    return result;
  }

  base::Result<Value> run_macro(const Expression& e, const Json& members) {
    if (e.text == "map") return mapped(e, members);
    if (e.text == "all" || e.text == "exists") return quantified(e, members, e.text == "exists");
    Json kept = Json::array();
    for (const Json& each : members) {
      scope_.insert_or_assign(e.variable, Value::view_of(each));
      const auto truth = truth_of(e.operands[1]);
      if (!truth) return truth.error();
      if (*truth) kept.push_back(each);
    }
    return Value(e.text == "filter" ? std::move(kept) : Json(kept.size() == 1));
  }

  base::Result<Value> mapped(const Expression& e, const Json& members) {
    Json made = Json::array();
    for (const Json& each : members) {
      scope_.insert_or_assign(e.variable, Value::view_of(each));
      auto value = value_of(e.operands[1]);
      if (!value) return value;
      made.push_back(value->json());
    }
    return Value(std::move(made));
  }

  base::Result<Value> quantified(const Expression& e, const Json& members, bool deciding) {
    std::optional<base::Error> error;
    for (const Json& each : members) {
      scope_.insert_or_assign(e.variable, Value::view_of(each));
      auto truth = truth_of(e.operands[1]);
      if (!truth) {
        error = std::move(truth).error();
      } else if (*truth == deciding) {
        return Value(Json(deciding));
      }
    }
    if (error) return *std::move(error);
    return Value(Json(!deciding));
  }

  Scope scope_;
};

}  // namespace

base::Result<Value> evaluate(const Expression& expression, const Scope& scope) {
  return Evaluator(scope).value_of(expression);
}

base::Result<bool> holds(const Expression& expression, const Scope& scope) {
  return Evaluator(scope).truth_of(expression);
}

}  // namespace simulator::cel
