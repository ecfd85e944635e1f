#include "simulator/cel/evaluate.hpp"

#include <fmt/format.h>

#include "simulator/cel/functions.hpp"

namespace simulator::cel {
namespace {

using api::Json;

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
      if (!(*values)[i].json().is_string()) return base::invalid("no such overload: keys of maps are strings here");
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
    return base::invalid("no such overload: a member of no map and no list");
  }

  base::Result<Value> has(const Expression& e) {
    const auto from = value_of(e.operands[0]);
    if (!from) return from;
    if (from->duration() || !from->json().is_object()) return base::invalid("no such overload: has() of no map");
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
