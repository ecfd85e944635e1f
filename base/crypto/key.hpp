#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

/// Keys that sign what the operator writes, so that it recognizes its own data. Pure:
/// controllers/evacuation/origin/keys.hpp stores the keys. Key bytes are never logged; logs identify a key by its id.
namespace crypto {

/// Returns the text that is signed: `purpose` and the fields in order, each as "<length in bytes>:<bytes>,". The
/// encoding is injective: different lists give different texts, whatever the fields contain. `purpose` prevents a
/// signature from being reused for another kind of object.
std::string canonical(std::string_view purpose, std::initializer_list<std::string_view> fields);

class Key {
 public:
  static constexpr std::size_t kBytes = 32;  ///< size of a new key
  static constexpr std::size_t kMaxBytes = 1024;

  /// Returns an error unless `bytes` has between kBytes and kMaxBytes bytes.
  static base::Result<Key> from_bytes(std::string bytes);
  /// Generates kBytes with OpenSSL's random generator. Returns an error when it has no entropy.
  static base::Result<Key> random();

  /// Returns 16 hex digits that identify the key and reveal nothing about its bytes.
  const std::string& id() const { return id_; }
  const std::string& bytes() const { return bytes_; }

  /// Returns the signature as 64 hex digits.
  std::string sign(std::string_view purpose, std::initializer_list<std::string_view> fields) const;
  bool verifies(std::string_view mac, std::string_view purpose, std::initializer_list<std::string_view> fields) const;

  friend bool operator==(const Key&, const Key&) = default;

 private:
  explicit Key(std::string bytes);

  std::string bytes_;
  std::string id_;
};

/// Key that signs, and the previous key, whose signatures are still accepted.
struct KeyRing {
  Key current;
  std::optional<Key> previous{};

  /// Returns nullptr if no key has this id.
  const Key* find(std::string_view id) const;
  friend bool operator==(const KeyRing&, const KeyRing&) = default;
};

}  // namespace crypto
