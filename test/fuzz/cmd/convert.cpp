/// Any text as a policy of upstream's descheduler: no crash, the output decodes, is valid, and has only strategies of
/// the catalogue.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cmd/convert/policy.hpp"

namespace {

/// Knows most names and reports each kind of error that the converter handles.
convert::StrategyCatalogue stub_catalogue() {
  return {{"HighNodeUtilization", "LowNodeUtilization", "PodLifeTime", "RemoveDuplicates"},
          [](const std::vector<api::StrategyChoice>& choices) -> api::FieldErrors {
            const auto args = api::parse_json(choices.at(0).args_json);
            if (!args || !args->is_object()) std::abort();
            if (args->contains("metricsUtilization"))
              return {{"spec.strategies[0].args.metricsUtilization", "not supported yet"}};
            if (args->contains("states") && !args->contains("terminalPods"))
              return {{"spec.strategies[0].args.states[0]", "Failed selects …; set terminalPods: {evict: true} if …"}};
            if (args->contains("nope")) return {{"spec.strategies[0].args.nope", "unknown field"}};
            return {};
          }};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const convert::StrategyCatalogue catalogue = stub_catalogue();
  const auto conversion = convert::convert_upstream({reinterpret_cast<const char*>(data), size}, catalogue, {});
  if (!conversion.errors.empty() && !conversion.policies.empty()) std::abort();
  if (conversion.policies.size() != conversion.sources.size()) std::abort();
  for (const api::Json& object : conversion.policies) {
    const auto policy = api::decode_descheduler_policy(object);
    if (!policy || !api::validate(policy->spec, {}).empty()) std::abort();
    for (const api::StrategyChoice& choice : policy->spec.strategies) {
      if (std::ranges::find(catalogue.names, choice.name) == catalogue.names.end()) std::abort();
    }
  }
  return 0;
}
