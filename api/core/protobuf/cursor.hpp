#pragma once

/// A pull parser for the protobuf wire format, and the shapes of messages: which numbers have which names.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace api::protobuf {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

/// Walks the fields of one message, in order. Goes into nothing, so nesting costs no stack. Keeps views into the bytes.
/// Lengths are taken as 64 bits wide and compared with what is there before anything is read.
class Cursor {
 public:
  explicit Cursor(std::string_view message) : rest_(message) {}

  /// Steps to the next field. False at the end, and at bytes that are no protobuf: failed() tells them apart.
  bool next();
  bool failed() const { return failed_; }

  std::uint32_t number() const { return number_; }
  WireType wire_type() const { return wire_type_; }
  /// Of a varint; 0 for others.
  std::uint64_t varint() const { return varint_; }
  /// Of a length-delimited field; empty for others.
  std::string_view bytes() const { return bytes_; }
  /// The message from this field on.
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

/// Takes a varint off the front of `bytes`. kShort: more bytes could complete it.
enum class Taken { kYes, kShort, kMalformed };
Taken take_varint(std::string_view& bytes, std::uint64_t& value);

/// Appends a varint.
void put_varint(std::string& to, std::uint64_t value);
/// Appends `bytes` as a length-delimited field.
void put_bytes(std::string& to, std::uint32_t number, std::string_view bytes);

enum class FieldType : std::uint8_t {
  kText,
  kInteger,
  kBool,
  kMessage,
  kInline,  ///< a message whose members are its parent's in JSON
  kTime,
  kQuantity,
  kIntOrString,
  kTextMap,
  kQuantityMap,
};

struct Message;

/// One field that is read, with its name in JSON.
struct Field {
  std::uint32_t number;
  std::string_view name;
  FieldType type;
  const Message* message = nullptr;  ///< of kMessage and kInline
  bool repeated = false;             ///< maps are
};

/// At most 64 fields; those that are not named are skipped.
struct Message {
  std::span<const Field> fields;
};

}  // namespace api::protobuf
