#pragma once

#include <array>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "api/core/protobuf/cursor.hpp"
#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "simulator/api/failure.hpp"
#include "simulator/registry/registry.hpp"
#include "simulator/store.hpp"

namespace simulator {

/// Response format that the client accepts.
struct Output {
  enum class Format { kObject, kProtobuf, kTable, kMetadata };
  /// Contents of each table row's `object`.
  enum class Include { kNone, kMetadata, kObject };

  Format format = Format::kObject;
  Include include = Include::kMetadata;
  base::TimePoint now{};  ///< reference time for ages in tables
};
/// Returns the first format of the Accept header that the server supports, 406 if there is none. `has_protobuf` is true
/// if protobuf is currently supported for the resource.
Outcome<Output> negotiate(std::string_view accept, std::string_view include_object, base::TimePoint now,
                          bool has_protobuf = false);

/// Returns nullptr if the resource is served only as JSON, like all custom resources.
const api::protobuf::Message* protobuf_message_of(const ServedResource& resource);

/// Converts a stored object to the served version: core Events are stored as events.k8s.io/v1, and all versions of a
/// kind are stored as one.
api::Json served_form(const ServedResource& resource, const api::Json& stored);
api::Json stored_form(const ServedResource& resource, api::Json served);

std::string encode_object(const ServedResource& resource, const api::Json& stored, const Output& output);

/// Cache of recently encoded objects, since the response to a write and the events of all watches have the same text.
/// Thread-safe.
class RecentTexts {
 public:
  /// Returns encode_object(), from the cache if the same object was encoded before for the same resource and format.
  std::string encode(const ServedPtr& resource, const Object& stored, const Output& output);

 private:
  struct Entry {
    ServedPtr resource;
    Object stored;  ///< keeps the object alive, so that its address identifies it
    Output::Format format = Output::Format::kObject;
    std::string text;
  };
  static constexpr std::size_t kKept = 64;

  std::mutex mutex_;
  std::array<Entry, kKept> entries_;
  std::size_t next_ = 0;
};

struct ListPage {
  std::vector<Object> items;
  std::uint64_t revision = 0;
  std::string continue_token;
  std::int64_t remaining = 0;
};
std::string encode_list(const ServedResource& resource, const ListPage& page, const Output& output);
api::Json list_metadata(const ListPage& page);
/// Encodes a watch event as one line without newline, or as protobuf. `type` is ADDED, MODIFIED or DELETED; `object` is
/// an encoded object.
std::string encode_event(std::string_view type, std::string_view object);
/// Encode a BOOKMARK event, and an ERROR event with a Status. `ends_initial_events` marks the end of the initial
/// events.
std::string encode_bookmark(const ServedResource& resource, std::uint64_t revision, const Output& output,
                            bool ends_initial_events = false);
std::string encode_error_event(const Failure& failure, const Output& output);

/// Returns a metav1.Table of the objects with kubectl's columns.
api::Json table_of(const ServedResource& resource, const std::vector<Object>& stored, const Output& output);

}  // namespace simulator
