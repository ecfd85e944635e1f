#include "kube/escape.hpp"

namespace kube {
namespace {

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

void append_encoded(std::string& out, char c) {
  constexpr char kHex[] = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  out += '%';
  out += kHex[byte >> 4];
  out += kHex[byte & 15];
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c)) {
      out += c;
    } else {
      append_encoded(out, c);
    }
  }
  return out;
}

std::string escape_segment(std::string_view text) {
  if (text != "." && text != "..") return escape(text);
  std::string out;
  for (const char c : text) append_encoded(out, c);
  return out;
}

void append_query(std::string& query, std::string_view key, std::string_view value) {
  if (!query.empty()) query += '&';
  query.append(escape(key)).append("=").append(escape(value));
}

}  // namespace kube
