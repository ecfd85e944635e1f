#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace base {

/// Returns the beginning of untrusted text in a storable form: at most `most` bytes, cut between characters, with
/// U+FFFD for each byte that is not valid UTF-8. A JSON server would replace invalid bytes itself; a controller that
/// compares stored and intended text would then write it again indefinitely.
std::string truncate_utf8(std::string_view text, std::size_t most);

/// Parses decimal text without any other characters. Returns nullopt if it is malformed or does not fit into Number.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Returns the parts between separators, also empty ones: at least one part.
std::vector<std::string_view> split(std::string_view text, std::string_view separator);

/// FNV-1a, stable across processes and versions. Not cryptographic.
std::uint64_t fnv1a(std::string_view text);

}  // namespace base
