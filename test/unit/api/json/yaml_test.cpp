#include "api/json/yaml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace yaml_test {

using api::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct YamlCase {
  std::string name;
  std::string text;
  std::string json;
};

class ParseYamlTest : public testing::TestWithParam<YamlCase> {};

TEST_P(ParseYamlTest, ReturnsTheDocuments) {
  const auto& [name, text, json] = GetParam();
  const auto documents = api::parse_yaml(text);
  ASSERT_TRUE(documents) << documents.error().message;
  EXPECT_EQ(Json(*documents).dump(), Json::parse(json).dump());
}

INSTANTIATE_TEST_SUITE_P(
    Yaml, ParseYamlTest,
    testing::Values(
        YamlCase{"NoDocument", "", "[]"}, YamlCase{"OnlyComments", "# x\n", "[]"},
        YamlCase{"AMapping", "a: 1\nb:\n  c: [x, 'y']\n", R"([{"a":1,"b":{"c":["x","y"]}}])"},
        YamlCase{"SeveralDocuments", "a: 1\n---\n---\nb: 2\n...\n---\n# nothing\n", R"([{"a":1},{"b":2}])"},
        YamlCase{"Json", R"({"a": [1, 2.5, null, "\u00e9\ud83d\ude00"], "b": {}})",
                 R"([{"a":[1,2.5,null,"é😀"],"b":{}}])"},
        YamlCase{"JsonWithTabs", "{\n\t\"a\": 1\n}", R"([{"a":1}])"},
        YamlCase{"FlowYaml", "{a: b, c: [d]}", R"([{"a":"b","c":["d"]}])"},
        YamlCase{"Booleans", "[true, False, yes, NO, on, Off, y, N]",
                 "[[true,false,true,false,true,false,true,false]]"},
        YamlCase{"QuotedBooleans", "['true', \"no\", !!str yes]", R"([["true","no","yes"]])"},
        YamlCase{"NotQuiteBooleans", "[tRue, yEs, onn]", R"([["tRue","yEs","onn"]])"},
        YamlCase{"Nulls", "[~, null, Null, '', ]", R"([[null,null,null,""]])"},
        YamlCase{"Integers", "[0, -7, +7, 1_000, 0x1F, 0o17, 0644, 0b101, 9223372036854775807, -9223372036854775808]",
                 "[[0,-7,7,1000,31,15,420,5,9223372036854775807,-9223372036854775808]]"},
        YamlCase{"LargeIntegers", "[9223372036854775808, 18446744073709551615]",
                 "[[9223372036854775808,18446744073709551615]]"},
        YamlCase{"Floats", "[1.5, .5, -2.25e1, 1., 08, 1e3]", "[[1.5,0.5,-22.5,1,8,1000]]"},
        YamlCase{"NotQuiteNumbers", "[1.2.3, 10.0.0.1, 0x, 1e, -, 5Gi, 250m, +, ., 1-2, 12:30:45]",
                 R"([["1.2.3","10.0.0.1","0x","1e","-","5Gi","250m","+",".","1-2","12:30:45"]])"},
        YamlCase{"DatesStayStrings", "[2026-11-21, 2026-11-21T03:00:00Z]",
                 R"([["2026-11-21","2026-11-21T03:00:00Z"]])"},
        YamlCase{"KeysBecomeStrings", "1: a\ntrue: b\n1.5: c\n", R"([{"1":"a","true":"b","1.5":"c"}])"},
        YamlCase{"BlockText", "a: |\n  x\n   y\nb: >-\n  c\n  d\n", R"([{"a":"x\n y\n","b":"c d"}])"},
        YamlCase{"Aliases", "a: &x {k: [1]}\nb: *x\nc: [*x]\n", R"([{"a":{"k":[1]},"b":{"k":[1]},"c":[{"k":[1]}]}])"},
        YamlCase{"Merge", "base: &b {x: 1, z: 2}\nc:\n  z: 3\n  <<: *b\n",
                 R"([{"base":{"x":1,"z":2},"c":{"x":1,"z":3}}])"},
        YamlCase{"MergeList", "a: &a {x: 1}\nb: &b {x: 2, z: 2}\nc:\n  <<: [*a, *b]\n",
                 R"([{"a":{"x":1},"b":{"x":2,"z":2},"c":{"x":1,"z":2}}])"},
        YamlCase{"QuotedMergeKeyIsAKey", "'<<': 1\n", R"([{"<<":1}])"},
        YamlCase{"AScalarDocument", "hello\n", R"(["hello"])"},
        YamlCase{"TagsThatFit", "[!!int 3, !!float 3, !!bool true, !!null ~, !!seq [], !!map {}]",
                 "[[3,3,true,null,[],{}]]"}),
    [](const auto& test) { return test.param.name; });

