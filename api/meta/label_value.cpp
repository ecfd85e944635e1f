#include "api/meta/label_value.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace api {
namespace {

constexpr std::size_t kDigits = 10;

/// FNV-1a: it has to be the same in every version, and protects nothing.
std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

}  // namespace

std::string label_value(std::string_view name) {
  if (name.size() <= kMaxLabelValue) return std::string(name);
  const std::string digits = fmt::format("{:016x}", fnv1a(name)).substr(0, kDigits);
  return fmt::format("{}-{}", name.substr(0, kMaxLabelValue - kDigits - 1), digits);
}

}  // namespace api
