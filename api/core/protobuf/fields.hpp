#pragma once

/// Tables of the protobuf fields to read, by kind. The numbers are Kubernetes' own and never change; the names are
/// those of JSON. Each field that a decoder in api/core/ reads must be listed here;
/// test/unit/api/core/protobuf_test.cpp compares both.

#include <string_view>

#include "api/core/protobuf/cursor.hpp"

namespace api::protobuf {

/// Returns the message of a kind ("Pod", "ReplicaSet"), or nullptr if the kind is not read from protobuf.
const Message* message_of(std::string_view kind);
/// Message with only metadata, which has the same number in all kinds.
const Message& metadata_of_any();

extern const Message kListMeta;

}  // namespace api::protobuf
