#include "api/meta/selector_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/core/selector_codec.hpp"

namespace api {
namespace selector_text_test {

struct SelectorTextCase {
  const char* name;
  const char* text;
  const char* selector;  ///< JSON of the selector, or the error
};

class SelectorTextTest : public ::testing::TestWithParam<SelectorTextCase> {};

TEST_P(SelectorTextTest, ReadsAs) {
  const auto selector = parse_selector_text(GetParam().text);
  EXPECT_EQ(selector ? encode_label_selector(*selector).dump() : selector.error().message, GetParam().selector);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, SelectorTextTest,
    ::testing::Values(
        SelectorTextCase{"NothingSelectsAll", "", "{}"}, SelectorTextCase{"BlanksSelectAll", " \t", "{}"},
        SelectorTextCase{"Equal", "a=b", R"({"matchLabels":{"a":"b"}})"},
        SelectorTextCase{"TwiceEqual", "a == b", R"({"matchLabels":{"a":"b"}})"},
        SelectorTextCase{"EmptyValue", "a=,b=c", R"({"matchLabels":{"a":"","b":"c"}})"},
        SelectorTextCase{
            "PlainOnesFirst", "!z,b=1,a=2",
            R"({"matchExpressions":[{"key":"z","operator":"DoesNotExist"}],"matchLabels":{"a":"2","b":"1"}})"},
        SelectorTextCase{"NotEqual", "a!=b", R"({"matchExpressions":[{"key":"a","operator":"NotIn","values":["b"]}]})"},
        SelectorTextCase{"Exists", "example.com/gpu",
                         R"({"matchExpressions":[{"key":"example.com/gpu","operator":"Exists"}]})"},
        SelectorTextCase{"In", "c in (e, d)",
                         R"({"matchExpressions":[{"key":"c","operator":"In","values":["d","e"]}]})"},
        SelectorTextCase{"NotIn", "c notin (d)",
                         R"({"matchExpressions":[{"key":"c","operator":"NotIn","values":["d"]}]})"},
        SelectorTextCase{"NoValueIsTheEmptyOne", "c in ()", R"({"matchLabels":{"c":""}})"},
        SelectorTextCase{"KeywordsAreKeysToo", "in in (in)", R"({"matchLabels":{"in":"in"}})"},
        SelectorTextCase{"Greater", "a>1", R"({"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]})"},
        SelectorTextCase{
            "LessAmongOthers", "b < 010 , a=2",
            R"({"matchExpressions":[{"key":"b","operator":"Lt","values":["010"]}],"matchLabels":{"a":"2"}})"},
        SelectorTextCase{"GreaterThanAWord", "a>b", "\">\" is followed by \"b\", which is not a whole number"},
        SelectorTextCase{"GreaterThanNothing", "a>", "\">\" is followed by \"\", which is not a whole number"},
        SelectorTextCase{"GreaterThanAList", "a>(1)", "\">\" is followed by \"\", which is not a whole number"},
        SelectorTextCase{"GreaterThanANegative", "a>-1", "\"-1\" is not a label value"},
        SelectorTextCase{"LastComma", "a=b,", "nothing follows the last comma"},
        SelectorTextCase{"TwoCommas", "a,,b", "a label key is missing before \",\""},
        SelectorTextCase{"NoComma", "a=b c=d", "\",\" is missing before \"c\""},
        SelectorTextCase{"Unclosed", "a in (b", "\")\" is missing at the end"},
        SelectorTextCase{"NoList", "a in b", "\"(\" is missing before \"b\""},
        SelectorTextCase{"BadKey", "a/b/c=d", "\"a/b/c\" is not a label key"},
        SelectorTextCase{"BadValue", "a=-b", "\"-b\" is not a label value"},
        SelectorTextCase{"OnlyABang", "!", "a label key is missing at the end"}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace selector_text_test
}  // namespace api
