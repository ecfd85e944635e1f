#include "base/text.hpp"

#include <algorithm>

namespace base {
namespace {

constexpr std::string_view kNoCharacter = "\xEF\xBF\xBD";  // U+FFFD

/// Returns the length in bytes of the UTF-8 character at the start of `text` (RFC 3629: no overlong forms, no
/// surrogates), or 0 if it is invalid.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  const auto within = [&](std::size_t i, int low, int high) { return byte(i) >= low && byte(i) <= high; };
  const auto follows = [&](std::size_t i) { return within(i, 0x80, 0xBF); };
  const int lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return follows(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    return within(1, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF) && follows(2) ? 3 : 0;
  }
  if (lead < 0xF0 || lead > 0xF4) return 0;
  return within(1, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF) && follows(2) && follows(3) ? 4 : 0;
}

}  // namespace

std::string truncate_utf8(std::string_view text, std::size_t most) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::string_view next = length > 0 ? text.substr(0, length) : kNoCharacter;
    if (out.size() + next.size() > most) break;
    out += next;
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + separator.size());
  }
}

}  // namespace base
