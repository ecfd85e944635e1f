#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace api {

/// One error in one field: "spec.strategies[1].args.thresholds.cpu: 120 is above 100".
struct FieldError {
  std::string path;
  std::string message;

  std::string to_string() const { return path + ": " + message; }
  friend bool operator==(const FieldError&, const FieldError&) = default;
};
using FieldErrors = std::vector<FieldError>;

/// Joins the errors as "a: x; b: y" in one kInvalid Error. `errors` must not be empty.
base::Error to_error(const FieldErrors& errors);

/// Appends the errors in `more` whose fields have no error in `errors` yet.
void append_new_fields(FieldErrors& errors, FieldErrors more);

/// Path of a field, cheap to extend: path.field("spec").index(1).field("args") → "spec[1].args".
class FieldPath {
 public:
  FieldPath() = default;
  explicit FieldPath(std::string text) : text_(std::move(text)) {}
  FieldPath field(std::string_view name) const;
  FieldPath index(std::size_t i) const;
  /// Appends a map key: path.cpu, or path[nvidia.com/gpu] if it is not a plain word.
  FieldPath key(std::string_view name) const;
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace api
