#include "base/crypto/hash.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

namespace crypto {
namespace {

using Digest = std::array<unsigned char, EVP_MAX_MD_SIZE>;

std::string hex(const Digest& digest, unsigned int size) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(std::size_t{2} * size);
  for (unsigned int i = 0; i < size; ++i) text.append({kDigits[digest[i] >> 4], kDigits[digest[i] & 15]});
  return text;
}

/// Cached: OpenSSL 3 searches its providers for the algorithm at each fetch, which takes longer than the hash.
const EVP_MD* sha256_method() {
  static const EVP_MD* const fetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return fetched != nullptr ? fetched : EVP_sha256();
}

}  // namespace

std::string sha256(std::string_view bytes) {
  Digest digest{};
  unsigned int size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, sha256_method(), nullptr);
  return hex(digest, size);
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  Digest digest{};
  unsigned int size = 0;
  HMAC(sha256_method(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(bytes.data()),
       bytes.size(), digest.data(), &size);
  return hex(digest, size);
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace crypto
