#include <fmt/format.h>

#include "api/core/codec.hpp"
#include "api/core/codec_reader.hpp"
#include "api/core/protobuf/envelope.hpp"
#include "api/core/protobuf/fields.hpp"
#include "api/core/protobuf/list_splitter.hpp"
#include "api/core/protobuf/value.hpp"

namespace api {
namespace {

using wire::elements;
using wire::members;
using wire::on;

/// Returns a reader of the metadata of a list.
auto list_meta(ListMeta& meta) {
  return members(on("resourceVersion", meta.resource_version), on("continue", meta.continue_token),
                 on("remainingItemCount", meta.remaining_item_count));
}

/// Returns the text of an object in the parser's buffer, or INCORRECT_TYPE if the value is not an object.
wire::error_code raw_object(wire::Value& value, std::string_view& text) {
  wire::Object object;
  if (const auto error = value.get_object().get(object)) return error;
  return object.raw_json().get(text);
}

constexpr std::uint64_t kMaxItem = std::uint64_t{64} << 20U;

base::Result<ListMeta> for_each_enveloped_item(std::string_view list,
                                               const std::function<base::Status(std::string_view item)>& each) {
  protobuf::ListSplitter splitter(kMaxItem);
  std::vector<std::string> envelopes;
  if (const auto fed = splitter.feed(list, envelopes); !fed) return fed.error();
  if (!splitter.is_complete()) return base::invalid("decoding a list in protobuf: it is cut off");
  for (std::size_t i = 0; i + 1 < envelopes.size(); ++i) {
    if (auto done = each(envelopes[i]); !done) return std::move(done).error();
  }
  return decode_list_meta(envelopes.back());
}

/// Splits a protobuf frame {type, object: {raw}}; `object` is an envelope.
base::Result<WatchLine> split_watch_frame(std::string_view frame) {
  WatchLine watch;
  protobuf::Cursor cursor(frame);
  while (cursor.next()) {
    if (cursor.number() == 1) watch.type = cursor.bytes();
    if (cursor.number() != 2) continue;
    protobuf::Cursor extension(cursor.bytes());
    while (extension.next()) {
      if (extension.number() == 1) watch.object = extension.bytes();
    }
    if (extension.failed()) return base::invalid("decoding a watch event: the protobuf is cut off or malformed");
  }
  if (cursor.failed()) return base::invalid("decoding a watch event: the protobuf is cut off or malformed");
  if (!protobuf::is_envelope(watch.object)) watch.object = {};
  return watch;
}

base::Result<WatchLine> complete(WatchLine watch) {
  if (watch.type.empty()) return base::invalid("decoding a watch event: it has no type");
  if (watch.object.empty()) return base::invalid("decoding a watch event: it has no object");
  return watch;
}

/// Detects a protobuf frame by the tag of field 1 or 2. Neither JSON text nor a line of the line splitter can begin
/// with it.
bool is_watch_frame(std::string_view line) { return line.starts_with('\x0a') || line.starts_with('\x12'); }

}  // namespace

base::Result<ListMeta> decode_list_meta(std::string_view envelope) {
  const auto opened = protobuf::open(envelope);
  if (!opened) return opened.error();
  ListMeta meta;
  meta.api_version = opened->api_version;
  meta.kind = opened->kind;
  protobuf::Cursor cursor(opened->body);
  while (cursor.next()) {
    if (cursor.number() != 1) continue;
    wire::ProtoValue value(protobuf::kListMeta, cursor.bytes());
    if (list_meta(meta)(value)) return base::invalid("decoding a list in protobuf: its metadata is malformed");
  }
  if (cursor.failed()) return base::invalid("decoding a list in protobuf: it is malformed");
  return meta;
}

base::Result<ListMeta> for_each_item(std::string_view list_json,
                                     const std::function<base::Status(std::string_view item)>& each) {
  if (protobuf::is_envelope(list_json)) return for_each_enveloped_item(list_json, each);
  ListMeta meta;
  std::optional<base::Error> stopped;
  std::size_t index = 0;
  const auto visit = [&](wire::Value& item) {
    std::string_view text;
    if (const auto error = raw_object(item, text)) {
      if (error == simdjson::INCORRECT_TYPE)
        stopped = base::invalid(fmt::format("decoding a list: items[{}] is not an object", index));
      return error;
    }
    ++index;
    auto done = each(text);
    if (done) return simdjson::SUCCESS;
    stopped = std::move(done).error();
    return simdjson::INCORRECT_TYPE;  // any error stops the iteration; `stopped` contains the actual one
  };

  wire::Lease lease;
  const auto status = wire::read_document(*lease, list_json, "a list",
                                          members(on("apiVersion", meta.api_version), on("kind", meta.kind),
                                                  on("metadata", list_meta(meta)), on("items", elements(visit))));
  if (stopped) return *std::move(stopped);
  if (!status) return status.error();
  return meta;
}

base::Result<WatchLine> split_watch_line(std::string_view line) {
  if (is_watch_frame(line)) {
    auto watch = split_watch_frame(line);
    return watch ? complete(*std::move(watch)) : std::move(watch);
  }
  WatchLine watch;
  wire::Lease lease;
  const auto read_object = [&](wire::Value& value) {
    std::string_view text;
    const auto error = raw_object(value, text);
    // Translate to the caller's line, because the parser's copy does not outlive this function.
    if (!error) watch.object = line.substr(static_cast<std::size_t>(text.data() - lease->text.get()), text.size());
    return wire::unless_about_value(error);
  };
  const auto status =
      wire::read_document(*lease, line, "a watch event", members(on("type", watch.type), on("object", read_object)));
  if (!status) return status.error();
  return complete(std::move(watch));
}

}  // namespace api
