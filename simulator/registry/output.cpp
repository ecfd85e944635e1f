#include "simulator/registry/output.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/core/protobuf/envelope.hpp"
#include "api/core/protobuf/fields.hpp"
#include "api/json/json_access.hpp"
#include "simulator/protobuf/encoder.hpp"
#include "simulator/text.hpp"

namespace simulator {
namespace {

using api::Json;

/// Field names of core/v1 Events and the corresponding events.k8s.io/v1 names.
constexpr std::pair<const char*, const char*> kEventFields[] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"reportingComponent", "reportingController"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
};

void rename_member(Json& object, const char* from, const char* to) {
  const auto found = object.find(from);
  if (found == object.end()) return;
  Json value = std::move(*found);
  object.erase(from);
  object[to] = std::move(value);
}

bool is_served_as_stored(const ServedResource& resource, const Json& stored) {
  return resource.conversion == Conversion::kNone && stored.at("apiVersion") == resource.api_version();
}

std::string object_text(const ServedResource& resource, const Json& stored) {
  return is_served_as_stored(resource, stored) ? api::to_json_text(stored)
                                               : api::to_json_text(served_form(resource, stored));
}

/// Encodes a list item. In Kubernetes, items of typed lists have no apiVersion and kind, except for custom resources.
std::string item_text(const ServedResource& resource, const Json& stored) {
  std::string text = object_text(resource, stored);
  if (resource.custom) return text;
  const std::string head =
      fmt::format("{{\"apiVersion\":\"{}\",\"kind\":\"{}\",", resource.api_version(), resource.kind);
  if (text.starts_with(head)) return "{" + text.substr(head.size());
  Json bare = served_form(resource, stored);
  bare.erase("apiVersion");
  bare.erase("kind");
  return api::to_json_text(bare);
}

/// Encodes the object in an envelope. REQUIRES: protobuf_message_of(resource) is not nullptr.
std::string protobuf_object(const ServedResource& resource, const Json& stored) {
  return api::protobuf::seal(resource.api_version(), resource.kind,
                             encode_message(*protobuf_message_of(resource), stored));
}

std::string protobuf_list(const ServedResource& resource, const ListPage& page) {
  std::string body;
  api::protobuf::put_bytes(body, 1, encode_message(api::protobuf::kListMeta, list_metadata(page)));
  for (const Object& item : page.items)
    api::protobuf::put_bytes(body, 2, encode_message(*protobuf_message_of(resource), *item));
  return api::protobuf::seal(resource.api_version(), resource.list_kind, body);
}

Json metadata_only(const Json& stored) {
  return {{"kind", "PartialObjectMetadata"}, {"apiVersion", "meta.k8s.io/v1"}, {"metadata", stored.at("metadata")}};
}

/// Returns the format of one media range of an Accept header, nullopt if it is not supported.
std::optional<Output::Format> format_of(std::string_view range, bool has_protobuf) {
  const auto [type, parameters] = split_pair(range, ';');
  if (type == api::protobuf::kMediaType && has_protobuf && parameters.find("as=") == std::string_view::npos)
    return Output::Format::kProtobuf;
  if (type != "application/json" && type != "*/*" && type != "application/*" && type != "application/json-seq")
    return std::nullopt;
  if (parameters.find("as=Table") != std::string_view::npos) return Output::Format::kTable;
  if (parameters.find("as=PartialObjectMetadata") != std::string_view::npos) return Output::Format::kMetadata;
  if (parameters.find("as=") != std::string_view::npos) return std::nullopt;
  return Output::Format::kObject;
}

}  // namespace

Outcome<Output> negotiate(std::string_view accept, std::string_view include_object, base::TimePoint now,
                          bool has_protobuf) {
  Output output;
  output.now = now;
  if (include_object == "None") output.include = Output::Include::kNone;
  if (include_object == "Object") output.include = Output::Include::kObject;
  if (trim(accept).empty()) return output;
  for (const std::string_view range : split(accept, ',')) {
    if (const auto format = format_of(range, has_protobuf)) {
      output.format = *format;
      return output;
    }
  }
  return Failure{406, "NotAcceptable", "only the following media types are accepted: application/json", nullptr};
}

const api::protobuf::Message* protobuf_message_of(const ServedResource& resource) {
  return resource.custom ? nullptr : api::protobuf::message_of(resource.kind);
}

Json served_form(const ServedResource& resource, const Json& stored) {
  Json served = stored;
  served["apiVersion"] = resource.api_version();
  if (resource.conversion == Conversion::kNone) return served;
  for (const auto& [core, events] : kEventFields) rename_member(served, events, core);
  return served;
}

