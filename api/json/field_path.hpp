#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace api {

/// One complaint about one field: "spec.strategies[1].args.thresholds.cpu: 120 is above 100".
struct FieldError {
  std::string path;
  std::string message;

  std::string to_string() const { return path + ": " + message; }
  friend bool operator==(const FieldError&, const FieldError&) = default;
};
using FieldErrors = std::vector<FieldError>;

/// "a: x; b: y", as one kInvalid Error. REQUIRES: not empty.
base::Error to_error(const FieldErrors& errors);

/// Appends those of `more` whose field has no error in `errors` yet.
void append_new_fields(FieldErrors& errors, FieldErrors more);

/// A place in an object, cheap to extend: path.field("spec").index(1).field("args") → "spec[1].args".
class FieldPath {
 public:
  FieldPath() = default;
  explicit FieldPath(std::string text) : text_(std::move(text)) {}
  FieldPath field(std::string_view name) const;
  FieldPath index(std::size_t i) const;
  /// A map key: path.cpu, or path[nvidia.com/gpu] when it is no plain word.
  FieldPath key(std::string_view name) const;
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace api
