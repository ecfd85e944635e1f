#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cmd/convert/convert.hpp"
#include "planner/strategies/catalog.hpp"

namespace cmd {
namespace convert_test {

inline convert::Conversion convert(std::string_view text, const convert::UpstreamOptions& options = {}) {
  return convert::convert_upstream(text, strategy_catalogue(), options);
}

/// Returns the policy's spec without the members that all conversions share.
inline api::Json spec_of(const convert::Conversion& conversion, std::size_t policy = 0) {
  if (conversion.policies.size() <= policy) return "no such policy";
  api::Json spec = conversion.policies[policy].at("spec");
  spec.erase("mode");
  spec.erase("compatibility");
  return spec;
}

inline std::vector<std::string> names_of(const convert::Conversion& conversion) {
  std::vector<std::string> names;
  for (const api::Json& policy : conversion.policies) names.push_back(policy.at("metadata").at("name"));
  return names;
}

inline std::vector<std::string> notes_of(const convert::Conversion& conversion) {
  std::vector<std::string> notes;
  for (const auto& note : conversion.notes) notes.push_back(note.to_string());
  return notes;
}

inline std::vector<std::string> errors_of(const convert::Conversion& conversion) {
  std::vector<std::string> errors;
  for (const auto& error : conversion.errors) errors.push_back(error.to_string());
  return errors;
}

/// Expects that every policy of a conversion is accepted by the decoder, the validation and the strategies.
inline void expect_valid(const convert::Conversion& conversion) {
  EXPECT_THAT(errors_of(conversion), testing::IsEmpty());
  for (const api::Json& object : conversion.policies) {
    const auto policy = api::decode_descheduler_policy(object);
    ASSERT_TRUE(policy) << policy.error().message;
    EXPECT_TRUE(api::validate(policy->spec, {}).empty());
    EXPECT_TRUE(strategies::validate(policy->spec.strategies).empty());
  }
}

/// Returns the names of the policy's strategies.
inline std::vector<std::string> strategies_of(const convert::Conversion& conversion, std::size_t policy = 0) {
  std::vector<std::string> names;
  const api::Json spec = spec_of(conversion, policy);
  if (!spec.is_object()) return names;
  for (const api::Json& each : spec.at("strategies")) names.push_back(each.at("name"));
  return names;
}

/// Strategies that charts 0.25 to 0.29 enable.
inline const std::vector<std::string> kOldDefaults = {
    "LowNodeUtilization",
    "RemoveDuplicates",
    "RemovePodsHavingTooManyRestarts",
    "RemovePodsViolatingInterPodAntiAffinity",
    "RemovePodsViolatingNodeAffinity",
    "RemovePodsViolatingNodeTaints",
    "RemovePodsViolatingTopologySpreadConstraint",
};

/// YAML of a policy with one profile that enables one plugin.
#define ENABLED(point, plugin, args)                                                                                 \
  "profiles: [{name: p, pluginConfig: [{name: " plugin ", args: " args "}], plugins: {" point ": {enabled: [" plugin \
  "]}}}]"

}  // namespace convert_test
}  // namespace cmd
