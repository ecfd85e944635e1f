#pragma once

/// Type resolution of plain scalars, shared by the YAML reader and writer. Internal to api/.

#include <optional>
#include <string_view>

#include "api/json/json.hpp"

namespace api {

/// Resolves an unquoted scalar like go-yaml (kubectl): null, a boolean, a number, otherwise a string. Returns nullopt
/// for .inf and .nan, which JSON does not have.
std::optional<Json> resolve_plain_scalar(std::string_view text);

/// Returns true if some YAML parser would not read the unquoted text as this string, because it looks like a number,
/// boolean, date…
bool is_ambiguous_plain_scalar(std::string_view text);

}  // namespace api
