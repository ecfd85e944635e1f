#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "simulator/cel/expression.hpp"

namespace simulator::cel {

/// A value of CEL: JSON, or a duration. Cheap to copy: a member shares what it is a member of.
class Value {
 public:
  explicit Value(api::Json json) : json_(std::make_shared<const api::Json>(std::move(json))) {}
  explicit Value(base::Duration duration) : Value(api::Json()) { duration_ = duration; }
  /// Of something that outlives the value.
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

/// As the API server evaluates it. Functions: size, duration, string; methods: size, sum, join, startsWith, endsWith,
/// contains. Errors, with which a rule counts as broken: a member that is not there, operands of other types, an
/// unknown name or function, integers that overflow. `&&`, `||`, all() and exists() take an error back where another
/// operand decides.
base::Result<Value> evaluate(const Expression& expression, const Scope& scope);

/// The same for a condition; an error where the result is no boolean.
base::Result<bool> holds(const Expression& expression, const Scope& scope);

}  // namespace simulator::cel
