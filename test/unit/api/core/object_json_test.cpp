#include "api/core/object_json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace object_json_test {

using api::Json;

struct TextCase {
  std::string name;
  std::string text;
};

std::string name_of(const testing::TestParamInfo<TextCase>& info) { return info.param.name; }

class SameAsParseTest : public testing::TestWithParam<TextCase> {};

/// Comparing the text ensures that numbers have the same type.
TEST_P(SameAsParseTest, ReadsWhatParseReads) {
  const auto read = api::parse_object_json(GetParam().text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->dump(), Json::parse(GetParam().text).dump());
}

INSTANTIATE_TEST_SUITE_P(
    ObjectJson, SameAsParseTest,
    testing::Values(TextCase{"Empty", "{}"}, TextCase{"EmptyInside", R"({"a":{},"b":[],"c":"","d":[[],{}]})"},
                    TextCase{"Words", R"({"a":true,"b":false,"c":null,"d":[null,true]})"},
                    TextCase{"Numbers", R"({"n":[0,1,-1,9223372036854775807,-9223372036854775808]})"},
                    TextCase{"LongNumbersWithAnExponent",
                             R"({"n":[18446744073709551641e6,123456789012345678901e-3,-18446744073709551641E2]})"},
                    TextCase{"LongNumbersWithAPoint", R"({"n":[18446744073709551616.5,-0,-0.0,1e22,1e-400]})"},
                    TextCase{"UnsignedNumbers", R"({"n":[9223372036854775808,18446744073709551615]})"},
                    TextCase{"Fractions", R"({"n":[0.5,-2.25e3,1E2,1e-7]})"},
                    TextCase{"NumberBeyondSixtyFourBits", R"({"n":18446744073709551616})"},
                    TextCase{"Escapes", R"({"a":"\"\\\/\b\f\n\r\t\u00e4\ud83d\ude00","\u0062\n":"é"})"},
                    TextCase{"EscapedNameOfMetadata", R"({"m\u0065tadata":{"name":"a"}})"},
                    TextCase{"LastOfTwoCounts", R"({"a":1,"b":2,"a":{"c":3}})"},
                    TextCase{"KeysInAnyOrder", R"({"z":1,"a":2,"m":{"y":1,"b":2}})"},
                    TextCase{"Blanks", " {\n\t\"a\" : [ 1 , 2 ] }\r\n"},
                    TextCase{"MetadataIsNoObject", R"({"metadata":["managedFields"]})"},
                    TextCase{"ManagedFieldsElsewhere",
                             R"({"spec":{"metadata":{"managedFields":[1]}},"managedFields":2})"}),
    name_of);

TEST(ObjectJson, OmitsManagedFields) {
  const auto read =
      api::parse_object_json(R"({"metadata":{"name":"a","managedFields":[{"fieldsV1":{"f:a":{}}}],"uid":"u"}})");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, Json({{"metadata", {{"name", "a"}, {"uid", "u"}}}}));
}

TEST(ObjectJson, OmitsManagedFieldsInTheFallback) {
  const auto read = api::parse_object_json(R"({"metadata":{"managedFields":[1]},"n":18446744073709551616})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->at("metadata"), Json::object());
}

class NoObjectTest : public testing::TestWithParam<TextCase> {};

TEST_P(NoObjectTest, IsAnError) { EXPECT_FALSE(api::parse_object_json(GetParam().text)); }

std::string nested(std::size_t levels) {
  return R"({"a":)" + std::string(levels, '[') + std::string(levels, ']') + "}";
}

INSTANTIATE_TEST_SUITE_P(ObjectJson, NoObjectTest,
                         testing::Values(TextCase{"Nothing", ""}, TextCase{"Array", "[]"}, TextCase{"Word", "null"},
                                         TextCase{"CutOff", R"({"a":)"}, TextCase{"CutOffInside", R"({"a":{"b":1})"},
                                         TextCase{"MoreBehind", "{} {}"}, TextCase{"UnknownWord", R"({"a":nil})"},
                                         TextCase{"WrongEscape", R"({"a":"\x"})"},
                                         TextCase{"HalfAPair", R"({"a":"\ud83d"})"},
                                         TextCase{"NoUtf8", "{\"a\":\"\xff\"}"},
                                         TextCase{"MissingComma", R"({"a":1 "b":2})"},
                                         TextCase{"TooDeep", nested(api::kMaxJsonDepth + 1)}),
                         name_of);

TEST(ObjectJson, AcceptsTheMaximumDepth) { EXPECT_TRUE(api::parse_object_json(nested(api::kMaxJsonDepth - 2))); }

}  // namespace object_json_test
