#pragma once

/// Reads the documents that evictors request with reads(). Documents are untrusted input. A value with the wrong type
/// reads as absent. No function throws.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json/json.hpp"
#include "evictors/evictor.hpp"

namespace evictors {

/// Returns the JSON object of a 200 answer. Returns nullopt for any other answer and for bodies larger than 4 MiB.
std::optional<api::Json> object_of(const Document* document);

/// Returns true if `text` is safe in a label selector and as an object name: 1 to 253 of [A-Za-z0-9._-].
bool is_plain_name(std::string_view text);

/// Returns untrusted text with spaces for control characters, truncated to `most` bytes.
std::string one_line(std::string_view text, std::size_t most);

/// Returns in one line why a document is unusable: "no answer: timeout", "403: clusters … is forbidden".
std::string problem_of(const Document& document);

}  // namespace evictors
