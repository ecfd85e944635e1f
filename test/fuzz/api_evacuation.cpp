/// Any text as an Evacuation: no crash, decoded objects round-trip, check agrees with decode, and the text reader
/// agrees with the JSON reader unless a key is repeated.

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "api/evacuation.hpp"
#include "api/evacuation/stored.hpp"

namespace {

void compare_readers(std::string_view text) {
  const auto read = api::read_stored_evacuation(text);
  const auto json = api::parse_json_unique(text);
  if (!json || !json->is_object() || !json->contains("metadata")) return;
  const auto decoded = api::decode_stored_evacuation(*json);
  if (!decoded) return;
  if (!read || read->meta != decoded->meta || read->spec != decoded->spec || read->status != decoded->status)
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  compare_readers(text);
  const auto json = api::parse_json(text);
  if (!json) return 0;
  const std::vector<std::string_view> evictors = {"eviction-api", "annotation"};
  const auto errors = api::check_evacuation(*json, evictors);
  const auto evacuation = api::decode_evacuation(*json);
  if (!evacuation) {
    if (errors.empty()) std::abort();
    return 0;
  }
  if (errors != api::validate(evacuation->spec, evictors)) std::abort();
  if (!api::validate_update(evacuation->spec, evacuation->spec).empty()) std::abort();
  api::Json encoded = api::encode_evacuation(*evacuation);
  encoded["status"] = api::encode_status(evacuation->status);
  const auto back = api::decode_evacuation(api::to_json_text(encoded));
  if (!back || back->spec != evacuation->spec || back->status != evacuation->status) std::abort();
  return 0;
}
