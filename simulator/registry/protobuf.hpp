#pragma once

/// Kubernetes' protobuf, made of JSON by the tables that the decoders read by (api/core/protobuf/fields.hpp). What
/// these do not name is left out: it is for clients that read no other fields.

#include <string>
#include <string_view>

#include "api/core/protobuf/cursor.hpp"
#include "api/json/json.hpp"
#include "simulator/registry/output.hpp"

namespace simulator {

/// nullptr: the resource is served in JSON only, as custom resources are everywhere.
const api::protobuf::Message* protobuf_message_of(const ServedResource& resource);

/// What has a wrong type is left out.
std::string encode_message(const api::protobuf::Message& message, const api::Json& object);

/// Envelopes. `object` and `page.items` as stored. REQUIRES: protobuf_message_of(resource).
std::string protobuf_object(const ServedResource& resource, const api::Json& object);
std::string protobuf_list(const ServedResource& resource, const ListPage& page);
/// Of a metav1.Status.
std::string protobuf_status(const api::Json& status);

/// A watch event around an envelope; its length, with which it goes over the wire, is not in front of it.
std::string protobuf_event(std::string_view type, std::string_view envelope);

}  // namespace simulator
