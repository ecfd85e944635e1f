#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "simulator/cel/expression.hpp"

namespace simulator::cel {

/// A CEL value: JSON or a duration. Cheap to copy, because a member shares ownership of the enclosing value.
class Value {
 public:
  explicit Value(api::Json json) : json_(std::make_shared<const api::Json>(std::move(json))) {}
  explicit Value(base::Duration duration) : Value(api::Json()) { duration_ = duration; }
  /// Returns a view of JSON that must outlive the value.
  static Value view_of(const api::Json& json) {
    return Value(std::shared_ptr<const api::Json>(std::shared_ptr<void>(), &json));
  }
  Value part(const api::Json& inner) const { return Value(std::shared_ptr<const api::Json>(json_, &inner)); }

  const api::Json& json() const { return *json_; }  ///< null for a duration
  const std::optional<base::Duration>& duration() const { return duration_; }
  friend bool operator==(const Value& a, const Value& b) { return a.duration_ == b.duration_ && a.json() == b.json(); }

 private:
  explicit Value(std::shared_ptr<const api::Json> json) : json_(std::move(json)) {}
  std::shared_ptr<const api::Json> json_;
  std::optional<base::Duration> duration_;
};

/// Variables by name: self, oldSelf, object, …
using Scope = std::map<std::string, Value, std::less<>>;

/// Evaluates an expression like the API server. Functions: size, duration, string. Methods: size, sum, join,
/// startsWith, endsWith, contains. A missing member, operands of wrong types, an unknown name or function, and integer
/// overflow are errors, with which a rule counts as violated. `&&`, `||`, all() and exists() ignore an error if another
/// operand decides the result.
base::Result<Value> evaluate(const Expression& expression, const Scope& scope);

/// Evaluates a condition. Returns an error if the result is not a boolean.
base::Result<bool> holds(const Expression& expression, const Scope& scope);

}  // namespace simulator::cel
