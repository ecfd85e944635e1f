#include "planner/report/plain_text.hpp"

#include <algorithm>
#include <array>

namespace report {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

/// Returns true for characters that control the output device or text layout instead of being visible.
bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0xAD || c == 0x61C || c == 0x180E ||
         (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF ||
         (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE0FFF);
}

bool is_noncharacter(char32_t c) { return (c & 0xFFFE) == 0xFFFE || (c >= 0xFDD0 && c <= 0xFDEF); }

/// Returns the number of bytes that follow this first byte, or 4 if no character begins with it.
std::size_t bytes_after(unsigned char lead) {
  if (lead < 0x80) return 0;
  if (lead >= 0xC2 && lead < 0xE0) return 1;
  if (lead >= 0xE0 && lead < 0xF0) return 2;
  return lead >= 0xF0 && lead < 0xF5 ? 3 : 4;
}

constexpr std::string_view kReplacementText = "\xEF\xBF\xBD";

}  // namespace

char32_t take_character(std::string_view& text) {
  constexpr std::array<char32_t, 4> kMin = {0, 0x80, 0x800, 0x10000};
  const auto lead = static_cast<unsigned char>(text.front());
  text.remove_prefix(1);
  const std::size_t more = bytes_after(lead);
  if (more == 0) return lead;
  if (more > 3 || text.size() < more) return kReplacement;
  char32_t code = lead & (0x3FU >> more);
  for (std::size_t i = 0; i < more; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0U) != 0x80) return kReplacement;
    code = (code << 6U) | (byte & 0x3FU);
  }
  if (code < kMin[more] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return kReplacement;
  text.remove_prefix(more);
  return code;
}

std::string_view first_characters(std::string_view text, std::size_t most) {
  std::string_view rest = text;
  for (; most > 0 && !rest.empty(); --most) take_character(rest);
  return text.substr(0, text.size() - rest.size());
}

std::size_t characters(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) take_character(text);
  return count;
}

std::string plain_text(std::string_view text, std::size_t limit) {
  std::string out;
  out.reserve(std::min(text.size(), limit));
  while (!text.empty()) {
    const std::string_view before = text;
    const char32_t c = take_character(text);
    std::string_view shown = before.substr(0, before.size() - text.size());
    if (is_control(c)) shown = " ";
    if (c == kReplacement || is_noncharacter(c)) shown = kReplacementText;
    if (out.size() + shown.size() > limit) return out + "…";
    out += shown;
  }
  return out;
}

std::string escape_markup(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string escape_json_for_html(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = 0; at < json.size(); ++at) {
    const std::string_view rest = json.substr(at);
    if (rest.front() == '<') {
      out += "\\u003c";
    } else if (rest.front() == '>') {
      out += "\\u003e";
    } else if (rest.front() == '&') {
      out += "\\u0026";
    } else if (rest.starts_with("\xE2\x80\xA8") || rest.starts_with("\xE2\x80\xA9")) {
      out += rest[2] == '\xA8' ? "\\u2028" : "\\u2029";
      at += 2;
    } else {
      out += rest.front();
    }
  }
  return out;
}

}  // namespace report
