/// Any text as an Evacuation: no crash; what decodes reads back equal after encoding; check agrees with decode.

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "api/evacuation.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json = api::parse_json({reinterpret_cast<const char*>(data), size});
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
