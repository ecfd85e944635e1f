#include "cmd/extender/extender_args.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace extender {
namespace args_test {

using api::Json;

std::string named(const Json& names) {
  return Json({{"Pod", {{"metadata", {{"name", "web-1"}, {"namespace", "shop"}, {"uid", "u1"}}}}},
               {"Nodes", nullptr},
               {"NodeNames", names}})
      .dump();
}

std::string whole(const Json& items) {
  return Json({{"Pod", {{"metadata", {{"name", "web-1"}}}}}, {"Nodes", {{"items", items}}}, {"NodeNames", nullptr}})
      .dump();
}

Json node(const std::string& name) { return {{"metadata", {{"name", name}}}, {"spec", {{"podCIDR", "10.0.0.0/24"}}}}; }

TEST(ExtenderArgs, ReadsNodeNames) {
  const auto args = parse_args(named({"b", "a"}));
  ASSERT_TRUE(args.ok()) << args.error().message;
  EXPECT_EQ(args->pod.meta.uid, "u1");
  EXPECT_EQ(args->nodes, (std::vector<std::string>{"b", "a"}));
  EXPECT_FALSE(args->has_objects);
}

TEST(ExtenderArgs, NodeObjectsAreReturnedUnchanged) {
  const auto args = parse_args(whole({node("a"), node("b")}));
  ASSERT_TRUE(args.ok()) << args.error().message;
  const Json answer = Json::parse(filter_answer(*args, {"full", ""}));
  EXPECT_EQ(answer["Nodes"]["items"], Json::array({node("b")}));
  EXPECT_TRUE(answer["NodeNames"].is_null());
  EXPECT_EQ(answer["FailedNodes"], Json({{"a", "full"}}));
  EXPECT_EQ(answer["Error"], "");
}

TEST(ExtenderArgs, NamesGoBackAsNames) {
  const auto args = parse_args(named({"a", "b"}));
  const Json answer = Json::parse(filter_answer(*args, {"", "full"}));
  EXPECT_EQ(answer["NodeNames"], Json::array({"a"}));
  EXPECT_TRUE(answer["Nodes"].is_null());
}

TEST(ExtenderArgs, OlderSchedulersWriteLowerCase) {
  const auto args = parse_args(R"({"pod": {"metadata": {"name": "p"}}, "nodes": {"items": []}, "nodenames": ["a"]})");
  ASSERT_TRUE(args.ok()) << args.error().message;
  EXPECT_EQ(args->nodes, std::vector<std::string>{"a"});
}

TEST(ExtenderArgs, NoCandidatesAreNoError) {
  const auto args = parse_args(named(Json::array()));
  ASSERT_TRUE(args.ok());
  EXPECT_EQ(Json::parse(filter_answer(*args, {}))["NodeNames"], Json::array());
}

struct BadCase {
  const char* name;
  std::string body;
};

class BadArgs : public ::testing::TestWithParam<BadCase> {};

TEST_P(BadArgs, IsRefused) { EXPECT_FALSE(parse_args(GetParam().body).ok()); }

std::string too_many() {
  Json names = Json::array();
  for (std::size_t i = 0; i <= kMaxNodes; ++i) names.push_back("n" + std::to_string(i));
  return named(names);
}

INSTANTIATE_TEST_SUITE_P(All, BadArgs,
                         ::testing::Values(BadCase{"Empty", ""}, BadCase{"NoJson", "<html>"}, BadCase{"List", "[]"},
                                           BadCase{"NoPod", R"({"NodeNames": ["a"]})"},
                                           BadCase{"PodIsText", R"({"Pod": "x", "NodeNames": ["a"]})"},
                                           BadCase{"NoNodes", R"({"Pod": {"metadata": {}}})"},
                                           BadCase{"NamesAreNoList", named({{"a", 1}})},
                                           BadCase{"NameIsNumber", named({1})}, BadCase{"NameIsEmpty", named({""})},
                                           BadCase{"NameIsLong", named({std::string(254, 'n')})},
                                           BadCase{"Twice", named({"a", "a"})},
                                           BadCase{"NodeWithoutName", whole({Json::object()})},
                                           BadCase{"Deep", std::string(100'000, '[')}, BadCase{"TooMany", too_many()}),
                         [](const auto& test) { return test.param.name; });

TEST(Priorities, AreAListOfHostsWithScores) {
  EXPECT_EQ(Json::parse(priorities_answer({"a", "b"}, {10, 0})),
            Json::parse(R"([{"Host": "a", "Score": 10}, {"Host": "b", "Score": 0}])"));
}

TEST(Priorities, HostileNodeNamesAreEscaped) {
  const std::string odd = "a\"b\\c\n\xff";
  EXPECT_EQ(Json::parse(priorities_answer({odd}, {1}))[0]["Host"].get<std::string>().substr(0, 6), odd.substr(0, 6));
  const auto args = parse_args(named({"a\"b"}));
  EXPECT_EQ(Json::parse(filter_answer(*args, {""}))["NodeNames"][0], "a\"b");
}

}  // namespace args_test
}  // namespace extender
