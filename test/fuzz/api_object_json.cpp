/// The fast reader returns the same value as nlohmann's, except for managedFields. Text that it refuses is no object.

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "api/core/object_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto quick = api::parse_object_json(text);
  auto slow = api::parse_json(text);
  // simdjson tolerates some invalid texts, for example text after the object.
  if (!slow || !slow->is_object()) return 0;
  if (!quick) std::abort();
  const auto metadata = slow->find("metadata");
  if (metadata != slow->end() && metadata->is_object()) metadata->erase("managedFields");
  if (*quick != *slow) std::abort();
  return 0;
}
