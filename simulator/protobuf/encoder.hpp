#pragma once

/// Encodes JSON as Kubernetes' protobuf, with the tables that the decoders use (api/core/protobuf/fields.hpp). Fields
/// outside of these tables are omitted, since our clients do not read them.

#include <string>
#include <string_view>

#include "api/core/protobuf/cursor.hpp"
#include "api/json/json.hpp"

namespace simulator {

/// Encodes a message. Members of a wrong type are omitted.
std::string encode_message(const api::protobuf::Message& message, const api::Json& object);

/// Returns the envelope of a metav1.Status.
std::string protobuf_status(const api::Json& status);

/// Returns a watch event that contains an envelope, without the length prefix of the wire format.
std::string protobuf_event(std::string_view type, std::string_view envelope);

}  // namespace simulator
