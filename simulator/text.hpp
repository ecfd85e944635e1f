#pragma once

/// Splitting of texts, for scripts in annotations, selectors and headers.

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace simulator {

/// Removes blanks, tabs and line breaks at both ends.
inline std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

/// Returns the trimmed parts before and after the first `separator`. Without a separator the second part is empty.
inline std::pair<std::string_view, std::string_view> split_pair(std::string_view text, char separator) {
  const auto at = text.find(separator);
  if (at == std::string_view::npos) return {trim(text), {}};
  return {trim(text.substr(0, at)), trim(text.substr(at + 1))};
}

/// Returns the trimmed parts between separators, without empty ones.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(separator), text.size());
    if (const auto part = trim(text.substr(0, end)); !part.empty()) parts.push_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace simulator
