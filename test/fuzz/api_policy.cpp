/// Any text as a DeschedulerPolicy: no crash, and a valid policy round-trips.

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "api/descheduler_policy.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json = api::parse_json({reinterpret_cast<const char*>(data), size});
  if (!json) return 0;
  const std::vector<std::string_view> evictors = {"eviction-api", "annotation"};
  const auto errors = api::check_descheduler_policy(*json, evictors);
  const auto policy = api::decode_descheduler_policy(*json);
  if (!policy) {
    if (errors.empty()) std::abort();
    return 0;
  }
  if (errors != api::validate(policy->spec, evictors)) std::abort();
  // Invalid specs need not round-trip: a threshold without value and name is written as {}.
  if (!errors.empty()) return 0;
  api::Json encoded = api::encode_descheduler_policy(*policy);
  const auto back = api::decode_descheduler_policy(api::to_json_text(encoded));
  if (!back || back->spec != policy->spec) std::abort();
  return 0;
}
