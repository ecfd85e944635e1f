#pragma once

#include <string>
#include <string_view>

namespace crypto {

/// Returns SHA-256 as 64 lower-case hex digits.
std::string sha256(std::string_view bytes);

/// Returns HMAC-SHA256 (RFC 2104) as 64 lower-case hex digits. The key may have any length.
std::string hmac_sha256(std::string_view key, std::string_view bytes);

/// Compares in a time that depends on the length only, not on the position of the first difference.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace crypto
