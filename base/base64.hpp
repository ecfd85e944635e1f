#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace base {

/// Standard Base64 with padding.
std::string encode_base64(std::string_view bytes);
/// Blanks and line breaks are skipped. nullopt if it is anything else than standard Base64 with padding.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace base
