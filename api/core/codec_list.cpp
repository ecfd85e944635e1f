#include <fmt/format.h>

#include "api/core/codec.hpp"
#include "api/core/codec_reader.hpp"

namespace api {
namespace {

wire::error_code read_list_meta(wire::Value& value, ListMeta& meta) {
  return wire::for_members(value, [&](std::string_view key, wire::Value& member) {
    if (key == "resourceVersion") return wire::read(member, meta.resource_version);
    if (key == "continue") return wire::read(member, meta.continue_token);
    if (key == "remainingItemCount") return wire::read(member, meta.remaining_item_count);
    return simdjson::SUCCESS;
  });
}

/// The text of an object as it stands in the buffer. INCORRECT_TYPE when the value is none.
wire::error_code raw_object(wire::Value& value, std::string_view& text) {
  wire::Object object;
  if (const auto error = value.get_object().get(object)) return error;
  return object.raw_json().get(text);
}

}  // namespace

base::Result<ListMeta> for_each_item(std::string_view list_json,
                                     const std::function<base::Status(std::string_view item)>& each) {
  ListMeta meta;
  std::optional<base::Error> stopped;
  std::size_t index = 0;
  const auto visit = [&](wire::Value& item) {
    std::string_view text;
    if (const auto error = raw_object(item, text)) {
      if (error == simdjson::INCORRECT_TYPE)
        stopped = base::invalid(fmt::format("decoding a list: items[{}] is no object", index));
      return error;
    }
    ++index;
    auto done = each(text);
    if (done) return simdjson::SUCCESS;
    stopped = std::move(done).error();
    return simdjson::INCORRECT_TYPE;  // any error ends the walk; `stopped` says which it was
  };

  wire::Lease lease;
  const auto status = wire::read_document(*lease, list_json, "a list", [&](wire::Object& root) {
    return wire::for_members(root, [&](std::string_view key, wire::Value& value) {
      if (key == "apiVersion") return wire::read(value, meta.api_version);
      if (key == "kind") return wire::read(value, meta.kind);
      if (key == "metadata") return read_list_meta(value, meta);
      if (key == "items") return wire::for_elements(value, visit);
      return simdjson::SUCCESS;
    });
  });
  if (stopped) return *std::move(stopped);
  if (!status) return status.error();
  return meta;
}

base::Result<WatchLine> split_watch_line(std::string_view line) {
  WatchLine watch;
  wire::Lease lease;
  const auto status = wire::read_document(*lease, line, "a watch event", [&](wire::Object& root) {
    return wire::for_members(root, [&](std::string_view key, wire::Value& value) {
      if (key == "type") return wire::read(value, watch.type);
      if (key != "object") return simdjson::SUCCESS;
      std::string_view text;
      const auto error = raw_object(value, text);
      // The parser read a copy: the same place in the caller's line outlives it.
      if (!error) watch.object = line.substr(static_cast<std::size_t>(text.data() - lease->text.get()), text.size());
      return wire::unless_about_value(error);
    });
  });
  if (!status) return status.error();
  if (watch.type.empty()) return base::invalid("decoding a watch event: it has no type");
  if (watch.object.empty()) return base::invalid("decoding a watch event: it has no object");
  return watch;
}

}  // namespace api
