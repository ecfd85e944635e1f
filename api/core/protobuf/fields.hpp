#pragma once

/// Which fields of which kinds are read from protobuf. The numbers are Kubernetes' own and never change; names are
/// those of JSON. A field that a decoder in api/core/ reads must stand here, too: test/unit/api/core/protobuf_test.cpp
/// compares both.

#include <string_view>

#include "api/core/protobuf/cursor.hpp"

namespace api::protobuf {

/// The message of that kind ("Pod", "ReplicaSet"). nullptr: not read from protobuf.
const Message* message_of(std::string_view kind);
/// Only metadata, which has the same number in all kinds.
const Message& metadata_of_any();

extern const Message kListMeta;

}  // namespace api::protobuf
