#pragma once

/// The status of an Evacuation on the wire. Internal to api/: encode_status() and encode_change() are in
/// api/evacuation.hpp.

#include <nlohmann/json_fwd.hpp>

#include "api/evacuation.hpp"

namespace api {

/// Never fails: what cannot be read, or has another type, counts as absent.
EvacuationStatus evacuation_status_of(const Json& json);

}  // namespace api
