#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "api/json/json.hpp"
#include "telemetry/tracing/otlp.hpp"

namespace tracing_test {

using api::Json;
using testing::HasSubstr;
using tracing::Span;

base::TimePoint at(const char* text) { return *base::parse_time(text); }

const tracing::Resource kResource{.version = "0.1.0", .ns = "evacuator-system", .instance = "replica-1"};

Span span_of(const std::string& name) {
  const std::string trace = tracing::trace_id_of("uid-1");
  return {.trace_id = trace, .id = tracing::span_id_of(trace, name), .name = name};
}

TEST(TraceIds, AreDeterministicAndWellFormed) {
  const std::string trace = tracing::trace_id_of("7f0c3d52-9e77-4d0e-9f7c-6a1f0f3f4c11");
  EXPECT_EQ(trace, "5fc5d95b52edfdcf5ac9ffd858905771") << "golden: a restart goes on with it";
  EXPECT_EQ(trace, tracing::trace_id_of("7f0c3d52-9e77-4d0e-9f7c-6a1f0f3f4c11"));
  EXPECT_NE(trace, tracing::trace_id_of("7f0c3d52-9e77-4d0e-9f7c-6a1f0f3f4c12"));
  const std::string span = tracing::span_id_of(trace, "evacuation");
  EXPECT_THAT(span, testing::MatchesRegex("[0-9a-f]{16}"));
  EXPECT_NE(span, tracing::span_id_of(trace, "other"));
  EXPECT_NE(span, tracing::span_id_of(tracing::trace_id_of("x"), "evacuation"));
}

TEST(TraceIds, AreSampledByShareAndDeterministically) {
  int sampled = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::string trace = tracing::trace_id_of(std::to_string(i));
    EXPECT_TRUE(tracing::is_sampled(trace, 100));
    EXPECT_FALSE(tracing::is_sampled(trace, 0));
    const bool few = tracing::is_sampled(trace, 10);
    EXPECT_TRUE(!few || tracing::is_sampled(trace, 20)) << "more percent take the same traces and others";
    sampled += few;
  }
  EXPECT_NEAR(sampled, 1000, 100);
  for (const char* nonsense : {"", "zz", "0123456789abcdef0123456789abcdeg"})
    EXPECT_FALSE(tracing::is_sampled(nonsense, 99)) << nonsense;
}

TEST(TraceContext, FollowsW3cAndContainsTheSpan) {
  const std::string header = tracing::traceparent_of("0123456789abcdef0123456789abcdef", "fedcba9876543210");
  EXPECT_EQ(header, "00-0123456789abcdef0123456789abcdef-fedcba9876543210-01");
  EXPECT_EQ(tracing::span_id_in(header), "fedcba9876543210");
  for (const std::string& nonsense : {std::string(), header.substr(1), header + "0"})
    EXPECT_EQ(tracing::span_id_in(nonsense), "") << nonsense;
}

