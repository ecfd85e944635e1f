#pragma once

#include <string_view>

#include "api/json/json.hpp"

namespace api {

/// A Kubernetes object's text as JSON, but without metadata.managedFields: half of the text of an Evacuation, which
/// nobody here reads. Several times quicker than parse_json(). Of a key that stands twice the last value counts.
/// Error: the text is no JSON, not an object, or nests more than kMaxJsonDepth levels deep.
base::Result<Json> parse_object_json(std::string_view text);

}  // namespace api
