#pragma once

/// Pull parser for the protobuf wire format, and tables that map field numbers of messages to names.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace api::protobuf {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

/// Iterates over the fields of one message, in order. Does not recurse, so nesting uses no stack. Keeps views into the
/// bytes. Lengths are read as 64 bits and checked against the available bytes before they are used.
class Cursor {
 public:
  explicit Cursor(std::string_view message) : rest_(message) {}

  /// Advances to the next field. Returns false at the end and at malformed bytes; failed() distinguishes them.
  bool next();
  bool failed() const { return failed_; }

  std::uint32_t number() const { return number_; }
  WireType wire_type() const { return wire_type_; }
  /// Value of a varint field, 0 for other fields.
  std::uint64_t varint() const { return varint_; }
  /// Value of a length-delimited field, empty for other fields.
  std::string_view bytes() const { return bytes_; }
  /// The rest of the message, starting with the current field.
  std::string_view from_here() const { return from_here_; }

 private:
  bool fail();
  bool skip(std::size_t count);

  std::string_view rest_;
  std::string_view from_here_;
  std::string_view bytes_;
  std::uint64_t varint_ = 0;
  std::uint32_t number_ = 0;
  WireType wire_type_ = WireType::kVarint;
  bool failed_ = false;
};

/// Calls each(cursor) for every field of a message. Returns false if the message is malformed.
template <typename F>
bool for_each_field(std::string_view message, F&& each) {
  Cursor cursor(message);
  while (cursor.next()) each(cursor);
  return !cursor.failed();
}

/// Removes a varint from the front of `bytes`. kIncomplete means that more bytes could complete it.
enum class Taken { kYes, kIncomplete, kMalformed };
Taken take_varint(std::string_view& bytes, std::uint64_t& value);

void put_varint(std::string& to, std::uint64_t value);
/// Appends `bytes` as a length-delimited field.
void put_bytes(std::string& to, std::uint32_t number, std::string_view bytes);

enum class FieldType : std::uint8_t {
  kText,
  kInteger,
  kBool,
  kMessage,
  kInline,  ///< message whose members belong to its parent in JSON
  kTime,
  kQuantity,
  kIntOrString,
  kTextMap,
  kQuantityMap,
};

struct Message;

/// A field to read, with its JSON name.
struct Field {
  std::uint32_t number;
  std::string_view name;
  FieldType type;
  const Message* message = nullptr;  ///< for kMessage and kInline
  bool repeated = false;             ///< also true for maps
};

/// At most 64 fields. Fields that are not listed are skipped.
struct Message {
  std::span<const Field> fields;
};

}  // namespace api::protobuf
