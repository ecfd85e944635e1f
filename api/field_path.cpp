#include "api/field_path.hpp"

#include <fmt/format.h>

namespace api {

base::Error to_error(const FieldErrors& errors) {
  std::string text;
  for (const FieldError& error : errors) {
    if (!text.empty()) text += "; ";
    text += error.to_string();
  }
  return base::invalid(std::move(text));
}

FieldPath FieldPath::field(std::string_view name) const {
  return FieldPath(text_.empty() ? std::string(name) : fmt::format("{}.{}", text_, name));
}

FieldPath FieldPath::index(std::size_t i) const { return FieldPath(fmt::format("{}[{}]", text_, i)); }

FieldPath FieldPath::key(std::string_view name) const { return FieldPath(fmt::format("{}[{}]", text_, name)); }

}  // namespace api
