#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace base {

/// Encodes as standard Base64 with padding.
std::string encode_base64(std::string_view bytes);
/// Decodes standard Base64 with padding; skips blanks and line breaks. Returns nullopt for any other input.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace base
