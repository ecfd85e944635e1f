#pragma once

#include <cstddef>
#include <string_view>

namespace api {

/// RFC 1123 subdomain, at most 253 characters: name of most objects.
bool is_dns_subdomain(std::string_view text);
/// RFC 1123 label, at most 63 characters: name of a namespace.
bool is_dns_label(std::string_view text);
/// Key of a label or annotation: optional DNS subdomain and '/', then at most 63 characters.
bool is_qualified_name(std::string_view text);
/// Value of a label: empty, or at most 63 characters that begin and end alphanumeric.
bool is_label_value(std::string_view text);
/// Name of an HTTP header (RFC 9110): not empty; letters, digits and some punctuation.
bool is_header_name(std::string_view text);
/// Number of Unicode code points, as counted by a schema's maxLength.
std::size_t length_in_characters(std::string_view text);
/// Number of insertions, deletions and replacements that turn `a` into `b`. For "did you mean".
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace api
