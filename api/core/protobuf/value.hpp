#pragma once

/// Values of a protobuf message under their JSON names, with the same reader functions as simdjson's values
/// (api/core/codec_reader.hpp), so that each decoder is written once for both formats. A field of a wrong type counts
/// as absent; malformed bytes are an error. Internal to the decoders of api/core/.

#include <simdjson.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/core/protobuf/cursor.hpp"
#include "base/clock.hpp"

namespace api::wire {

using simdjson::error_code;

/// The simdjson error that stands for malformed protobuf.
inline constexpr error_code kMalformedProtobuf = simdjson::TAPE_ERROR;

/// One value, or all values of a repeated field. Keeps views.
class ProtoValue {
 public:
  /// Value of the field at the cursor. For a repeated field: all bytes from there to the end of the message.
  ProtoValue(const protobuf::Field& field, const protobuf::Cursor& at)
      : field_(&field),
        bytes_(field.repeated ? at.from_here() : at.bytes()),
        varint_(at.varint()),
        all_(field.repeated) {}
  /// One value of a repeated field.
  ProtoValue(const protobuf::Field& field, std::string_view bytes) : field_(&field), bytes_(bytes) {}
  /// A whole message.
  explicit ProtoValue(const protobuf::Message& message, std::string_view bytes) : message_(&message), bytes_(bytes) {}

  bool is(protobuf::FieldType type) const { return field_ != nullptr && !all_ && field_->type == type; }
  bool is_repeated() const { return all_; }
  /// Returns the message type, or nullptr if the value is not a message.
  const protobuf::Message* message() const {
    if (message_ != nullptr) return message_;
    return is(protobuf::FieldType::kMessage) ? field_->message : nullptr;
  }
  const protobuf::Field& field() const { return *field_; }
  std::string_view bytes() const { return bytes_; }
  std::uint64_t varint() const { return varint_; }
  /// Returns the text of a kText, valid as long as this value. Invalid UTF-8 is replaced with U+FFFD, as in a server's
  /// JSON.
  std::string_view text();

