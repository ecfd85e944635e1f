#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace reporting {

/// Longest text that a report shows of one field, in bytes.
inline constexpr std::size_t kMaxText = 1024;

/// Text of unknown origin as one line that any medium may show: what steers a terminal, a line or the direction of
/// writing (C0 and C1 controls, U+2028, bidirectional and zero-width marks) becomes a space, bytes that are no UTF-8
/// and noncharacters become U+FFFD, and what is longer than `limit` bytes is cut at a character and ends in "…".
std::string plain_text(std::string_view text, std::size_t limit = kMaxText);

/// The first character of UTF-8 `text`, which is taken off it; U+FFFD for a byte that begins none. REQUIRES: `text` is
/// not empty.
char32_t take_character(std::string_view& text);

/// `text` for XML and HTML, between tags as well as in a quoted attribute. REQUIRES: plain_text().
std::string escape_markup(std::string_view text);

/// JSON text that may stand inside an HTML script element: no "<", ">", "&", U+2028 or U+2029 is left, and it means the
/// same.
std::string escape_json_for_html(std::string_view json);

}  // namespace reporting
