#pragma once

#include <string>
#include <string_view>

namespace signing {

/// SHA-256 as 64 lower-case hex digits.
std::string sha256(std::string_view bytes);

/// HMAC-SHA256 (RFC 2104) as 64 lower-case hex digits. A key of any length.
std::string hmac_sha256(std::string_view key, std::string_view bytes);

/// Takes as long for any two texts of one length, wherever they differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace signing