struct BadYamlCase {
  std::string name;
  std::string text;
  std::string error;
};

class BadYamlTest : public testing::TestWithParam<BadYamlCase> {};

TEST_P(BadYamlTest, ReportsThePosition) {
  const auto& [name, text, error] = GetParam();
  const auto documents = api::parse_yaml(text);
  ASSERT_FALSE(documents);
  EXPECT_THAT(documents.error().message, HasSubstr(error));
}

std::string alias_bomb() {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) text += before + (k < 9 ? ", " : "]\n");
  }
  return text;
}

std::string string_bomb() {
  std::string text = "a: &a " + std::string(1 << 20, 'x') + "\nb: [";
  for (int i = 0; i < 50; ++i) text += "*a, ";
  return text + "]\n";
}

INSTANTIATE_TEST_SUITE_P(
    Yaml, BadYamlTest,
    testing::Values(
        BadYamlCase{"DuplicateKeys", "a: 1\nb: 2\na: 3\n", "line 3, column 1: key \"a\" is already set"},
        BadYamlCase{"DuplicateKeysInJson", R"({"a": 1, "a": 2})", "key \"a\" is already set"},
        BadYamlCase{"DuplicateKeysOfTwoSpellings", "1: a\n'1': b\n", "key \"1\" is already set"},
        BadYamlCase{"BadIndentation", "a:\n  b: 1\n c: 2\n", "line 3, column 2: "},
        BadYamlCase{"TabIndentation", "a:\n\tb: 1\n", "line 2, column 1: a tab: YAML is indented with spaces"},
        BadYamlCase{"TabBehindSpaces", "a:\n  \tb: 1\n", "line 2, column "},
        BadYamlCase{"NoTab", "a: 1\nb: @c\n", "line 2, column 4: found character that cannot start any token"},
        BadYamlCase{"UnclosedBracket", "a: [1, 2\n", "line 2, column 1: "},
        BadYamlCase{"UnknownAlias", "a: *x\n", "line 1, column 4: alias *x has no anchor before it"},
        BadYamlCase{"SelfAlias", "a: &x [*x]\n", "alias *x has no anchor before it"},
        BadYamlCase{"CustomTag", "a: !secret x\n", "tag"},
        BadYamlCase{"TagThatDoesNotFit", "a: !!int x\n", "does not fit its tag"},
        BadYamlCase{"Infinity", "a: .inf\n", "is not a JSON number"},
        BadYamlCase{"NullKey", "~: 1\n", "line 1, column 1: a key must be a string"},
        BadYamlCase{"ListKey", "? [a]\n: 1\n", "a key must be a string"},
        BadYamlCase{"MergeOfAScalar", "<<: 1\n", "<< needs a mapping"},
        BadYamlCase{"Depth", std::string(1000, '['), "nested more than 128 levels"},
        BadYamlCase{"BlockDepth",
                    [] {
                      std::string text;
                      for (int i = 0; i < 300; ++i) text += std::string(i, ' ') + "a:\n";
                      return text;
                    }(),
                    "nested more than 128 levels"},
        BadYamlCase{"AliasBomb", alias_bomb(), "too large"}, BadYamlCase{"StringBomb", string_bomb(), "too large"},
        BadYamlCase{"NoUtf8", "a: \xff\xfe\n", "byte 3: "},
        BadYamlCase{"ControlCharacter", "a: \x01\n", "control characters"},
        BadYamlCase{"TruncatedJson", R"({"a": [1,)", "did not find expected node content"}),
    [](const auto& test) { return test.param.name; });

struct WriteCase {
  std::string name;
  std::string json;
  std::string yaml;
};

class WriteYamlTest : public testing::TestWithParam<WriteCase> {};

