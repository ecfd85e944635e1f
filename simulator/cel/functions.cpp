#include "simulator/cel/functions.hpp"

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
    if (!list.json()[i].is_string()) return base::invalid("no such overload: join of other things than strings");
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

}  // namespace

base::Result<Value> apply_operator(std::string_view op, const Value& left, const Value& right) {
  if (op == "in") return is_in(left, right);
  if (op == "==" || op == "!=") {
    if (!same_type(left, right)) return no_overload(op, left, right);
    return Value(Json((left == right) == (op == "==")));
  }
  if (op == "<" || op == "<=" || op == ">" || op == ">=") return order(op, left, right);
  return calculate(op, left, right);
}

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

}  // namespace simulator::cel