Json stored_form(const ServedResource& resource, Json served) {
  served["apiVersion"] = resource.storage.api_version();
  if (resource.conversion == Conversion::kNone) return served;
  for (const auto& [core, events] : kEventFields) rename_member(served, core, events);
  return served;
}

std::string encode_object(const ServedResource& resource, const Json& stored, const Output& output) {
  switch (output.format) {
    case Output::Format::kObject: return object_text(resource, stored) + "\n";
    case Output::Format::kProtobuf: return protobuf_object(resource, stored);
    case Output::Format::kMetadata: return api::to_json_text(metadata_only(stored)) + "\n";
    case Output::Format::kTable:
      return api::to_json_text(table_of(resource, {std::make_shared<const Json>(stored)}, output)) + "\n";
  }
  std::abort();
}

Json list_metadata(const ListPage& page) {
  Json metadata = {{"resourceVersion", std::to_string(page.revision)}};
  if (!page.continue_token.empty()) metadata["continue"] = page.continue_token;
  if (page.remaining > 0) metadata["remainingItemCount"] = page.remaining;
  return metadata;
}

std::string encode_list(const ServedResource& resource, const ListPage& page, const Output& output) {
  if (output.format == Output::Format::kProtobuf) return protobuf_list(resource, page);
  if (output.format == Output::Format::kTable) {
    Json table = table_of(resource, page.items, output);
    table["metadata"] = list_metadata(page);
    return api::to_json_text(table) + "\n";
  }
  const bool metadata = output.format == Output::Format::kMetadata;
  std::string text =
      fmt::format("{{\"kind\":\"{}\",\"apiVersion\":\"{}\",\"metadata\":{},\"items\":[",
                  metadata ? "PartialObjectMetadataList" : resource.list_kind,
                  metadata ? "meta.k8s.io/v1" : resource.api_version(), api::to_json_text(list_metadata(page)));
  bool first = true;
  for (const Object& item : page.items) {
    if (!first) text += ',';
    first = false;
    text += metadata ? api::to_json_text(metadata_only(*item)) : item_text(resource, *item);
  }
  return text + "]}\n";
}

std::string RecentTexts::encode(const ServedPtr& resource, const Object& stored, const Output& output) {
  const bool is_kept = output.format == Output::Format::kObject || output.format == Output::Format::kProtobuf;
  if (!is_kept) return encode_object(*resource, *stored, output);
  const std::scoped_lock lock(mutex_);
  const auto known = std::ranges::find_if(entries_, [&](const Entry& each) {
    return each.stored == stored && each.resource == resource && each.format == output.format;
  });
  if (known != entries_.end()) return known->text;
  Entry& entry = entries_[std::exchange(next_, (next_ + 1) % kKept)];
  entry = {resource, stored, output.format, encode_object(*resource, *stored, output)};
  return entry.text;
}

std::string encode_event(std::string_view type, std::string_view object) {
  if (api::protobuf::is_envelope(object)) return protobuf_event(type, object);
  object = object.substr(0, object.find_last_not_of('\n') + 1);
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}", type, object);
}

std::string encode_bookmark(const ServedResource& resource, std::uint64_t revision, const Output& output,
                            bool ends_initial_events) {
  Json metadata = {{"resourceVersion", std::to_string(revision)}};
  if (ends_initial_events) metadata["annotations"] = {{"k8s.io/initial-events-end", "true"}};
  Json object = {{"kind", resource.kind}, {"apiVersion", resource.api_version()}, {"metadata", metadata}};
  object["metadata"]["creationTimestamp"] = nullptr;
  if (output.format == Output::Format::kProtobuf) return protobuf_event("BOOKMARK", protobuf_object(resource, object));
  if (output.format == Output::Format::kMetadata) object["kind"] = "PartialObjectMetadata";
  if (output.format == Output::Format::kMetadata) object["apiVersion"] = "meta.k8s.io/v1";
  if (output.format == Output::Format::kTable) {
    object = table_of(resource, {}, output);
    object["metadata"] = metadata;
  }
  return fmt::format("{{\"type\":\"BOOKMARK\",\"object\":{}}}", api::to_json_text(object));
}

std::string encode_error_event(const Failure& failure, const Output& output) {
  if (output.format == Output::Format::kProtobuf)
    return protobuf_event("ERROR", protobuf_status(status_object(failure)));
  return fmt::format("{{\"type\":\"ERROR\",\"object\":{}}}", api::to_json_text(status_object(failure)));
}

}  // namespace simulator
