#include "base/crypto/key.hpp"

#include <fmt/format.h>
#include <openssl/rand.h>

#include "base/crypto/hash.hpp"

namespace crypto {
namespace {

constexpr std::size_t kIdDigits = 16;
constexpr std::string_view kIdPurpose = "evacuator.dev/key-id/v1";

void append(std::string& text, std::string_view field) { text += fmt::format("{}:{},", field.size(), field); }

}  // namespace

std::string canonical(std::string_view purpose, std::initializer_list<std::string_view> fields) {
  std::string text;
  append(text, purpose);
  for (const std::string_view field : fields) append(text, field);
  return text;
}

Key::Key(std::string bytes)
    : bytes_(std::move(bytes)), id_(hmac_sha256(bytes_, canonical(kIdPurpose, {})).substr(0, kIdDigits)) {}

base::Result<Key> Key::from_bytes(std::string bytes) {
  if (bytes.size() < kBytes || bytes.size() > kMaxBytes) {
    return base::invalid(fmt::format("a key has {} to {} bytes, and this one has {}", kBytes, kMaxBytes, bytes.size()));
  }
  return Key(std::move(bytes));
}

base::Result<Key> Key::random() {
  std::string bytes(kBytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size())) != 1) {
    return base::unavailable("no random numbers for a new signing key");
  }
  return Key(std::move(bytes));
}

std::string Key::sign(std::string_view purpose, std::initializer_list<std::string_view> fields) const {
  return hmac_sha256(bytes_, canonical(purpose, fields));
}

bool Key::verifies(std::string_view mac, std::string_view purpose,
                   std::initializer_list<std::string_view> fields) const {
  return equal_in_constant_time(mac, sign(purpose, fields));
}

const Key* KeyRing::find(std::string_view id) const {
  if (current.id() == id) return &current;
  return previous && previous->id() == id ? &*previous : nullptr;
}

}  // namespace crypto
