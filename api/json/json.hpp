#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"

namespace api {

/// JSON value. Used only by codecs, clients and the simulator's store; deciding code uses typed structs. Write `Json b
/// = a;`, never `Json b{a}` (g++ 12 makes an array of it).
using Json = nlohmann::json;

/// Maximum nesting of objects and arrays accepted by parse_json() and parse_yaml(): deeper than any real manifest, and
/// safe for recursive functions.
inline constexpr std::size_t kMaxJsonDepth = 128;

/// Parses untrusted text without throwing. The error contains the position, and the beginning of the text if it is not
/// JSON at all (for example an HTML page of a proxy).
base::Result<Json> parse_json(std::string_view text);

/// Parses untrusted text like parse_json(), and reports a repeated key in an object as an error.
base::Result<Json> parse_json_unique(std::string_view text);

/// Returns compact JSON text. Never throws: replaces invalid UTF-8 with U+FFFD, on which Json::dump() would throw.
std::string to_json_text(const Json& value);

}  // namespace api
