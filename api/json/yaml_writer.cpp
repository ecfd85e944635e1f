#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "api/json/yaml.hpp"
#include "api/json/yaml_scalar.hpp"

namespace api {
namespace {

constexpr std::size_t kIndentStep = 2;

/// Decodes and removes the UTF-8 character at the start of `text`. Returns U+FFFD for an invalid byte.
char32_t take_character(std::string_view* text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>((*text)[i]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 0;
  char32_t code = length == 1 ? lead : lead & (0xFFU >> (length + 1));
  bool valid = length > 0 && length <= text->size() && lead < 0xF8;
  for (std::size_t i = 1; valid && i < length; ++i) {
    valid = (byte(i) & 0xC0U) == 0x80U;
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  constexpr char32_t kMin[] = {0, 0, 0x80, 0x800, 0x10000};
  valid = valid && code >= kMin[length] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
  text->remove_prefix(valid ? length : 1);
  return valid ? code : 0xFFFD;
}

/// Returns true for characters that YAML allows without escapes, except all kinds of line breaks.
bool is_printable(char32_t c) {
  return (c >= 0x20 && c < 0x7F) ||
         (c >= 0xA0 && c != 0x2028 && c != 0x2029 && c != 0xFEFF && c != 0xFFFE && c != 0xFFFF);
}

bool is_printable_text(std::string_view text) {
  while (!text.empty()) {
    const std::size_t before = text.size();
    const char32_t c = take_character(&text);
    if (!is_printable(c) || (c == 0xFFFD && before - text.size() == 1)) return false;
  }
  return true;
}

void append_character(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0U | (c >> 6U));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0U | (c >> 12U));
    out += static_cast<char>(0x80U | ((c >> 6U) & 0x3FU));
  } else {
    out += static_cast<char>(0xF0U | (c >> 18U));
    out += static_cast<char>(0x80U | ((c >> 12U) & 0x3FU));
    out += static_cast<char>(0x80U | ((c >> 6U) & 0x3FU));
  }
  if (c >= 0x80) out += static_cast<char>(0x80U | (c & 0x3FU));
}

std::string double_quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char32_t c = take_character(&text);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (is_printable(c)) {
      append_character(out, c);
    } else {
      out += c < 0x100 ? fmt::format("\\x{:02X}", static_cast<unsigned>(c))
                       : fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    }
  }
  return out += '"';
}

/// Returns true if the text can be an unquoted key or value in block style.
bool is_plain_text(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ' || text.back() == ':') return false;
  if (std::string_view("-?:,[]{}#&*!|>'\"%@`").find(text.front()) != std::string_view::npos) return false;
  if (text.find(": ") != std::string_view::npos || text.find(" #") != std::string_view::npos) return false;
  if (text.starts_with("---") || text.starts_with("...")) return false;
  return is_printable_text(text) && !is_ambiguous_plain_scalar(text);
}

std::string string_scalar(std::string_view text) {
  return is_plain_text(text) ? std::string(text) : double_quoted(text);
}

/// Returns true if the text is suitable for a literal block: several lines without unusual characters.
bool is_block_text(std::string_view text) {
  if (text.find('\n') == std::string_view::npos || text.front() == ' ' || text.front() == '\n') return false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (!is_printable_text(line) || line.ends_with(' ')) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

void write_block_text(std::string& out, std::string_view text, std::size_t indent) {
  const bool ends_line = text.ends_with('\n');
  const bool keeps_more = text.ends_with("\n\n");
  out += keeps_more ? "|+\n" : ends_line ? "|\n" : "|-\n";
  if (ends_line) text.remove_suffix(1);
  for (;;) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) out.append(indent, ' ').append(text.substr(0, end));
    out += '\n';
    if (end == text.size()) return;
    text.remove_prefix(end + 1);
  }
}

void write_value(std::string& out, const Json& value, std::size_t indent);

void write_object(std::string& out, const Json& object, std::size_t indent, bool first_in_line) {
  for (const auto& [key, value] : object.items()) {
    if (!first_in_line) out.append(indent, ' ');
    first_in_line = false;
    out += string_scalar(key) + ":";
    write_value(out, value, indent);
  }
}

void write_array(std::string& out, const Json& array, std::size_t indent, bool first_in_line) {
  for (const Json& item : array) {
    if (!first_in_line) out.append(indent, ' ');
    first_in_line = false;
    out += "-";
    if (item.is_object() && !item.empty()) {
      out += " ";
      write_object(out, item, indent + kIndentStep, true);
    } else if (item.is_array() && !item.empty()) {
      out += " ";
      write_array(out, item, indent + kIndentStep, true);
    } else {
      write_value(out, item, indent);
    }
  }
}

/// Writes the value after "key:" or "-", including the line break.
void write_value(std::string& out, const Json& value, std::size_t indent) {
  if (value.is_object() && !value.empty()) {
    out += '\n';
    return write_object(out, value, indent + kIndentStep, false);
  }
  if (value.is_array() && !value.empty()) {
    out += '\n';
    return write_array(out, value, indent, false);
  }
  out += ' ';
  if (!value.is_string()) {
    out += to_json_text(value) + "\n";
    return;
  }
  const auto& text = value.get_ref<const std::string&>();
  if (is_block_text(text)) return write_block_text(out, text, indent + kIndentStep);
  out += string_scalar(text) + "\n";
}

}  // namespace

std::string to_yaml(const Json& value) {
  std::string out;
  if (value.is_object() && !value.empty()) {
    write_object(out, value, 0, false);
  } else if (value.is_array() && !value.empty()) {
    write_array(out, value, 0, false);
  } else {
    write_value(out, value, 0);
    out.erase(0, 1);
  }
  return out;
}

}  // namespace api
