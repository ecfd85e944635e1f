#include "usage/parse/prometheus.hpp"

#include <gtest/gtest.h>

#include "test/unit/usage/parse/text_of.hpp"

namespace usage_prometheus_parse_test {

using usage_test::joined;
using usage_test::text_of;

std::string vector_of(const std::string& result) {
  return R"({"status":"success","data":{"resultType":"vector","result":[)" + result + "]}}";
}
std::string sample(const std::string& labels, const std::string& value) {
  return R"({"metric":{)" + labels + R"(},"value":[1763726400.123,")" + value + R"("]})";
}

/// Returns the same answer with spaces that Prometheus itself does not write.
std::string with_spaces(std::string answer) {
  constexpr std::string_view kPlain = R"({"metric")";
  for (std::size_t at = 0; (at = answer.find(kPlain, at)) != std::string::npos; at += kPlain.size())
    answer.insert(at + 1, " ");
  return answer;
}

/// Returns the rows in order and the problems, or the error.
std::string read(std::string answer, const api::UsageQuery& query = {}) {
  usage::Rows rows(1);
  const auto notes = usage::read_vector(answer, query, rows);
  if (!notes) return "error: " + notes.error().message;
  std::vector<std::string> problems = notes->warnings;
  rows.oddities.tell("", problems);
  usage::sort_and_merge(rows, "", problems);
  return text_of(rows) + (problems.empty() ? "" : " | " + joined(problems));
}

struct VectorCase {
  const char* name;
  std::string answer;
  std::string want;
};
class Vector : public testing::TestWithParam<VectorCase> {};
TEST_P(Vector, IsRead) { EXPECT_EQ(read(GetParam().answer), GetParam().want); }
TEST_P(Vector, IsReadWithSpacesToo) { EXPECT_EQ(read(with_spaces(GetParam().answer)), GetParam().want); }

const std::string kN1 = R"("node":"n1")";
INSTANTIATE_TEST_SUITE_P(
    Usage, Vector,
    testing::Values(
        VectorCase{"LabelNode", vector_of(sample(R"("instance":"10.0.0.1:9100","node":"n1")", "0.5")), "n1=0.5"},
        VectorCase{"InstanceWithoutPort", vector_of(sample(R"("instance":"10.0.0.1:9100")", "0.5")), "10.0.0.1=0.5"},
        VectorCase{"InstanceOfIpv6", vector_of(sample(R"("instance":"[fe80::1]:9100")", "0.5")), "fe80::1=0.5"},
        VectorCase{"SortedByName", vector_of(sample(R"("node":"b")", "2") + "," + sample(R"("node":"a")", "1")),
                   "a=1 b=2"},
        VectorCase{"Exponent", vector_of(sample(kN1, "1.5e+09")), "n1=1.5e+09"},
        VectorCase{"Nan", vector_of(sample(kN1, "NaN")), "n1=? | 1 value is NaN or infinite"},
        VectorCase{"Infinite", vector_of(sample(kN1, "+Inf")), "n1=? | 1 value is NaN or infinite"},
        VectorCase{"MinusInfinite", vector_of(sample(kN1, "-Inf")), "n1=? | 1 value is NaN or infinite"},
        VectorCase{"Negative", vector_of(sample(kN1, "-0.5")), "n1=? | 1 value is negative"},
        VectorCase{"TooLarge", vector_of(sample(kN1, "1e999")), "n1=? | 1 value is not a number"},
        VectorCase{"Words", vector_of(sample(kN1, "much")), "n1=? | 1 value is not a number"},
        VectorCase{"Empty", vector_of(sample(kN1, "")), "n1=? | 1 value is not a number"},
        VectorCase{"BareNumber", vector_of(R"({"metric":{"node":"n1"},"value":[1763726400,0.5]})"),
                   "n1=? | 1 value is not a number"},
        VectorCase{"NoValue", vector_of(R"({"metric":{"node":"n1"}})"), "n1=? | 1 value is not a number"},
        VectorCase{"NativeHistogram", vector_of(R"({"metric":{"node":"n1"},"histogram":[1,{"count":"3"}]})"),
                   "n1=? | 1 value is not a number"},
        VectorCase{"ValueBeforeLabels", vector_of(R"({"value":[1,"2"],"metric":{"node":"n1"}})"), "n1=2"},
        VectorCase{"Duplicates",
                   vector_of(sample(kN1, "1") + "," + sample(kN1, "2") + "," + sample(R"("node":"n2")", "3")),
                   "n1=? n2=3 | more than one value for n1"},
        VectorCase{"ThreeOfOne", vector_of(sample(kN1, "1") + "," + sample(kN1, "2") + "," + sample(kN1, "3")),
                   "n1=? | more than one value for n1"},
        VectorCase{"Escape", vector_of(sample(R"("node":"n\u0031")", "1") + "," + sample(R"("node":"n2")", "2")),
                   "n1=1 n2=2"},
        VectorCase{"EscapedQuoteInALabel", vector_of(sample(R"("x":"\",\"node\":\"no","node":"n1")", "1")), "n1=1"},
        VectorCase{"OddTime", vector_of(R"({"metric":{"node":"n1"},"value":[17637264e2,"1"]})"), "n1=1"},
        VectorCase{"NotAllPlain", vector_of(sample(kN1, "1") + R"(,{"metric":{"node":"n2"},"value":[1,"2"],"x":0})"),
                   "n1=1 n2=2"},
        VectorCase{"ResultOfSomethingElse",
                   R"({"other":{"result":[{"metric":{"node":"no"},"value":[1,"9"]}]},"status":"success",)"
                   R"("data":{"resultType":"vector","result":[{"metric":{"node":"n1"},"value":[1,"2"]}]}})",
                   "n1=2"},
        VectorCase{"BehindTheResult",
                   R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{"node":"n1"},)"
                   R"("value":[1,"2"]}],"stats":{"x":[1]}},"warnings":["slow"]})",
                   "n1=2 | slow"},
        VectorCase{"ErrorWithData",
                   R"({"data":{"resultType":"vector","result":[{"metric":{"node":"n1"},"value":[1,"2"]}]},)"
                   R"("status":"error","errorType":"execution","error":"no"})",
                   "error: the server reports execution: no"},
        VectorCase{"OfNobody", vector_of(sample("", "1") + "," + sample(kN1, "2")),
                   "n1=2 | 1 value is without a complete name: a label or a name is missing"},
        VectorCase{"NoData", vector_of(""), ""},
        VectorCase{"Warnings",
                   R"({"status":"success","warnings":["partial response"],"data":{"resultType":"vector","result":[]}})",
                   " | partial response"},
        VectorCase{
            "Scalar", R"({"status":"success","data":{"resultType":"scalar","result":[1763726400,"1"]}})",
            "error: the result is a scalar, not a vector: a scalar has no node: leave out scalar(), or aggregate "
            "by (node)"},
        VectorCase{"String", R"({"status":"success","data":{"resultType":"string","result":[1763726400,"x"]}})",
                   "error: the result is a string, not a vector: a string is not a number"},
        VectorCase{"Matrix",
                   R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"2"]]}]}})",
                   "error: the result is a matrix, not a vector: it is a range of samples: wrap it in rate() or "
                   "avg_over_time()"},
        VectorCase{"Error", R"({"status":"error","errorType":"bad_data","error":"parse error: unexpected }"})",
                   "error: the server reports bad_data: parse error: unexpected }"},
        VectorCase{"Html", "<!DOCTYPE html><html>Sign in, admin:hunter2</html>",
                   "error: the response is HTML or XML, not JSON: does the URL lead to a proxy or a login page?"},
        VectorCase{"Nothing", "", "error: the response is empty"},
        VectorCase{"OtherJson", R"({"items":[]})", "error: the response is not from the Prometheus API: no status"},
        VectorCase{"NoType", R"({"status":"success","data":{"result":[]}})", "error: the response has no resultType"}),
    [](const auto& test) { return test.param.name; });

