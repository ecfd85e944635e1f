#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/json/json.hpp"
#include "base/result.hpp"

namespace api {

/// Parses YAML (or JSON, which is YAML) into one value per document; empty documents are left out. Types are resolved
/// as kubectl does: plain yes/no/on/off are booleans, 0644 is octal, dates stay strings, quoted scalars stay strings;
/// keys become strings. Anchors, aliases and merge keys work. An error begins with "line 3, column 5: ". Errors, too:
/// duplicate keys, deeper nesting than kMaxJsonDepth, aliases that blow the document up, tags beyond the standard ones.
/// Never throws.
base::Result<std::vector<Json>> parse_yaml(std::string_view text);

/// One document in block style, keys in order, strings quoted where a parser could take them for something else. Ends
/// with a newline. Reads back equal.
std::string to_yaml(const Json& value);

}  // namespace api