/// JSON format of opentelemetry-proto: ids in hex, 64-bit numbers as strings, enums as numbers.
TEST(Otlp, GoldenBytes) {
  Span life{.trace_id = "0123456789abcdef0123456789abcdef", .id = "0123456789abcdef", .name = "evacuation"};
  life.start = at("2026-11-25T12:00:00Z");
  life.end = at("2026-11-25T12:00:01.5Z");
  Span call{.trace_id = life.trace_id, .id = "fedcba9876543210", .parent = life.id, .name = "PostEviction"};
  call.kind = tracing::SpanKind::kClient;
  call.start = at("2026-11-25T12:00:00.25Z");
  call.end = at("2026-11-25T12:00:00.75Z");
  call.attributes = {{"text", std::string("a \"b\"")}, {"number", std::int64_t{429}}, {"real", 0.5}, {"flag", true}};
  call.links = {{"00000000000000000000000000000001", "0000000000000002"}};
  call.problem = "Blocked";
  EXPECT_EQ(
      tracing::encode_otlp(kResource, std::vector{life, call}),
      R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"evacuator"}},)"
      R"({"key":"service.version","value":{"stringValue":"0.1.0"}},)"
      R"({"key":"service.instance.id","value":{"stringValue":"replica-1"}},)"
      R"({"key":"k8s.namespace.name","value":{"stringValue":"evacuator-system"}}]},)"
      R"("scopeSpans":[{"scope":{"name":"evacuator","version":"0.1.0"},"spans":[)"
      R"({"attributes":[],"endTimeUnixNano":"1795608001500000000","kind":1,"name":"evacuation",)"
      R"("spanId":"0123456789abcdef","startTimeUnixNano":"1795608000000000000",)"
      R"("traceId":"0123456789abcdef0123456789abcdef"},)"
      R"({"attributes":[{"key":"text","value":{"stringValue":"a \"b\""}},)"
      R"({"key":"number","value":{"intValue":"429"}},{"key":"real","value":{"doubleValue":0.5}},)"
      R"({"key":"flag","value":{"boolValue":true}}],"endTimeUnixNano":"1795608000750000000","kind":3,)"
      R"("links":[{"spanId":"0000000000000002","traceId":"00000000000000000000000000000001"}],)"
      R"("name":"PostEviction","parentSpanId":"0123456789abcdef","spanId":"fedcba9876543210",)"
      R"("startTimeUnixNano":"1795608000250000000","status":{"code":2,"message":"Blocked"},)"
      R"("traceId":"0123456789abcdef0123456789abcdef"}]}]}]})");
}

TEST(Otlp, ForeignTextIsLimitedAndGivesValidJson) {
  Span span = span_of(std::string(10'000, 'n') + "\xff");
  span.attributes.push_back({"text", "\xff\xfe\x01\"" + std::string(1'000'000, 'x')});
  for (int i = 0; i < 100; ++i) span.attributes.push_back({"more", std::int64_t{i}});
  for (int i = 0; i < 1000; ++i) span.links.push_back({span.trace_id, span.id});
  span.problem = std::string(5000, '\xc3');
  span.start = base::TimePoint(base::Duration(-5));
  span.end = span.start - base::seconds(1);
  const std::string body = tracing::encode_otlp(kResource, std::vector{span});
  EXPECT_LT(body.size(), 20'000U);
  const Json json = Json::parse(body, nullptr, false);
  ASSERT_TRUE(json.is_object());
  const Json& told = json["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
  EXPECT_EQ(told["droppedAttributesCount"], 101 - tracing::kMaxAttributes);
  EXPECT_EQ(told["droppedLinksCount"], 1000 - tracing::kMaxLinks);
  EXPECT_EQ(told["startTimeUnixNano"], "0");
  EXPECT_EQ(told["endTimeUnixNano"], "0");
}

struct Verdict {
  const char* name;
  const char* answer;
  std::int64_t rejected;
};
class OtlpAnswers : public testing::TestWithParam<Verdict> {};

TEST_P(OtlpAnswers, ReportTheNumberOfRejectedSpans) {
  EXPECT_EQ(tracing::rejected_spans(GetParam().answer), GetParam().rejected);
}

INSTANTIATE_TEST_SUITE_P(
    Of, OtlpAnswers,
    testing::Values(Verdict{"Nothing", "", 0}, Verdict{"AnEmptyObject", "{}", 0},
                    Verdict{"AText", R"({"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}})", 3},
                    Verdict{"ANumber", R"({"partialSuccess":{"rejectedSpans":2}})", 2},
                    Verdict{"ANegativeOne", R"({"partialSuccess":{"rejectedSpans":"-9"}})", 0},
                    Verdict{"Words", R"({"partialSuccess":{"rejectedSpans":"many"}})", 0},
                    Verdict{"AHugeOne", R"({"partialSuccess":{"rejectedSpans":"99999999999999999999999"}})", 0},
                    Verdict{"Html", "<html>ok</html>", 0}, Verdict{"AList", "[1,2]", 0},
                    Verdict{"AnotherShape", R"({"partialSuccess":[]})", 0}),
    [](const auto& test) { return test.param.name; });

}  // namespace tracing_test
