#pragma once

/// How a plain scalar is typed; shared by the YAML reader and writer. Internal to api/.

#include <optional>
#include <string_view>

#include "api/json/json.hpp"

namespace api {

/// The typed value of an unquoted scalar, as go-yaml (kubectl) resolves it: null, a boolean, a number, else the string.
/// nullopt for .inf and .nan, which JSON does not have.
std::optional<Json> resolve_plain_scalar(std::string_view text);

/// True if some YAML parser would not take the unquoted text for this string: it looks like a number, a boolean, a
/// date…
bool is_ambiguous_plain_scalar(std::string_view text);

}  // namespace api
