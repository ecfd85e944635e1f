#include "api/json/field_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace api {

base::Error to_error(const FieldErrors& errors) {
  constexpr std::size_t kShown = 50;  // hostile input may contain a hundred thousand errors
  std::string text;
  for (std::size_t i = 0; i < std::min(errors.size(), kShown); ++i) {
    if (i > 0) text += "; ";
    text += errors[i].to_string();
  }
  if (errors.size() > kShown) text += fmt::format("; and {} more", errors.size() - kShown);
  return base::invalid(std::move(text));
}

// Avoids formatting: every codec and check creates paths at each step, but few are displayed.
FieldPath FieldPath::field(std::string_view name) const {
  if (text_.empty()) return FieldPath(std::string(name));
  std::string text;
  text.reserve(text_.size() + 1 + name.size());
  text.append(text_).append(1, '.').append(name);
  return FieldPath(std::move(text));
}

FieldPath FieldPath::index(std::size_t i) const { return FieldPath(text_ + "[" + std::to_string(i) + "]"); }

FieldPath FieldPath::key(std::string_view name) const {
  const bool plain = !name.empty() &&
                     std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; });
  return plain ? field(name) : FieldPath(fmt::format("{}[{}]", text_, name));
}

void append_new_fields(FieldErrors& errors, FieldErrors more) {
  std::erase_if(more, [&](const FieldError& each) {
    return std::ranges::find(errors, each.path, &FieldError::path) != errors.end();
  });
  std::ranges::move(more, std::back_inserter(errors));
}

}  // namespace api
