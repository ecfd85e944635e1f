#include "api/meta/label_value.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace api {
namespace {

constexpr std::size_t kDigits = 10;

}  // namespace

std::string label_value(std::string_view name) {
  if (name.size() <= kMaxLabelValue) return std::string(name);
  const std::string digits = fmt::format("{:016x}", base::fnv1a(name)).substr(0, kDigits);
  return fmt::format("{}-{}", name.substr(0, kMaxLabelValue - kDigits - 1), digits);
}

}  // namespace api
