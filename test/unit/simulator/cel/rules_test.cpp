/// The rules of crds/ do what their messages describe. Each rule has an accepted and a refused example.

#include "simulator/cel/rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "api/json/yaml.hpp"
#include "simulator/cel/evaluate.hpp"

namespace simulator::cel {
namespace rules_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = api::Json;

Json schema_in(const std::string& file) {
  std::ifstream in(std::string(EVACUATOR_SOURCE_DIR) + "/crds/" + file);
  std::stringstream text;
  text << in.rdbuf();
  return api::parse_yaml(text.str())->at(0).at("spec").at("versions").at(0).at("schema").at("openAPIV3Schema");
}

struct Site {
  std::string text;
  std::string message;
};

void collect(const Json& schema, std::vector<Site>& sites) {
  if (schema.is_array()) {
    for (const Json& each : schema) collect(each, sites);
  }
  if (!schema.is_object()) return;
  for (const auto& [name, member] : schema.items()) {
    if (name == "x-kubernetes-validations") {
      for (const Json& rule : member) sites.push_back({rule.at("rule"), rule.at("message")});
    } else {
      collect(member, sites);
    }
  }
}

/// Returns the result of one rule for one value.
std::string verdict(const std::string& rule, const Json& self, const Json& before = nullptr) {
  const auto expression = parse(rule);
  if (!expression) return expression.error().message;
  const auto fine = holds(*expression, {{"self", Value::view_of(self)}, {"oldSelf", Value::view_of(before)}});
  if (!fine) return fine.error().message;
  return *fine ? "holds" : "fails";
}

struct Example {
  Json self;
  Json before;
  bool holds;
};

/// For "must be between 5s and 168h": the limits themselves and values a millisecond beyond.
bool add_range(const Site& site, std::vector<Example>& examples) {
  static const std::regex kRange("must be (between|above) ([0-9a-z]+) and (at most )?([0-9a-z]+)");
  std::smatch match;
  if (!std::regex_match(site.message, match, kRange)) return false;
  const bool inclusive = match[1] == "between";
  const base::Duration least = *base::parse_duration(match[2].str());
  const base::Duration most = *base::parse_duration(match[4].str());
  const auto text = [](base::Duration duration) { return Json(base::format_duration(duration)); };
  examples.push_back({text(least), nullptr, inclusive});
  examples.push_back({text(least + base::milliseconds(1)), nullptr, true});
  examples.push_back({text(most), nullptr, true});
  examples.push_back({text(most + base::milliseconds(1)), nullptr, false});
  if (least > base::Duration{}) examples.push_back({text(least - base::milliseconds(1)), nullptr, false});
  return true;
}

/// For "source may not change after creation".
bool add_immutable(const Site& site, std::vector<Example>& examples) {
  static const std::regex kImmutable("(podRef\\.)?([A-Za-z]+) may not change after creation");
  std::smatch match;
  if (!std::regex_match(site.message, match, kImmutable)) return false;
  const std::string field = match[2];
  examples.push_back({{{field, "a"}, {"x", 1}}, {{field, "a"}}, true});
  examples.push_back({{{field, "b"}}, {{field, "a"}}, false});
  if (match[1].length() > 0) return true;  // The field is required
  examples.push_back({Json::object(), Json::object(), true});
  examples.push_back({{{field, "a"}}, Json::object(), false});
  examples.push_back({Json::object(), {{field, "a"}}, false});
  return true;
}

/// For "must have either webhook or job, and not both".
bool add_either(const Site& site, std::vector<Example>& examples) {
  static const std::regex kEither("must have either ([A-Za-z]+) or ([A-Za-z]+), (and )?not both");
  std::smatch match;
  if (!std::regex_match(site.message, match, kEither)) return false;
  const std::string one = match[1];
  const std::string other = match[2];
  examples.push_back({{{one, 1}}, nullptr, true});
  examples.push_back({{{other, 1}}, nullptr, true});
  examples.push_back({{{one, 1}, {other, 1}}, nullptr, false});
  if (match[3].length() > 0) examples.push_back({Json::object(), nullptr, false});
  return true;
}

Json evictors(const char* parameters) {
  return {{"spec", {{"evictors", Json::array({{{"name", "webhook"}, {"parameters", Json::parse(parameters)}}})}}}};
}

/// Returns examples for messages without a pattern.
std::vector<Example> examples_of(const std::string& message) {
  const std::string long_name(64, 'n');
  const Json named = {{"evictors", Json::array({{{"name", "a"}}, {{"name", "b"}}})}};
  const Json turned = {{"evictors", Json::array({{{"name", "b"}}, {{"name", "a"}}})}};
  const std::map<std::string, std::vector<Example>> by_message = {
      {"must have both from and until, or start and end",
       {{{{"from", 1}, {"until", 1}}, nullptr, true},
        {{{"start", 1}, {"end", 1}}, nullptr, true},
        {{{"from", 1}, {"end", 1}}, nullptr, false},
        {{{"from", 1}, {"until", 1}, {"start", 1}, {"end", 1}}, nullptr, false},
        {Json::object(), nullptr, false}}},
      {"must have a job", {{{{"job", 1}}, nullptr, true}, {{{"webhook", 1}}, nullptr, false}}},
      {"must have either value or name, and not both", {}},
      {"backoffMaxSeconds is below backoffSeconds",
       {{{{"backoffSeconds", 5}, {"backoffMaxSeconds", 5}}, nullptr, true},
        {{{"backoffSeconds", 5}}, nullptr, true},
        {{{"backoffSeconds", 6}, {"backoffMaxSeconds", 5}}, nullptr, false}}},
      {"must have exactly one of prometheus, alertmanager and webhook",
       {{{{"webhook", 1}}, nullptr, true},
        {{{"prometheus", 1}, {"alertmanager", 1}}, nullptr, false},
        {Json::object(), nullptr, false}}},
      {"a parameter's name is longer than 63 characters",
       {{evictors(R"({"k":"v"})"), nullptr, true},
        {evictors((R"({")" + long_name + R"(":"v"})").c_str()), nullptr, false},
        {{{"spec", Json::object()}}, nullptr, true}}},
      {"the parameters have more than 4096 characters in all",
       {{evictors((R"({"k":")" + std::string(4095, 'v') + R"("})").c_str()), nullptr, true},
        {evictors((R"({"k":")" + std::string(4096, 'v') + R"("})").c_str()), nullptr, false}}},
      {"nodeName may not change once it is set",
       {{{{"nodeName", "n"}}, Json::object(), true},
        {{{"nodeName", "n"}}, {{"nodeName", ""}}, true},
        {{{"nodeName", "m"}}, {{"nodeName", "n"}}, false},
        {Json::object(), {{"nodeName", "n"}}, false}}},
      {"podRef.uid may not change once it is set",
       {{{{"uid", "u"}}, Json::object(), true},
        {{{"uid", "v"}}, {{"uid", "u"}}, false},
        {Json::object(), {{"uid", "u"}}, false}}},
      {"the order of evictors may not change after creation", {{named, named, true}, {turned, named, false}}},
      {"cancel.requested may not be taken back",
       {{{{"cancel", {{"requested", true}}}}, Json::object(), true},
        {{{"cancel", {{"requested", false}}}}, {{"cancel", {{"requested", true}}}}, false},
        {Json::object(), {{"cancel", {{"requested", true}}}}, false}}},
  };
  const auto found = by_message.find(message);
  return found == by_message.end() ? std::vector<Example>() : found->second;
}

class RulesOf : public ::testing::TestWithParam<const char*> {};

TEST_P(RulesOf, TheCrdMatchTheirMessages) {
  std::vector<Site> sites;
  collect(schema_in(GetParam()), sites);
  ASSERT_GT(sites.size(), 15U);
  for (const Site& site : sites) {
    std::vector<Example> examples;
    if (!add_range(site, examples) && !add_immutable(site, examples) && !add_either(site, examples))
      examples = examples_of(site.message);
    EXPECT_TRUE(std::ranges::any_of(examples, [](const Example& each) { return !each.holds; }))
        << "no example is refused by: " << site.message;
    for (const Example& each : examples)
      EXPECT_EQ(verdict(site.text, each.self, each.before), each.holds ? "holds" : "fails")
          << site.text << "\nself: " << each.self.dump().substr(0, 200) << "\noldSelf: " << each.before;
  }
}

TEST_P(RulesOf, TheCrdReferToExistingFields) { EXPECT_THAT(problems_of_rules(schema_in(GetParam())), IsEmpty()); }

INSTANTIATE_TEST_SUITE_P(Crds, RulesOf,
                         ::testing::Values("evacuator.dev_deschedulerpolicies.yaml", "evacuator.dev_evacuations.yaml"),
                         [](const auto& test) {
                           return std::string(test.param).find("policies") != std::string::npos ? "Policies"
                                                                                                : "Evacuations";
                         });

Json schema_with(const char* rule, const char* message = "no") {
  return {{"type", "object"},
          {"properties",
           {{"spec",
             {{"type", "object"},
              {"properties",
               {{"a", {{"type", "string"}}},
                {"items",
                 {{"type", "array"},
                  {"x-kubernetes-list-type", "map"},
                  {"x-kubernetes-list-map-keys", {"name"}},
                  {"items",
                   {{"type", "object"},
                    {"properties", {{"name", {{"type", "string"}}}, {"size", {{"type", "integer"}}}}},
                    {"x-kubernetes-validations", Json::array({{{"rule", "self.size >= oldSelf.size"}}})}}}}}}},
              {"x-kubernetes-validations", Json::array({{{"rule", rule}, {"message", message}}})}}}}}};
}

std::vector<std::string> texts(const api::FieldErrors& errors) {
  std::vector<std::string> all;
  for (const api::FieldError& each : errors) all.push_back(each.to_string());
  return all;
}

TEST(Rules, AreReportedLikeByTheApiServer) {
  EXPECT_THAT(texts(check_rules(schema_with("self.a == 'x'"), {{"spec", {{"a", "y"}}}}, nullptr)),
              ElementsAre("spec: Invalid value: \"object\": no"));
  EXPECT_THAT(texts(check_rules(schema_with("self.a == 'x'"), {{"spec", Json::object()}}, nullptr)),
              ElementsAre("spec: Invalid value: \"object\": no such key: a evaluating rule: no"));
}

TEST(Rules, OfTransitionsNeedAnOldValue) {
  const Json schema = schema_with("self.a == oldSelf.a");
  const Json now = {{"spec", {{"a", "y"}}}};
  const Json then = {{"spec", {{"a", "x"}}}};
  EXPECT_THAT(texts(check_rules(schema, now, nullptr)), IsEmpty());
  EXPECT_THAT(texts(check_rules(schema, now, &then)), ElementsAre("spec: Invalid value: \"object\": no"));
}

TEST(Rules, FollowItemsByTheirKeys) {
  const auto spec = [](int one, int two, bool turned) {
    Json items = {{{"name", "one"}, {"size", one}}, {{"name", "two"}, {"size", two}}};
    if (turned) std::swap(items[0], items[1]);
    return Json{{"spec", {{"a", ""}, {"items", items}}}};
  };
  const Json then = spec(1, 2, false);
  const Json turned = spec(1, 2, true);
  const Json less = spec(0, 2, true);
  EXPECT_THAT(texts(check_rules(schema_with("true"), turned, &then)), IsEmpty());
  EXPECT_THAT(texts(check_rules(schema_with("true"), less, &then)),
              ElementsAre("spec.items[1]: Invalid value: \"object\": failed rule: self.size >= oldSelf.size"));
}

TEST(Rules, SeeOnlyTheNameOfTheMetadata) {
  const Json schema = {{"type", "object"},
                       {"x-kubernetes-validations", Json::array({{{"rule", "has(self.metadata.labels)"}}})}};
  const Json object = {{"metadata", {{"name", "n"}, {"labels", {{"a", "b"}}}}}};
  EXPECT_EQ(check_rules(schema, object, nullptr).size(), 1U);
}

TEST(BrokenRules, AreFoundInTheSchema) {
  EXPECT_THAT(problems_of_rules(schema_with("self.b == 'x'"))[0].message, HasSubstr("undefined field 'b'"));
  EXPECT_THAT(problems_of_rules(schema_with("has(self.b)"))[0].message, HasSubstr("undefined field 'b'"));
  EXPECT_THAT(problems_of_rules(schema_with("self.items.all(e, e.b > 1)"))[0].message,
              HasSubstr("undefined field 'b'"));
  EXPECT_THAT(problems_of_rules(schema_with("self.a =="))[0].message, HasSubstr("unexpected the end"));
  EXPECT_EQ(problems_of_rules(schema_with("self.a =="))[0].path, "spec");
  EXPECT_THAT(problems_of_rules(schema_with("self.items.all(e, e.size > 1)")), IsEmpty());
}

}  // namespace rules_test
}  // namespace simulator::cel
