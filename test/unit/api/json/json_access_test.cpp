#include "api/json/json_access.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace json_access_test {

using api::Json;

struct CarryCase {
  std::string name;
  std::string from;
  std::string to;
  std::string after;
};

std::string name_of(const testing::TestParamInfo<CarryCase>& info) { return info.param.name; }

class CarryMemberTest : public testing::TestWithParam<CarryCase> {};

TEST_P(CarryMemberTest, CopiesTheMember) {
  Json to = Json::parse(GetParam().to);
  api::copy_member(Json::parse(GetParam().from), to, "a");
  EXPECT_EQ(to, Json::parse(GetParam().after));
}

INSTANTIATE_TEST_SUITE_P(JsonAccess, CarryMemberTest,
                         testing::Values(CarryCase{"Sets", R"({"a":1})", R"({"b":2})", R"({"a":1,"b":2})"},
                                         CarryCase{"Replaces", R"({"a":{"c":1}})", R"({"a":{"d":1},"b":2})",
                                                   R"({"a":{"c":1},"b":2})"},
                                         CarryCase{"Leaves", R"({"a":[1]})", R"({"a":[1]})", R"({"a":[1]})"},
                                         CarryCase{"TakesAway", R"({"b":1})", R"({"a":1,"b":2})", R"({"b":2})"},
                                         CarryCase{"NothingInBoth", R"({"b":1})", R"({"b":2})", R"({"b":2})"}),
                         name_of);

class KeepAllButStatusTest : public testing::TestWithParam<CarryCase> {};

TEST_P(KeepAllButStatusTest, ChangesOnlyStatusAndItsManagers) {
  Json edited = Json::parse(GetParam().to);
  api::revert_all_but_status(Json::parse(GetParam().from), edited);
  EXPECT_EQ(edited, Json::parse(GetParam().after));
}

INSTANTIATE_TEST_SUITE_P(
    JsonAccess, KeepAllButStatusTest,
    testing::Values(
        CarryCase{"NewStatus", R"({"metadata":{"name":"a"},"spec":1,"status":{"b":1}})",
                  R"({"metadata":{"name":"a"},"spec":1,"status":{"c":2}})",
                  R"({"metadata":{"name":"a"},"spec":1,"status":{"c":2}})"},
        CarryCase{"NoStatusAnyMore", R"({"metadata":{},"status":{"b":1}})", R"({"metadata":{}})", R"({"metadata":{}})"},
        CarryCase{"SpecIsPutBack", R"({"metadata":{},"spec":{"b":1}})", R"({"metadata":{},"spec":{"b":2},"status":3})",
                  R"({"metadata":{},"spec":{"b":1},"status":3})"},
        CarryCase{"MembersComeBackAndGo", R"({"metadata":{},"kind":"A"})", R"({"metadata":{},"extra":1})",
                  R"({"metadata":{},"kind":"A"})"},
        CarryCase{"MetadataIsPutBack", R"({"metadata":{"name":"a","labels":{"b":"c"},"resourceVersion":"7"}})",
                  R"({"metadata":{"name":"z","annotations":{"b":"c"}}})",
                  R"({"metadata":{"name":"a","labels":{"b":"c"},"resourceVersion":"7"}})"},
        CarryCase{"ManagersAreNew", R"({"metadata":{"name":"a","managedFields":[1]}})",
                  R"({"metadata":{"name":"a","managedFields":[1,2]}})",
                  R"({"metadata":{"name":"a","managedFields":[1,2]}})"},
        CarryCase{"ManagersAreGone", R"({"metadata":{"name":"a","managedFields":[1]}})", R"({"metadata":{"name":"a"}})",
                  R"({"metadata":{"name":"a"}})"}),
    name_of);

TEST(ItemsAt, ReturnsTheArrayOrAnEmptyOne) {
  const Json object = Json::parse(R"({"a":{"b":[1,2]},"c":{"0":1}})");
  EXPECT_EQ(api::items_at(object, {"a", "b"}), Json::parse("[1,2]"));
  for (const auto* path : {"a", "c", "d"}) EXPECT_EQ(api::items_at(object, {path}), Json::array()) << path;
  EXPECT_EQ(api::items_at(object, {"a", "b", "0"}), Json::array());
  EXPECT_EQ(api::items_at(Json(7), {"a"}), Json::array());
}

}  // namespace json_access_test
