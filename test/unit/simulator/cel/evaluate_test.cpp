#include "simulator/cel/evaluate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simulator::cel {
namespace evaluate_test {

using ::testing::HasSubstr;
using Json = api::Json;

const Json kSelf = Json::parse(R"({"name":"a","n":3,"real":1.5,"list":["x","y"],"map":{"k":"v","long":"äöü"},
  "items":[{"name":"one","size":1},{"name":"two","size":2}],"empty":[],"t":true})");

base::Result<Value> run(std::string_view text) {
  const auto expression = parse(text);
  if (!expression) return expression.error();
  return evaluate(*expression, {{"self", Value::view_of(kSelf)}});
}

struct CelCase {
  const char* text;
  const char* result;  ///< Result as JSON
};
void PrintTo(const CelCase& given, std::ostream* out) { *out << given.text; }

class Cel : public ::testing::TestWithParam<CelCase> {};

TEST_P(Cel, ReturnsTheResult) {
  const auto value = run(GetParam().text);
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(value->json(), Json::parse(GetParam().result)) << value->json();
}

INSTANTIATE_TEST_SUITE_P(
    Language, Cel,
    ::testing::Values(
        CelCase{"1 + 2 * 3 - 4 / 2 % 3", "5"}, CelCase{"-(2) + 1", "-1"}, CelCase{"(1 + 2) * 3", "9"},
        CelCase{"1.5 + 1", "2.5"}, CelCase{"7 / 2", "3"}, CelCase{"-7 % 3", "-1"}, CelCase{"!true || !!true", "true"},
        CelCase{"1 < 2 && 2 <= 2 && 3 > 2 && 2 >= 2 && 1 != 2 && 1 == 1.0", "true"}, CelCase{"'a' < \"b\"", "true"},
        CelCase{"'it\\'s \\\"\\\\\\n'", R"("it's \"\\\n")"}, CelCase{"true ? 1 : false ? 2 : 3", "1"},
        CelCase{"false ? 1 : false ? 2 : 3", "3"}, CelCase{"self.name + 'b'", R"("ab")"},
        CelCase{"self['name']", R"("a")"}, CelCase{"self.items[1].size", "2"},
        CelCase{"has(self.name) && !has(self.nothing)", "true"}, CelCase{"has(self.map.k)", "true"},
        CelCase{"'x' in self.list && !('z' in self.list) && 'k' in self.map", "true"},
        CelCase{"[1, 2] + [3]", "[1,2,3]"}, CelCase{"{'a': 1, 'b': [2]}", R"({"a":1,"b":[2]})"},
        CelCase{"size(self.list) + size('äö') + self.map.size()", "6"}, CelCase{"self.map.long.size()", "3"},
        CelCase{"self.items.map(e, e.size).sum()", "3"}, CelCase{"self.empty.sum()", "0"},
        CelCase{"self.items.filter(e, e.size > 1)", R"([{"name":"two","size":2}])"},
        CelCase{"self.items.all(e, e.size > 0) && self.empty.all(e, false)", "true"},
        CelCase{"self.items.exists(e, e.size == 2) && !self.empty.exists(e, true)", "true"},
        CelCase{"self.items.exists_one(e, e.size == 2)", "true"}, CelCase{"self.map.all(k, size(k) < 5)", "true"},
        CelCase{"self.map.filter(k, self.map[k] == 'v')", R"(["k"])"},
        CelCase{"self.items.map(e, self.items.map(e, e.size).sum() + e.size)", "[4,5]"},
        CelCase{"self.list.join(', ') + self.list.join()", R"("x, yxy")"},
        CelCase{"'abc'.startsWith('a') && 'abc'.endsWith('c') && 'abc'.contains('b')", "true"},
        CelCase{"string(3) + string('x')", R"("3x")"},
        CelCase{"duration('90m') > duration('1h') && duration('60s') == duration('1m')", "true"},
        // A decisive operand hides the error of the other operand.
        CelCase{"false && self.nothing", "false"}, CelCase{"self.nothing && false", "false"},
        CelCase{"true || self.nothing", "true"}, CelCase{"self.nothing || true", "true"},
        CelCase{"self.items.exists(e, e.name == 'two' || e.nothing)", "true"},
        CelCase{"self.items.all(e, e.size > 1 && e.nothing)", "false"}));

struct BadCase {
  const char* text;
  const char* error;
};
void PrintTo(const BadCase& given, std::ostream* out) { *out << given.text; }

class BadCel : public ::testing::TestWithParam<BadCase> {};

TEST_P(BadCel, IsAnError) {
  const auto value = run(GetParam().text);
  ASSERT_FALSE(value) << value->json();
  EXPECT_THAT(value.error().message, HasSubstr(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    Language, BadCel,
    ::testing::Values(
        BadCase{"", "unexpected the end"}, BadCase{"1 +", "unexpected the end"}, BadCase{"(1", "expected )"},
        BadCase{"[1 2]", "expected ,"}, BadCase{"1 ? 2", "expected :"}, BadCase{"'a", "without an end"},
        BadCase{"'\\q'", "unknown escape"}, BadCase{"a # b", "unknown character"}, BadCase{"1 2", "unexpected 2"},
        BadCase{"self.namespace", "expected a name, not namespace"}, BadCase{"has(self)", "has() wants a member"},
        BadCase{"self.items.all(1, true)", "wants a variable"}, BadCase{"99999999999999999999", "unexpected 9"},
        BadCase{"self.nothing", "no such key: nothing"}, BadCase{"self.list[2]", "index out of bounds: 2"},
        BadCase{"self.list[-1]", "index out of bounds"}, BadCase{"self.name.x", "no such overload"},
        BadCase{"other", "undeclared reference to 'other'"}, BadCase{"f(1)", "undeclared reference to 'f'"},
        BadCase{"self.list.f()", "undeclared reference to 'f'"}, BadCase{"1 == 'a'", "no such overload"},
        BadCase{"1 + 'a'", "no such overload"}, BadCase{"'a' < 1", "no such overload"},
        BadCase{"1 && true", "no boolean"}, BadCase{"!1", "no boolean"}, BadCase{"1 / 0", "divide by zero"},
        BadCase{"1 % 0", "divide by zero"}, BadCase{"9223372036854775807 + 1", "overflow"},
        BadCase{"duration('1d')", "invalid duration"}, BadCase{"size(1)", "no such overload"},
        BadCase{"true && self.nothing", "no such key"}, BadCase{"self.name.all(e, true)", "macro of no list"},
        BadCase{"self.items.map(e, e.name).sum() + 1", "no such overload"}));

TEST(BadCelText, IsBounded) {
  EXPECT_THAT(run(std::string(10'000, '(')).error().message, HasSubstr("nested too deeply"));
  EXPECT_THAT(run(std::string(10'000, '!')).error().message, HasSubstr("nested too deeply"));
  EXPECT_THAT(run(std::string(10'000, '-')).error().message, HasSubstr("nested too deeply"));
  std::string chain = "1";
  for (int i = 0; i < 10'000; ++i) chain += "+1";
  EXPECT_THAT(run(chain).error().message, HasSubstr("too many operators"));
}

TEST(CelNames, AreReadOnlyIfTheyAreVariables) {
  EXPECT_TRUE(reads(*parse("self.a == oldSelf.a"), "oldSelf"));
  EXPECT_FALSE(reads(*parse("self.oldSelf"), "oldSelf"));
  EXPECT_FALSE(reads(*parse("self.a.all(oldSelf, oldSelf > 1)"), "oldSelf"));
  EXPECT_TRUE(reads(*parse("oldSelf.a.all(oldSelf, true)"), "oldSelf"));
}

}  // namespace evaluate_test
}  // namespace simulator::cel
