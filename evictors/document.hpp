#pragma once

/// Reading the answers to reads(): foreign text that may be anything. Wrong types read as absent, nothing throws.

#include <optional>
#include <string>
#include <string_view>

#include "api/json/json.hpp"
#include "evictors/evictor.hpp"

namespace evictors {

/// The JSON object of a 200 answer; nullopt for anything else, also for one larger than 4 MiB.
std::optional<api::Json> object_of(const Document* document);

/// May be used in a label selector or as an object's name: 1 to 253 of [A-Za-z0-9._-].
bool is_plain_name(std::string_view text);

/// Why a document cannot be used, in one line: "no answer: timeout", "403: clusters … is forbidden".
std::string problem_of(const Document& document);

}  // namespace evictors
