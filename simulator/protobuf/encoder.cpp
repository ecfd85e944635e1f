#include "simulator/protobuf/encoder.hpp"

#include <limits>
#include <optional>

#include <nlohmann/json.hpp>

#include "api/core/protobuf/envelope.hpp"
#include "base/clock.hpp"

namespace simulator {
namespace {

using api::Json;
using api::protobuf::Field;
using api::protobuf::FieldType;
using api::protobuf::Message;
using api::protobuf::put_bytes;
using api::protobuf::put_varint;
using api::protobuf::WireType;

constexpr Field kCauseFields[] = {{1, "reason", FieldType::kText}, {2, "message", FieldType::kText}};
constexpr Message kCause{kCauseFields};
constexpr Field kDetailsFields[] = {{1, "name", FieldType::kText},
                                    {2, "group", FieldType::kText},
                                    {3, "kind", FieldType::kText},
                                    {4, "causes", FieldType::kMessage, &kCause, true},
                                    {5, "retryAfterSeconds", FieldType::kInteger}};
constexpr Message kDetails{kDetailsFields};
constexpr Field kStatusFields[] = {{2, "status", FieldType::kText},
                                   {3, "message", FieldType::kText},
                                   {4, "reason", FieldType::kText},
                                   {5, "details", FieldType::kMessage, &kDetails},
                                   {6, "code", FieldType::kInteger}};
constexpr Message kStatus{kStatusFields};

void put_integer(std::string& to, std::uint32_t number, std::int64_t value) {
  put_varint(to, (static_cast<std::uint64_t>(number) << 3U) | static_cast<std::uint64_t>(WireType::kVarint));
  put_varint(to, static_cast<std::uint64_t>(value));
}

const std::string* text_in(const Json& value) { return value.get_ptr<const Json::string_t*>(); }

std::optional<std::int64_t> integer_in(const Json& value) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
    return std::nullopt;
  if (!value.is_number_integer()) return std::nullopt;
  return value.get<std::int64_t>();
}

/// Encodes {seconds}. Returns an empty string for an invalid time.
std::string time_bytes(const Json& value) {
  const std::string* text = text_in(value);
  const auto time = text != nullptr ? base::parse_time(*text) : std::nullopt;
  std::string bytes;
  if (time) put_integer(bytes, 1, std::chrono::floor<base::seconds>(*time).time_since_epoch().count());
  return bytes;
}

/// Encodes {text}. Numbers are converted to text, as by a server.
std::string quantity_bytes(const Json& value) {
  const std::string* text = text_in(value);
  std::string bytes;
  put_bytes(bytes, 1, text != nullptr ? *text : value.dump());
  return bytes;
}

/// Encodes {kind, number, text}. Returns an empty string if the value is neither.
std::string int_or_string_bytes(const Json& value) {
  std::string bytes;
  if (const std::string* text = text_in(value)) {
    put_integer(bytes, 1, 1);
    put_bytes(bytes, 3, *text);
  } else if (const auto number = integer_in(value)) {
    put_integer(bytes, 1, 0);
    put_integer(bytes, 2, *number);
  }
  return bytes;
}

void put_map(std::string& to, const Field& field, const Json& map) {
  if (!map.is_object()) return;
  for (const auto& [key, value] : map.items()) {
    const bool is_amount = field.type == FieldType::kQuantityMap;
    if (is_amount ? !value.is_string() && !value.is_number() : !value.is_string()) continue;
    std::string entry;
    put_bytes(entry, 1, key);
    put_bytes(entry, 2, is_amount ? quantity_bytes(value) : *text_in(value));
    put_bytes(to, field.number, entry);
  }
}

/// Encodes a message of which decoders check only presence, with a placeholder.
std::string opaque_bytes(const Json& object) {
  std::string bytes;
  if (!object.empty()) put_bytes(bytes, 1, "something");
  return bytes;
}

void put_message(std::string& to, const Field& field, const Json& object) {
  if (!object.is_object()) return;
  put_bytes(to, field.number,
            field.message->fields.empty() ? opaque_bytes(object) : encode_message(*field.message, object));
}

void put_unless_empty(std::string& to, const Field& field, const std::string& bytes) {
  if (!bytes.empty()) put_bytes(to, field.number, bytes);
}

void put_value(std::string& to, const Field& field, const Json& value) {
  switch (field.type) {
    case FieldType::kText:
      if (const std::string* text = text_in(value)) put_bytes(to, field.number, *text);
      return;
    case FieldType::kInteger:
      if (const auto number = integer_in(value)) put_integer(to, field.number, *number);
      return;
    case FieldType::kBool:
      if (value.is_boolean()) put_integer(to, field.number, value.get<bool>() ? 1 : 0);
      return;
    case FieldType::kMessage:
    case FieldType::kInline: return put_message(to, field, value);
    case FieldType::kTime: return put_unless_empty(to, field, time_bytes(value));
    case FieldType::kQuantity:
      if (value.is_string() || value.is_number()) put_bytes(to, field.number, quantity_bytes(value));
      return;
    case FieldType::kIntOrString: return put_unless_empty(to, field, int_or_string_bytes(value));
    case FieldType::kTextMap:
    case FieldType::kQuantityMap: return put_map(to, field, value);
  }
}

void put_field(std::string& to, const Field& field, const Json& object) {
  if (field.type == FieldType::kInline) return put_unless_empty(to, field, encode_message(*field.message, object));
  const auto found = object.find(std::string(field.name));
  if (found == object.end() || found->is_null()) return;
  const bool is_map = field.type == FieldType::kTextMap || field.type == FieldType::kQuantityMap;
  if (!field.repeated || is_map) return put_value(to, field, *found);
  if (!found->is_array()) return;
  for (const Json& each : *found) put_value(to, field, each);
}

}  // namespace

std::string encode_message(const Message& message, const Json& object) {
  std::string bytes;
  if (!object.is_object()) return bytes;
  for (const Field& field : message.fields) put_field(bytes, field, object);
  return bytes;
}

std::string protobuf_status(const Json& status) {
  return api::protobuf::seal("v1", "Status", encode_message(kStatus, status));
}

std::string protobuf_event(std::string_view type, std::string_view envelope) {
  std::string object;
  put_bytes(object, 1, envelope);
  std::string event;
  put_bytes(event, 1, type);
  put_bytes(event, 2, object);
  return event;
}

}  // namespace simulator
