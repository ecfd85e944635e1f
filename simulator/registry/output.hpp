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

/// What the client accepts.
struct Output {
  enum class Format { kObject, kProtobuf, kTable, kMetadata };
  /// What comes with each row of a table.
  enum class Include { kNone, kMetadata, kObject };

  Format format = Format::kObject;
  Include include = Include::kMetadata;
  base::TimePoint now{};  ///< for the ages in tables
};
/// The first entry of the Accept header that the server can do; 406 when there is none. `has_protobuf`: for this
/// resource, now.
Outcome<Output> negotiate(std::string_view accept, std::string_view include_object, base::TimePoint now,
                          bool has_protobuf = false);

/// nullptr: the resource is served in JSON only, as custom resources are everywhere.
const api::protobuf::Message* protobuf_message_of(const ServedResource& resource);

/// The object in the served version: core Events are stored as events.k8s.io/v1, several versions as one.
api::Json served_form(const ServedResource& resource, const api::Json& stored);
/// The other way round.
api::Json stored_form(const ServedResource& resource, api::Json served);

/// One object as a response body.
std::string encode_object(const ServedResource& resource, const api::Json& stored, const Output& output);

/// What was encoded lately: the answer to a write and the events of all watches say the same. Thread-safe.
class RecentTexts {
 public:
  /// encode_object(), or what it returned last time for that resource and that very object.
  std::string encode(const ServedPtr& resource, const Object& stored, const Output& output);

 private:
  struct Entry {
    ServedPtr resource;
    Object stored;  ///< kept alive, so that its address means it
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
/// metav1.ListMeta.
api::Json list_metadata(const ListPage& page);
/// One line of a watch, without newline, or one event in protobuf. `type` is ADDED, MODIFIED or DELETED; `object` is an
/// encoded object.
std::string encode_event(std::string_view type, std::string_view object);
/// BOOKMARK, and ERROR with a Status. `ends_initial_events`: what is there has been told.
std::string encode_bookmark(const ServedResource& resource, std::uint64_t revision, const Output& output,
                            bool ends_initial_events = false);
std::string encode_error_event(const Failure& failure, const Output& output);

/// metav1.Table of the objects, with kubectl's usual columns.
api::Json table_of(const ServedResource& resource, const std::vector<Object>& stored, const Output& output);

}  // namespace simulator
