#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/json/json.hpp"
#include "base/result.hpp"

namespace api {

/// Error message for an input without documents.
inline constexpr std::string_view kEmptyInput = "is empty: did the command that should write it fail?";

/// Parses YAML (or JSON, which is YAML) into one value per document, without empty documents. Resolves types like
/// kubectl: plain yes/no/on/off are booleans, 0644 is octal, dates and quoted scalars are strings; keys become strings.
/// Supports anchors, aliases and merge keys. Returns an error, beginning with "line 3, column 5: ", for malformed text,
/// duplicate keys, nesting deeper than kMaxJsonDepth, aliases that expand excessively, and non-standard tags. Never
/// throws.
base::Result<std::vector<Json>> parse_yaml(std::string_view text);

/// Writes one document in block style, with keys in order. Quotes strings that a parser could take for another type.
/// Ends with a newline. Parsing returns an equal value.
std::string to_yaml(const Json& value);

}  // namespace api
