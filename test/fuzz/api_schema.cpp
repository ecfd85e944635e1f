/// Any JSON validated by the schema of our CRD: no crash, and pruning and defaulting are idempotent.

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "api/json/schema.hpp"
#include "api/json/yaml.hpp"

namespace {

api::Json policy_schema() {
  std::ifstream in(EVACUATOR_SOURCE_DIR "/crds/evacuator.dev_deschedulerpolicies.yaml");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return api::parse_yaml(text)->at(0).at("spec").at("versions").at(0).at("schema").at("openAPIV3Schema");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const api::Json kSchema = policy_schema();
  auto json = api::parse_json({reinterpret_cast<const char*>(data), size});
  if (!json) return 0;
  api::prune(kSchema, *json);
  api::apply_defaults(kSchema, *json);
  static_cast<void>(api::validate_schema(kSchema, *json));
  api::Json again = *json;
  if (!api::prune(kSchema, again).empty()) std::abort();
  api::apply_defaults(kSchema, again);
  if (again != *json) std::abort();
  return 0;
}
