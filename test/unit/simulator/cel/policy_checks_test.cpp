// Evaluates the expressions of config/optional/policy-checks.yaml on policies that they must refuse, warn about, or
// accept.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "api/json/yaml.hpp"
#include "simulator/cel/evaluate.hpp"

namespace simulator::cel {
namespace policy_checks_test {

using api::Json;

std::vector<Json> documents() {
  std::ifstream file(EVACUATOR_SOURCE_DIR "/config/optional/policy-checks.yaml");
  std::stringstream text;
  text << file.rdbuf();
  auto parsed = api::parse_yaml(text.str());
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? *parsed : std::vector<Json>();
}

Value value_of(const std::string& text, const Scope& scope) {
  const auto expression = parse(text);
  EXPECT_TRUE(expression) << text << ": " << expression.error().message;
  const auto value = evaluate(*expression, scope);
  EXPECT_TRUE(value) << text << ": " << value.error().message;
  return value ? *value : Value(Json());
}

/// Returns the messages of the violated rules, or an empty list if the match conditions do not hold.
std::vector<std::string> broken(const Json& policy, const Json& object, const Json& old) {
  const Json& spec = policy["spec"];
  Scope scope{{"object", Value(object)}, {"oldObject", Value(old)}};
  for (const Json& each : spec.value("matchConditions", Json::array())) {
    if (value_of(each["expression"], scope).json() != true) return {};
  }
  Json variables = Json::object();
  for (const Json& each : spec.value("variables", Json::array()))
    variables[each["name"].get<std::string>()] = value_of(each["expression"], scope).json();
  scope.emplace("variables", Value(variables));
  std::vector<std::string> messages;
  for (const Json& each : spec["validations"]) {
    if (value_of(each["expression"], scope).json() != true) messages.push_back(each["message"]);
  }
  return messages;
}

Json policy(const char* strategies, const char* more = "{}") {
  Json object = {{"metadata", {{"name", "p"}}}, {"spec", Json::parse(more)}};
  object["spec"]["strategies"] = Json::parse(strategies);
  return object;
}
const char* const kGood =
    R"([{"name":"LowNodeUtilization","args":{"thresholds":{"cpu":20},"targetThresholds":{"cpu":50}}},
  {"name":"PodLifeTime","args":{"thresholds":{"cpu":999}}},{"name":"HighNodeUtilizatio"}])";
const char* const kWrong = R"([{"name":"LowNodeUtilization","args":{"thresholds":{"cpu":120}}}])";

TEST(PolicyChecks, RefuseInvalidPolicies) {
  const Json checks = documents().at(0);
  EXPECT_EQ(broken(checks, policy(kGood), nullptr).size(), 0U);
  EXPECT_EQ(broken(checks, policy(kWrong), nullptr).size(), 1U);
  EXPECT_EQ(broken(checks, policy(kWrong), policy(kGood)).size(), 1U) << "on update, too";
  EXPECT_EQ(
      broken(checks, policy(R"([{"name":"HighNodeUtilization","args":{"targetThresholds":{"cpu":-1}}}])"), nullptr)
          .size(),
      1U);
  EXPECT_EQ(broken(checks, policy(R"([{"name":"HighNodeUtilization"},{"name":"LowNodeUtilization"}])"), nullptr).size(),
            1U);
}

TEST(PolicyChecks, AcceptExistingViolations) {
  const Json checks = documents().at(0);
  EXPECT_EQ(broken(checks, policy(kWrong, R"({"suspend":true})"), policy(kWrong)).size(), 0U);
  Json going = policy(kWrong);
  going["metadata"]["deletionTimestamp"] = "2026-11-21T12:00:00Z";
  EXPECT_EQ(broken(checks, going, policy(kGood)).size(), 0U);
  EXPECT_EQ(broken(checks, {{"metadata", Json::object()}, {"spec", Json::object()}}, nullptr).size(), 0U);
}

TEST(PolicyChecks, WarnOfAutomaticWithoutLimits) {
  const Json risks = documents().at(2);
  EXPECT_EQ(broken(risks, policy(kGood), nullptr).size(), 0U);
  EXPECT_EQ(broken(risks, policy(kGood, R"({"mode":"Automatic"})"), nullptr).size(), 1U);
  EXPECT_EQ(broken(risks, policy(kGood, R"({"mode":"Automatic","limits":{"perCycle":{"perNode":1}}})"), nullptr).size(),
            1U);
  for (const char* limits : {R"({"rate":{}})", R"({"perCycle":{"total":1}})", R"({"inFlight":{"total":1}})"}) {
    const std::string spec = std::string(R"({"mode":"Automatic","limits":)") + limits + "}";
    EXPECT_EQ(broken(risks, policy(kGood, spec.c_str()), nullptr).size(), 0U) << limits;
  }
}

}  // namespace policy_checks_test
}  // namespace simulator::cel
