#pragma once

/// The spec of an Evacuation on the wire. Internal to api/: encode_spec() is in api/evacuation.hpp.

#include <nlohmann/json_fwd.hpp>

#include "api/evacuation.hpp"

namespace api {

/// As far as it goes; `errors` gets what is wrong.
EvacuationSpec read_evacuation_spec(const Json& json, FieldErrors& errors);

}  // namespace api
