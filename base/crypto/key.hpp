#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

/// Keys by which the operator recognises what it wrote itself. Pure: where they are kept is the business of
/// controllers/signing. Never logged; a key is named by its id.
namespace signing {

/// The text that is signed: `purpose` and the fields in order, each as "<length in bytes>:<bytes>,". No two lists give
/// the same text, whatever the fields hold. The purpose keeps a signature of one thing from passing for another's.
std::string canonical(std::string_view purpose, std::initializer_list<std::string_view> fields);

/// One secret.
class Key {
 public:
  static constexpr std::size_t kBytes = 32;  ///< of a new key
  static constexpr std::size_t kMaxBytes = 1024;

  /// An error when there are fewer than kBytes or more than kMaxBytes.
  static base::Result<Key> from_bytes(std::string bytes);
  /// kBytes from OpenSSL's generator. An error when that has no entropy.
  static base::Result<Key> random();

  /// 16 hex digits that tell keys apart and nothing of what they hold.
  const std::string& id() const { return id_; }
  const std::string& bytes() const { return bytes_; }

  /// 64 hex digits.
  std::string sign(std::string_view purpose, std::initializer_list<std::string_view> fields) const;
  bool verifies(std::string_view mac, std::string_view purpose, std::initializer_list<std::string_view> fields) const;

  friend bool operator==(const Key&, const Key&) = default;

 private:
  explicit Key(std::string bytes);

  std::string bytes_;
  std::string id_;
};

/// What signs now, and what was signed with the key before it still counts.
struct KeyRing {
  Key current;
  std::optional<Key> previous{};

  /// nullptr: no key has this id.
  const Key* find(std::string_view id) const;
  friend bool operator==(const KeyRing&, const KeyRing&) = default;
};

}  // namespace signing
