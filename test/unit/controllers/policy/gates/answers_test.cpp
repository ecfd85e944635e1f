#include "controllers/policy/gates/answers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace controllers {
namespace gate_answers_test {

using testing::HasSubstr;

struct AnswerCase {
  const char* name;
  std::string body;
  bool holds;
  const char* value;
};
struct BadCase {
  const char* name;
  std::string body;
  const char* problem;
};

std::string vector(const std::string& result) {
  return R"({"status":"success","data":{"resultType":"vector","result":[)" + result + "]}}";
}
std::string series(const std::string& value) {
  return R"({"metric":{"alertname":"x"},"value":[1435781451.781,")" + value + R"("]})";
}

class QueryAnswer : public testing::TestWithParam<AnswerCase> {};
TEST_P(QueryAnswer, IsRead) {
  const auto answer = read_query_answer(GetParam().body);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(*answer, (GateAnswer{GetParam().holds, GetParam().value}));
}
INSTANTIATE_TEST_SUITE_P(
    Gates, QueryAnswer,
    testing::Values(
        AnswerCase{"NoSeries", vector(""), false, "no series"}, AnswerCase{"Zero", vector(series("0")), false, "0"},
        AnswerCase{"NegativeZero", vector(series("-0")), false, "-0"},
        AnswerCase{"NotANumber", vector(series("NaN")), false, "nan"},
        AnswerCase{"One", vector(series("1")), true, "1"}, AnswerCase{"Negative", vector(series("-3.5")), true, "-3.5"},
        AnswerCase{"Infinite", vector(series("+Inf")), true, "inf"},
        AnswerCase{"OneOfMany", vector(series("0") + "," + series("NaN") + "," + series("7")), true, "7"},
        AnswerCase{"Many", vector(series("2") + "," + series("0") + "," + series("5")), true, "2, and 1 more series"},
        AnswerCase{"AScalar", R"({"status":"success","data":{"resultType":"scalar","result":[1,"4"]}})", true, "4"},
        AnswerCase{"AScalarOfZero", R"({"status":"success","data":{"resultType":"scalar","result":[1,"0"]}})", false,
                   "0"}),
    [](const auto& test) { return std::string(test.param.name); });

class BadQueryAnswer : public testing::TestWithParam<BadCase> {};
TEST_P(BadQueryAnswer, IsRejected) {
  const auto answer = read_query_answer(GetParam().body);
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr(GetParam().problem));
}
INSTANTIATE_TEST_SUITE_P(
    Gates, BadQueryAnswer,
    testing::Values(BadCase{"Nothing", "", "not valid JSON"}, BadCase{"Html", "<html>secret</html>", "not valid JSON"},
                    BadCase{"CutOff", R"({"status":"success","data":{)", "not valid JSON"},
                    BadCase{"AnotherApi", R"({"items":[]})", "not from Prometheus"},
                    BadCase{"AnError", R"({"status":"error","errorType":"bad_data","error":"x"})",
                            "cannot evaluate the expression"},
                    BadCase{"AString", R"({"status":"success","data":{"resultType":"string","result":[1,"1"]}})",
                            "neither a vector nor a scalar"},
                    BadCase{"AMatrix", R"({"status":"success","data":{"resultType":"matrix","result":[]}})",
                            "neither a vector nor a scalar"},
                    BadCase{"AHistogram", vector(R"({"metric":{},"histogram":[1,{}]})"), "no number"},
                    BadCase{"AValueThatIsNone", vector(series("many")), "no number"},
                    BadCase{"AnEmptyValue", vector(series("")), "no number"},
                    BadCase{"ANumberWithoutQuotes", vector(R"({"value":[1,1]})"), "no number"},
                    BadCase{"TooLong", std::string(kMaxQueryBytes + 1, ' '), "longer than 1048576 bytes"}),
    [](const auto& test) { return std::string(test.param.name); });

class AlertsAnswer : public testing::TestWithParam<AnswerCase> {};
TEST_P(AlertsAnswer, IsRead) {
  const auto answer = read_alerts_answer(GetParam().body);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(*answer, (GateAnswer{GetParam().holds, GetParam().value}));
}
INSTANTIATE_TEST_SUITE_P(
    Gates, AlertsAnswer,
    testing::Values(AnswerCase{"None", "[]", false, "no alert"},
                    AnswerCase{"One", R"([{"labels":{"alertname":"Down"},"status":{"state":"active"}}])", true, "Down"},
                    AnswerCase{"Two", R"([{"labels":{"alertname":"Down"}},{"labels":{"alertname":"Slow"}}])", true,
                               "2 alerts, the first is Down"},
                    AnswerCase{"Suppressed", R"([{"labels":{"alertname":"Down"},"status":{"state":"suppressed"}}])",
                               false, "no alert"},
                    AnswerCase{"OddName", R"([{"labels":{"alertname":"a\nb"}}])", true, "a b"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(BadAlertsAnswer, IsRejected) {
  for (const char* body :
       {"", "{}", "null", "<html>", R"([{"name":"Down"}])", R"(["Down"])", R"({"status":"success"})"})
    EXPECT_FALSE(read_alerts_answer(body)) << body;
}

TEST(WebhookAnswer, IsReadStrictly) {
  EXPECT_EQ(*read_webhook_answer(R"({"hold":true,"message":"freeze 42"})"), (GateAnswer{true, "freeze 42"}));
  EXPECT_EQ(*read_webhook_answer(R"({"hold":false,"more":1})"), (GateAnswer{false, ""}));
  for (const char* body : {"", "true", "{}", R"({"hold":"true"})", R"({"hold":1})", R"({"hold":null})",
                           R"({"hold":false,"message":{}})", "<html>", "[]"})
    EXPECT_FALSE(read_webhook_answer(body)) << body;
  EXPECT_FALSE(read_webhook_answer(R"({"hold":false,"message":")" + std::string(kMaxWebhookBytes, 'x') + "\"}"));
}

TEST(WebhookAnswer, IsShownShort) {
  const auto answer = read_webhook_answer(R"({"hold":true,"message":")" + std::string(255, 'x') + "éé\"}");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->value, std::string(255, 'x') + "…") << "no half of a character";
}

}  // namespace gate_answers_test
}  // namespace controllers
