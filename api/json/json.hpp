#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"

namespace api {

/// A JSON value. Stays inside codecs, clients and the simulator's store; deciding code uses the typed nouns.
/// Write `Json b = a;`, never `Json b{a}` (g++ 12 makes an array of it).
using Json = nlohmann::json;

/// Objects and arrays inside each other that parse_json and parse_yaml accept: as deep as any honest manifest, and
/// shallow enough for the recursive walks over the result.
inline constexpr std::size_t kMaxJsonDepth = 128;

/// Parses untrusted text without throwing. The error says where, and shows how the text begins when it is no JSON at
/// all (an HTML page of a proxy, say).
base::Result<Json> parse_json(std::string_view text);

/// The same, but a key that stands twice in one object is an error, too.
base::Result<Json> parse_json_unique(std::string_view text);

/// Compact JSON text. Never throws: bytes that are no UTF-8 become U+FFFD (Json::dump would throw on them).
std::string to_json_text(const Json& value);

}  // namespace api