TEST_P(WriteYamlTest, WritesBlocksThatReadBack) {
  const auto& [name, json, yaml] = GetParam();
  const Json value = Json::parse(json);
  EXPECT_EQ(api::to_yaml(value), yaml);
  const auto back = api::parse_yaml(api::to_yaml(value));
  ASSERT_TRUE(back) << back.error().message;
  if (!value.is_null()) {
    EXPECT_THAT(*back, ElementsAre(value));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Yaml, WriteYamlTest,
    testing::Values(
        WriteCase{"AnObject", R"({"b": {"c": [1, {"x": 1, "z": [2]}, [3, [4]], {}, []]}, "a": null})",
                  "a: null\nb:\n  c:\n  - 1\n  - x: 1\n    z:\n    - 2\n  - - 3\n    - - 4\n  - {}\n  - []\n"},
        WriteCase{"EmptyOnes", R"({"a": {}, "b": [], "c": ""})", "a: {}\nb: []\nc: \"\"\n"},
        WriteCase{"AScalar", "7", "7\n"}, WriteCase{"Null", "null", "null\n"},
        WriteCase{"PlainStrings", R"(["web-1", "a b", "5Gi", "10.0.0.1", "http://x/y", "a#b", "é"])",
                  "- web-1\n- a b\n- 5Gi\n- 10.0.0.1\n- http://x/y\n- a#b\n- é\n"},
        WriteCase{
            "QuotedStrings",
            R"(["true", "no", "y", "1", "1e3", "0x1", "null", "~", "- a", "a: b", "a #b", "*x", " a", "a:", "2026-11-21", "12:30", "<<", "---"])",
            "- \"true\"\n- \"no\"\n- \"y\"\n- \"1\"\n- \"1e3\"\n- \"0x1\"\n- \"null\"\n- \"~\"\n- \"- a\"\n- \"a: b\"\n"
            "- \"a #b\"\n- \"*x\"\n- \" a\"\n- \"a:\"\n- \"2026-11-21\"\n- \"12:30\"\n- \"<<\"\n- \"---\"\n"},
        WriteCase{"EscapedStrings", R"(["a\tb", "\u0001", "q\"\\\t", "\u0085\u2028\ufeff"])",
                  "- \"a\\tb\"\n- \"\\x01\"\n- \"q\\\"\\\\\\t\"\n- \"\\x85\\u2028\\uFEFF\"\n"},
        WriteCase{"BlockText", R"({"a": "x\n y\n", "b": "x\ny", "c": "x\n\n", "d": " x\ny", "e": "x \ny", "f": "\nx"})",
                  "a: |\n  x\n   y\nb: |-\n  x\n  y\nc: |+\n  x\n\nd: \" x\\ny\"\ne: \"x \\ny\"\nf: \"\\nx\"\n"},
        WriteCase{"BlockTextInAList", R"([{"a": "x\ny\n"}, "p\nq"])", "- a: |\n    x\n    y\n- |-\n  p\n  q\n"},
        WriteCase{"OddKeys", R"({"true": 1, "a: b": 2, "app.kubernetes.io/name": 3})",
                  "\"a: b\": 2\napp.kubernetes.io/name: 3\n\"true\": 1\n"},
        WriteCase{"Numbers", "[1, -1, 1.5, 18446744073709551615, true]",
                  "- 1\n- -1\n- 1.5\n- 18446744073709551615\n- true\n"}),
    [](const auto& test) { return test.param.name; });

TEST(WriteYamlTest, ReplacesInvalidUtf8) {
  EXPECT_EQ(api::to_yaml(Json("a\xff"
                              "b")),
            "\"a\uFFFDb\"\n");
  EXPECT_EQ(api::to_yaml(Json("\xed\xa0\x80")), "\"\uFFFD\uFFFD\uFFFD\"\n") << "a surrogate is no character";
}

TEST(ParseJsonTest, ReportsThePositionAndTheBeginning) {
  EXPECT_THAT(api::parse_json("<html>\n<b>502</b>").error().message,
              testing::AllOf(HasSubstr("line 1, column 1"), HasSubstr("<html> <b>502</b>")));
  EXPECT_THAT(api::parse_json("{\n  \"a\": tru }").error().message, HasSubstr("line 2"));
  EXPECT_THAT(api::parse_json(std::string(500, '[')).error().message, HasSubstr("128 levels"));
  EXPECT_TRUE(api::parse_json("\"[[[[" + std::string(500, '[') + "\\\"\"")) << "brackets in strings do not count";
  EXPECT_FALSE(api::parse_json(""));
}

TEST(ParseJsonTest, RoundTrips) {
  EXPECT_EQ(api::to_json_text(Json("a\xff")), "\"a\uFFFD\"");
  EXPECT_EQ(api::to_json_text(Json{{"a", 1}}), R"({"a":1})");
}

}  // namespace yaml_test
