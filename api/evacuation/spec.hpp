#pragma once

/// Decoder of the spec of an Evacuation. Internal to api/; encode_spec() is in api/evacuation.hpp.

#include <nlohmann/json_fwd.hpp>

#include "api/evacuation.hpp"

namespace api {

/// Reads all valid fields; adds problems to `errors`.
EvacuationSpec read_evacuation_spec(const Json& json, FieldErrors& errors);

}  // namespace api