 private:
  const protobuf::Field* field_ = nullptr;
  const protobuf::Message* message_ = nullptr;
  std::string_view bytes_;
  std::uint64_t varint_ = 0;
  bool all_ = false;
  std::string repaired_;
};

/// Returns true if the type of the field uses this wire type.
bool is_written_as(const protobuf::Field& field, protobuf::WireType type);

struct ProtoEntry {
  std::string_view key;
  std::string_view value;
};
std::optional<ProtoEntry> read_entry(std::string_view bytes);

/// Reads the text of a kQuantity, such as 250m.
std::optional<std::string_view> read_quantity_text(std::string_view bytes);

struct ProtoIntOrString {
  bool is_text = false;
  std::int64_t number = 0;
  std::string_view text;
};
std::optional<ProtoIntOrString> read_int_or_string(std::string_view bytes);

/// Reads a kTime. Returns nullopt if it is not set, or outside the years that RFC 3339 can express.
std::optional<base::TimePoint> read_proto_time(std::string_view bytes);

template <typename F>
error_code for_message(const protobuf::Message& message, std::string_view bytes, F& each) {
  std::uint64_t done = 0;  // repeated fields that were read: `each` gets all values at the first occurrence
  protobuf::Cursor cursor(bytes);
  while (cursor.next()) {
    for (std::size_t i = 0; i < message.fields.size(); ++i) {
      const protobuf::Field& field = message.fields[i];
      if (field.number != cursor.number() || !is_written_as(field, cursor.wire_type())) continue;
      if (field.type == protobuf::FieldType::kInline) {
        if (const error_code error = for_message(*field.message, cursor.bytes(), each)) return error;
        break;
      }
      if (((done >> i) & 1U) != 0) break;
      if (field.repeated) done |= std::uint64_t{1} << i;
      ProtoValue value(field, cursor);
      if (const error_code error = each(field.name, value)) return error;
      break;
    }
  }
  return cursor.failed() ? kMalformedProtobuf : simdjson::SUCCESS;
}

template <typename F>
error_code for_members(ProtoValue& value, F&& each) {
  const protobuf::Message* message = value.message();
  return message == nullptr ? simdjson::SUCCESS : for_message(*message, value.bytes(), each);
}

template <typename F>
error_code for_elements(ProtoValue& value, F&& each) {
  if (!value.is_repeated()) return simdjson::SUCCESS;
  protobuf::Cursor cursor(value.bytes());
  while (cursor.next()) {
    if (cursor.number() != value.field().number || !is_written_as(value.field(), cursor.wire_type())) continue;
    ProtoValue item(value.field(), cursor.bytes());
    if (const error_code error = each(item)) return error;
  }
  return cursor.failed() ? kMalformedProtobuf : simdjson::SUCCESS;
}

namespace entry {
inline constexpr protobuf::Field kText{1, "key", protobuf::FieldType::kText};
inline constexpr protobuf::Field kQuantity{2, "value", protobuf::FieldType::kQuantity};
}  // namespace entry

/// Calls each(key, value) for the entries of a map.
template <typename F>
error_code for_entries(ProtoValue& value, F&& each) {
  using protobuf::FieldType;
  if (!value.is_repeated()) return simdjson::SUCCESS;
  const FieldType type = value.field().type;
  if (type != FieldType::kTextMap && type != FieldType::kQuantityMap) return simdjson::SUCCESS;
  return for_elements(value, [&](ProtoValue& item) {
    const auto found = read_entry(item.bytes());
    if (!found) return kMalformedProtobuf;
    ProtoValue key(entry::kText, found->key);
    ProtoValue mapped(type == FieldType::kTextMap ? entry::kText : entry::kQuantity, found->value);
    return each(key.text(), mapped);
  });
}

/// Returns INCORRECT_TYPE if the value is not a text.
inline error_code text_of(ProtoValue& value, std::string_view& text) {
  if (!value.is(protobuf::FieldType::kText)) return simdjson::INCORRECT_TYPE;
  text = value.text();
  return simdjson::SUCCESS;
}

inline error_code is_object(ProtoValue& value, bool& target) {
  target = value.message() != nullptr;
  return simdjson::SUCCESS;
}

inline error_code is_null(ProtoValue& /*value*/, bool& target) {
  target = false;
  return simdjson::SUCCESS;
}

/// Sets `target` to true if the value is a repeated field (which has at least one value) or a non-empty message.
inline error_code read_non_empty(ProtoValue& value, bool& target) {
  target = target || value.is_repeated() || (value.message() != nullptr && !value.bytes().empty());
  return simdjson::SUCCESS;
}

inline error_code read(ProtoValue& value, std::string& target) {
  if (value.is(protobuf::FieldType::kText)) target = value.text();
  return simdjson::SUCCESS;
}

inline error_code read(ProtoValue& value, bool& target) {
  if (value.is(protobuf::FieldType::kBool)) target = value.varint() != 0;
  return simdjson::SUCCESS;
}

inline error_code read(ProtoValue& value, std::optional<base::TimePoint>& target) {
  if (value.is(protobuf::FieldType::kTime)) target = read_proto_time(value.bytes());
  return simdjson::SUCCESS;
}

inline error_code read(ProtoValue& value, base::TimePoint& target) {
  if (value.is(protobuf::FieldType::kTime)) target = read_proto_time(value.bytes()).value_or(target);
  return simdjson::SUCCESS;
}

/// A number out of range leaves the target unchanged.
template <std::signed_integral Integer>
error_code read(ProtoValue& value, std::optional<Integer>& target) {
  const auto number = static_cast<std::int64_t>(value.varint());
  if (value.is(protobuf::FieldType::kInteger) && std::in_range<Integer>(number)) target = static_cast<Integer>(number);
  return simdjson::SUCCESS;
}

template <std::signed_integral Integer>
error_code read(ProtoValue& value, Integer& target) {
  std::optional<Integer> number;
  const error_code error = read(value, number);
  target = number.value_or(target);
  return error;
}

inline error_code read(ProtoValue& value, std::vector<std::string>& target) {
  return for_elements(value, [&](ProtoValue& item) {
    if (item.is(protobuf::FieldType::kText)) target.emplace_back(item.text());
    return simdjson::SUCCESS;
  });
}

}  // namespace api::wire
