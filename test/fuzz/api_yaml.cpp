/// Any YAML: no crash, and parsed documents round-trip.

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "api/json/yaml.hpp"

namespace {

/// libyaml refuses plain keys longer than 1024 characters, and the writer does not split them.
bool has_long_key(const api::Json& value) {
  if (!value.is_structured()) return false;
  for (const auto& [key, member] : value.items()) {
    if (key.size() > 200 || has_long_key(member)) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto documents = api::parse_yaml({reinterpret_cast<const char*>(data), size});
  if (!documents) return 0;
  for (const api::Json& document : *documents) {
    if (has_long_key(document)) continue;
    const auto back = api::parse_yaml(api::to_yaml(document));
    if (!back || back->size() != 1 || back->front() != document) std::abort();
  }
  return 0;
}
