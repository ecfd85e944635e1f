#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace report {

/// Maximum length of one field's text in a report, in bytes.
inline constexpr std::size_t kMaxText = 1024;

/// Sanitizes text of unknown origin into one line that any medium can show. Characters that control terminals, lines or
/// text direction (C0 and C1 controls, U+2028, bidirectional and zero-width marks) become spaces; invalid UTF-8 and
/// noncharacters become U+FFFD; text longer than `limit` bytes is truncated at a character and ends in "…".
std::string plain_text(std::string_view text, std::size_t limit = kMaxText);

/// Removes the first character from the UTF-8 `text` and returns it. Returns U+FFFD for an invalid byte. REQUIRES:
/// `text` is not empty.
char32_t take_character(std::string_view& text);

/// Returns the first `most` characters of the UTF-8 `text`.
std::string_view first_characters(std::string_view text, std::size_t most);
/// Number of characters.
std::size_t characters(std::string_view text);

/// Escapes `text` for XML and HTML, both between tags and in quoted attributes. REQUIRES: plain_text().
std::string escape_markup(std::string_view text);

/// Escapes JSON for an HTML script element without changing its meaning: the result contains no "<", ">", "&", U+2028
/// or U+2029.
std::string escape_json_for_html(std::string_view json);

}  // namespace report
