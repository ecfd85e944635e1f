#pragma once

/// Kubernetes' protobuf, made of JSON by the tables that the decoders read by (api/core/protobuf/fields.hpp). What
/// these do not name is left out: it is for clients that read no other fields.

#include <string>
#include <string_view>

#include "api/core/protobuf/cursor.hpp"
#include "api/json/json.hpp"

namespace simulator {

/// What has a wrong type is left out.
std::string encode_message(const api::protobuf::Message& message, const api::Json& object);

/// The envelope of a metav1.Status.
std::string protobuf_status(const api::Json& status);

/// A watch event around an envelope; its length, with which it goes over the wire, is not in front of it.
std::string protobuf_event(std::string_view type, std::string_view envelope);

}  // namespace simulator