TEST(Prometheus, TruncatedAnswerIsAnError) {
  std::string whole = vector_of(sample(kN1, "1"));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_TRUE(read(whole.substr(0, size)).starts_with("error: ")) << size;
}

TEST(Prometheus, InvalidJsonIsAnErrorEvenWithAValidBeginning) {
  const std::string good = vector_of(sample(kN1, "1") + "," + sample(R"("node":"n2")", "2"));
  EXPECT_EQ(read(good), "n1=1 n2=2");
  const auto replaced = [&](const std::string& what, const std::string& with) {
    std::string bad = good;
    return bad.replace(bad.find(what), what.size(), with);
  };
  for (const std::string& bad : {good + "x", replaced("n2", "n\n2"), replaced("n2", "n\xff"), replaced("]}]", "]}x]"),
                                 replaced(R"("},")", R"("}")"), replaced("},{", "}{")})
    EXPECT_TRUE(read(bad).starts_with("error: ")) << bad;
}

/// The parser scans texts eight bytes at a time, so their lengths and the positions of special characters matter.
TEST(Prometheus, TextsOfAllLengthsAreReadLikeAGeneralParser) {
  for (std::size_t size = 1; size < 20; ++size) {
    const std::string name(size, 'n');
    EXPECT_EQ(read(vector_of(sample(R"("node":")" + name + '"', "1"))), name + "=1");
    for (std::size_t at = 0; at < size; ++at) {
      for (const std::string strange : {"\\\"", "\\u0041", "\n", "\x1f", " ", "!", "#", "\x7f", "\xc3\xa9", "[", "]"}) {
        const std::string odd = std::string(name).replace(at, 1, strange);
        const std::string answer = vector_of(sample(R"("node":")" + odd + '"', "1"));
        EXPECT_EQ(read(answer), read(with_spaces(answer))) << odd;
        EXPECT_EQ(read(answer).starts_with("error: "), strange == "\n" || strange == "\x1f") << odd;
      }
    }
  }
}

/// Names are sorted by their first differing bytes, because there may be a hundred thousand of them.
TEST(Prometheus, PodsAreSortedByNamespaceAndName) {
  api::UsageQuery query;
  query.of = api::UsageOf::kPod;
  const auto pod = [](const std::string& ns, const std::string& name) {
    return sample(R"("namespace":")" + ns + R"(","pod":")" + name + "\"", "1");
  };
  const std::string answer = vector_of(pod("b", "web-10") + "," + pod("b", "web-1") + "," + pod("a", "z") + "," +
                                       pod("b", "web-1-long-name-2") + "," + pod("b", "web-1-long-name-1") + "," +
                                       pod("ab", "a") + "," + pod("b", "web-") + "," + pod("a", "z"));
  EXPECT_EQ(read(answer, query),
            "a/z=? ab/a=1 b/web-=1 b/web-1=1 b/web-1-long-name-1=1 b/web-1-long-name-2=1 b/web-10=1 | more than one "
            "value for a/z");
}

TEST(Prometheus, TimeIsThatOfTheEvaluation) {
  usage::Rows rows(1);
  std::string answer = vector_of(sample(kN1, "1"));
  ASSERT_TRUE(usage::read_vector(answer, {}, rows));
  EXPECT_EQ(base::format_micro_time(rows.rows[0].time), "2025-11-21T12:00:00.123000Z");
}

TEST(Prometheus, FractionBecomesPercent) {
  api::UsageQuery query;
  query.unit = api::UsageUnit::kFraction;
  EXPECT_EQ(read(vector_of(sample(kN1, "0.25")), query), "n1=25");
}

TEST(Prometheus, LabelsAreMapped) {
  api::UsageQuery query;
  query.node_label = "kubernetes_node";
  EXPECT_EQ(read(vector_of(sample(R"("node":"no","kubernetes_node":"n1:1")", "2")), query), "n1:1=2");
  query.node_label = "instance";
  EXPECT_EQ(read(vector_of(sample(R"("node":"no","instance":"n1:1")", "2")), query), "n1=2");
}

TEST(Prometheus, PodsNeedNamespaceAndName) {
  api::UsageQuery query;
  query.of = api::UsageOf::kPod;
  EXPECT_EQ(
      read(vector_of(sample(R"("namespace":"shop","pod":"web")", "2") + "," + sample(R"("pod":"web")", "2")), query),
      "shop/web=2 | 1 value is without a complete name: a label or a name is missing");
  query.namespace_label = "exported_namespace";
  query.pod_label = "exported_pod";
  EXPECT_EQ(read(vector_of(sample(R"("exported_namespace":"shop","exported_pod":"web","pod":"no")", "2")), query),
            "shop/web=2");
}

TEST(Prometheus, TooManySeriesEndTheReading) {
  std::string result = sample(kN1, "1");
  for (std::size_t i = 0; i < usage::kMaxNodeSeries; ++i) result += "," + sample(kN1, "1");
  usage::Rows rows(1);
  std::string answer = vector_of(result);
  const auto notes = usage::read_vector(answer, {}, rows);
  ASSERT_FALSE(notes);
  EXPECT_EQ(notes.error().message, "too many series (more than 20000): aggregate by node or by namespace and pod");
  EXPECT_LE(rows.rows.size(), usage::kMaxNodeSeries);
}

TEST(Prometheus, TransientErrorsAreReported) {
  std::string timeout = R"({"status":"error","errorType":"timeout","error":"query timed out"})";
  const auto error = usage::api_error(timeout);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, base::ErrorCode::kUnavailable);
  std::string page = "<html>";
  EXPECT_FALSE(usage::api_error(page));
}

// --- integers

std::string matrix_of(const std::string& result) {
  return R"({"status":"success","data":{"resultType":"matrix","result":[)" + result + "]}}";
}
std::string series(const std::string& labels, const std::string& points) {
  return R"({"metric":{)" + labels + R"(},"values":[)" + points + "]}";
}

/// Returns the numbers by series, or the error.
std::string numbers(std::string answer) {
  const auto read = usage::read_numbers(answer, {});
  if (!read) return "error: " + read.error().message;
  std::string text;
  for (const auto& each : read->series) {
    text += (text.empty() ? "" : " | ") + each.name + ":";
    for (std::size_t i = each.begin; i < each.end; ++i) {
      const std::int32_t number = read->numbers[i];
      text += number == usage::kBelowAll   ? " below"
              : number == usage::kAboveAll ? " above"
                                           : " " + std::to_string(number);
    }
  }
  return text + (read->not_whole == 0 ? "" : " | not whole: " + std::to_string(read->not_whole));
}

class Numbers : public testing::TestWithParam<VectorCase> {};
TEST_P(Numbers, AreRead) { EXPECT_EQ(numbers(GetParam().answer), GetParam().want); }
TEST_P(Numbers, AreReadWithSpacesToo) { EXPECT_EQ(numbers(with_spaces(GetParam().answer)), GetParam().want); }

INSTANTIATE_TEST_SUITE_P(
    Usage, Numbers,
    testing::Values(
        VectorCase{"Plain", matrix_of(series(kN1, R"([300,"-47"],[600,"0"],[900,"12"])")), "n1: -47 0 12"},
        VectorCase{"SeveralSeries",
                   matrix_of(series(kN1, R"([300,"1"])") + "," + series("", R"([300,"7"])") + "," +
                             series(R"("node":"n2")", R"([300,"2"],[600,"3"])")),
                   "n1: 1 | n2: 2 3"},
        VectorCase{"NothingAtAll", matrix_of(""), ""},
        VectorCase{"FractionsOfSeconds", matrix_of(series(kN1, R"([300.5,"4"],[600,"5"])")), "n1: 4 5"},
        VectorCase{"Infinite", matrix_of(series(kN1, R"([300,"-Inf"],[600,"+Inf"],[900,"NaN"],[1200,"1"])")),
                   "n1: below above 1"},
        VectorCase{"NegativeZero", matrix_of(series(kN1, R"([300,"-0"])")), "n1: 0"},
        VectorCase{"LongNumbers", matrix_of(series(kN1, R"([300,"123456789"],[600,"1e+20"],[900,"-99999999999"])")),
                   "n1: 123456789 above below"},
        VectorCase{"NotWhole", matrix_of(series(kN1, R"([300,"0.5"],[600,"2"],[900,"x"])")), "n1: 2 | not whole: 2"},
        VectorCase{"NoPoints", matrix_of(series(kN1, "")), "n1:"},
        VectorCase{"AVector", vector_of(sample(kN1, "1")),
                   "error: the result is a vector, not a matrix: the query must return a number for each node or pod"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Numbers, ATruncatedAnswerIsAlwaysAnError) {
  const std::string whole = matrix_of(series(kN1, R"([300,"-47"],[600.5,"NaN"],[900,"12"])"));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_TRUE(numbers(whole.substr(0, size)).starts_with("error: ")) << size;
}

}  // namespace usage_prometheus_parse_test
