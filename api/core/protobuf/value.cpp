#include "api/core/protobuf/value.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace api::wire {
namespace {

using protobuf::Cursor;
using protobuf::FieldType;
using protobuf::WireType;

constexpr std::int64_t kFirstSecond = -62'135'596'800;  // start of year 1
constexpr std::int64_t kLastSecond = 253'402'300'799;   // end of year 9999
constexpr std::size_t kReplacement = 3;                 // bytes of U+FFFD

}  // namespace

std::string_view ProtoValue::text() {
  if (simdjson::validate_utf8(bytes_.data(), bytes_.size())) return bytes_;
  repaired_ = base::truncate_utf8(bytes_, bytes_.size() * kReplacement);
  return repaired_;
}

bool is_written_as(const protobuf::Field& field, WireType type) {
  const bool is_number = field.type == FieldType::kInteger || field.type == FieldType::kBool;
  return type == (is_number ? WireType::kVarint : WireType::kLengthDelimited);
}

std::optional<ProtoEntry> read_entry(std::string_view bytes) {
  ProtoEntry entry;
  const bool is_whole = protobuf::for_each_field(bytes, [&](const Cursor& field) {
    if (field.number() == 1) entry.key = field.bytes();
    if (field.number() == 2) entry.value = field.bytes();
  });
  return is_whole ? std::optional(entry) : std::nullopt;
}

std::optional<std::string_view> read_quantity_text(std::string_view bytes) {
  std::string_view text;
  const bool is_whole = protobuf::for_each_field(bytes, [&](const Cursor& field) {
    if (field.number() == 1) text = field.bytes();
  });
  return is_whole ? std::optional(text) : std::nullopt;
}

std::optional<ProtoIntOrString> read_int_or_string(std::string_view bytes) {
  ProtoIntOrString read;
  const bool is_whole = protobuf::for_each_field(bytes, [&](const Cursor& field) {
    if (field.number() == 1) read.is_text = field.varint() == 1;
    if (field.number() == 2) read.number = static_cast<std::int64_t>(field.varint());
    if (field.number() == 3) read.text = field.bytes();
  });
  return is_whole ? std::optional(read) : std::nullopt;
}

std::optional<base::TimePoint> read_proto_time(std::string_view bytes) {
  std::int64_t seconds = 0;
  const bool is_whole = protobuf::for_each_field(bytes, [&](const Cursor& field) {
    if (field.number() == 1) seconds = static_cast<std::int64_t>(field.varint());
  });
  // Fractions of a second are dropped, as in a server's JSON.
  if (bytes.empty() || !is_whole || seconds < kFirstSecond || seconds > kLastSecond) return std::nullopt;
  return base::TimePoint(base::seconds(seconds));
}

}  // namespace api::wire
