#include "test/conformance/deviations.hpp"

#include <gtest/gtest.h>

namespace conformance {
namespace deviations_test {

struct RuleCase {
  const char* name;
  const char* args;
  bool applies;
};
class TheList : public testing::TestWithParam<RuleCase> {};

TEST_P(TheList, AppliesOnlyToTheNamedArgs) {
  const auto rules = read_deviations(EVACUATOR_SOURCE_DIR "/test/conformance/deviations.yaml", EVACUATOR_SOURCE_DIR);
  ASSERT_TRUE(rules) << rules.error().message;
  const auto args = nlohmann::json::parse(GetParam().args);
  bool applies = false;
  for (const Deviation& rule : *rules) applies = applies || rule.applies(args);
  EXPECT_EQ(applies, GetParam().applies);
}

INSTANTIATE_TEST_SUITE_P(
    Of, TheList,
    testing::Values(
        RuleCase{"NoArgs", "{}", false}, RuleCase{"NullArgs", "null", false},
        RuleCase{"MeasuredUsage", R"({"metricsUtilization":{"source":"Prometheus"}})", false},
        RuleCase{"IncludedNamespaces", R"({"evictableNamespaces":{"include":["a"]}})", true},
        RuleCase{"NoIncludedNamespaces", R"({"evictableNamespaces":{"include":[],"exclude":["a"]}})", false},
        RuleCase{"NullNamespaces", R"({"evictableNamespaces":null})", false},
        RuleCase{"AnUnknownType", R"({"nodeAffinityType":["requiredDuringSchedulingIgnoredDuringExecution","x"]})",
                 true},
        RuleCase{"KnownTypes", R"({"nodeAffinityType":["preferredDuringSchedulingIgnoredDuringExecution"]})", false},
        RuleCase{"NoTypes", R"({"nodeAffinityType":[]})", false},
        RuleCase{"OtherArgs", R"({"numberOfNodes":3})", false}),
    [](const auto& test) { return test.param.name; });

}  // namespace deviations_test
}  // namespace conformance
