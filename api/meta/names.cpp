#include "api/meta/names.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace api {
namespace {

bool is_lower_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_alphanumeric(char c) { return is_lower_alphanumeric(c) || (c >= 'A' && c <= 'Z'); }

/// At most 63 of [A-Za-z0-9._-], alphanumeric at both ends.
bool is_name_part(std::string_view text) {
  if (text.empty() || text.size() > 63 || !is_alphanumeric(text.front()) || !is_alphanumeric(text.back())) return false;
  return std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

bool is_subdomain_part(std::string_view text) {
  if (text.empty() || !is_lower_alphanumeric(text.front()) || !is_lower_alphanumeric(text.back())) return false;
  return std::ranges::all_of(text, [](char c) { return is_lower_alphanumeric(c) || c == '-'; });
}

}  // namespace

bool is_dns_subdomain(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  for (;;) {
    const std::size_t dot = text.find('.');
    if (!is_subdomain_part(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool is_dns_label(std::string_view text) { return text.size() <= 63 && is_subdomain_part(text); }

bool is_qualified_name(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return is_name_part(text);
  return is_dns_subdomain(text.substr(0, slash)) && is_name_part(text.substr(slash + 1));
}

bool is_label_value(std::string_view text) { return text.empty() || is_name_part(text); }

bool is_header_name(std::string_view text) {
  constexpr std::string_view kAlso = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           kAlso.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

std::size_t length_in_characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](unsigned char c) { return (c & 0xC0U) != 0x80U; }));
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace api
