#include "api/policy/bounds.hpp"

#include <fmt/format.h>

#include "api/meta/names.hpp"

namespace api {
namespace {

/// Returns "168h" instead of "168h0m0s".
std::string short_duration(base::Duration duration) {
  std::string text = base::format_duration(duration);
  if (text.ends_with("m0s")) text.resize(text.size() - 2);
  if (text.ends_with("h0m")) text.resize(text.size() - 2);
  return text;
}

}  // namespace

void check_duration(FieldErrors& errors, const FieldPath& at, base::Duration value, base::Duration least,
                    base::Duration most) {
  if (value >= least && value <= most) return;
  errors.push_back({at.text(), fmt::format("{} is not between {} and {}", base::format_duration(value),
                                           short_duration(least), short_duration(most))});
}

void check_number(FieldErrors& errors, const FieldPath& at, double value, double least, double most) {
  if (value >= least && value <= most) return;
  errors.push_back({at.text(), fmt::format("{} is not between {} and {}", value, least, most)});
}

void check_items(FieldErrors& errors, const FieldPath& at, std::size_t count, std::size_t most) {
  if (count > most) errors.push_back({at.text(), fmt::format("must have at most {} items", most)});
}

void check_length(FieldErrors& errors, const FieldPath& at, std::string_view text, std::size_t most) {
  if (length_in_characters(text) > most)
    errors.push_back({at.text(), fmt::format("is longer than {} characters", most)});
}

}  // namespace api
