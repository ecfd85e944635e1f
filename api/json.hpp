#pragma once

#include <nlohmann/json_fwd.hpp>

namespace api {

/// A JSON value. Stays inside codecs, clients and the simulator's store; deciding code uses the typed nouns.
/// Write `Json b = a;`, never `Json b{a}` (g++ 12 makes an array of it).
using Json = nlohmann::json;

}  // namespace api
