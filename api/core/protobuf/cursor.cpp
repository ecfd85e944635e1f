#include "api/core/protobuf/cursor.hpp"

namespace api::protobuf {
namespace {

constexpr int kMaxVarint = 10;
constexpr std::uint64_t kMaxNumber = (1U << 29U) - 1;

}  // namespace

Taken take_varint(std::string_view& bytes, std::uint64_t& value) {
  value = 0;
  for (int i = 0; i < kMaxVarint; ++i) {
    if (static_cast<std::size_t>(i) == bytes.size()) return Taken::kIncomplete;
    const auto byte = static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
    if (i == kMaxVarint - 1 && byte > 1) return Taken::kMalformed;  // exceeds 64 bits
    value |= static_cast<std::uint64_t>(byte & 0x7fU) << (7 * static_cast<unsigned>(i));
    if (byte >= 0x80) continue;
    bytes.remove_prefix(static_cast<std::size_t>(i) + 1);
    return Taken::kYes;
  }
  return Taken::kMalformed;
}

void put_varint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) to += static_cast<char>(value | 0x80U);
  to += static_cast<char>(value);
}

void put_bytes(std::string& to, std::uint32_t number, std::string_view bytes) {
  put_varint(to, (static_cast<std::uint64_t>(number) << 3U) | static_cast<std::uint64_t>(WireType::kLengthDelimited));
  put_varint(to, bytes.size());
  to += bytes;
}

bool Cursor::fail() {
  failed_ = true;
  rest_ = {};
  return false;
}

bool Cursor::skip(std::size_t count) {
  if (rest_.size() < count) return fail();
  rest_.remove_prefix(count);
  return true;
}

bool Cursor::next() {
  if (rest_.empty()) return false;
  from_here_ = rest_;
  bytes_ = {};
  varint_ = 0;
  std::uint64_t tag = 0;
  if (take_varint(rest_, tag) != Taken::kYes) return fail();
  if ((tag >> 3U) == 0 || (tag >> 3U) > kMaxNumber) return fail();
  number_ = static_cast<std::uint32_t>(tag >> 3U);
  wire_type_ = static_cast<WireType>(tag & 7U);
  switch (wire_type_) {
    case WireType::kVarint: return take_varint(rest_, varint_) == Taken::kYes || fail();
    case WireType::kFixed64: return skip(8);
    case WireType::kFixed32: return skip(4);
    case WireType::kLengthDelimited: {
      std::uint64_t length = 0;
      if (take_varint(rest_, length) != Taken::kYes || length > rest_.size()) return fail();
      bytes_ = rest_.substr(0, length);
      return skip(length);
    }
  }
  return fail();  // groups, which Kubernetes does not use, and invalid types
}

}  // namespace api::protobuf
