#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.hpp"
#include "base/metrics.hpp"
#include "base/name.hpp"
#include "base/result.hpp"

namespace base {
namespace base_test {

using testing::HasSubstr;

TEST(Result, HoldsAValueOrTheErrorThatPreventedIt) {
  const Result<int> good = 7;
  const Result<int> bad = invalid("no number");
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(*good, 7);
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().message, "no number");
}

TEST(Result, AbortsOnAccessToTheValueOfAnError) {
  const Result<int> bad = invalid("no number");
  EXPECT_DEATH((void)*bad, "");
}

TEST(Error, CollectsContextOnTheWayUp) {
  EXPECT_EQ(invalid("no such file").during("reading kubeconfig").during("starting").message,
            "starting: reading kubeconfig: no such file");
}

TEST(ErrorCode, HasANameAndASideForEachCode) {
  EXPECT_EQ(to_string(ErrorCode::kOutcomeUnknown), "OutcomeUnknown");
  EXPECT_TRUE(is_retriable(ErrorCode::kThrottled));
  EXPECT_FALSE(is_retriable(ErrorCode::kForbidden));
}

TEST(Log, WritesTextWithFields) {
  testing::internal::CaptureStderr();
  const Log log = Log::to_stderr(LogLevel::kInfo, LogFormat::kText).with({kv("evacuation", "shop/web-1")});
  log.info("evacuation requested", {kv("attempt", 2), kv("note", "two words")});
  log.debug("not shown");
  log.flush();
  const std::string out = testing::internal::GetCapturedStderr();
  EXPECT_THAT(out, HasSubstr("evacuation requested evacuation=shop/web-1 attempt=2 note=\"two words\""));
  EXPECT_THAT(out, Not(HasSubstr("not shown")));
}

TEST(Log, WritesOneJsonObjectPerLineForAnyText) {
  testing::internal::CaptureStderr();
  const Log log = Log::to_stderr(LogLevel::kInfo, LogFormat::kJson);
  log.info("a \"quoted\"\nline", {kv("ok", true), kv("ratio", 0.5)});
  log.flush();
  const std::string out = testing::internal::GetCapturedStderr();
  EXPECT_THAT(out, HasSubstr(R"("msg":"a \"quoted\"\u000aline","ok":true,"ratio":0.5})"));
}

/// Names and messages of tenants are logged, and terminals must not interpret them.
TEST(Log, PrintsNoControlCharacterInEitherFormat) {
  const std::string evil =
      "a\x1b[2J\x07\r\x7f\xc2\x9b"
      "31m\x9b\xff\xe2\x82\xac";
  for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
    testing::internal::CaptureStderr();
    const Log log = Log::to_stderr(LogLevel::kInfo, format);
    log.info("of " + evil, {kv("name", evil), kv("error", base::invalid(evil))});
    log.flush();
    std::string out = testing::internal::GetCapturedStderr();
    ASSERT_TRUE(out.ends_with('\n'));
    out.pop_back();
    for (const char c : out) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) << out;
    EXPECT_THAT(out, Not(HasSubstr("\xc2\x9b"))) << "C1 in UTF-8";
    EXPECT_THAT(out, HasSubstr("a\\u001b[2J\\u0007\\u000d\\u007f\\u009b31m\xef\xbf\xbd\xef\xbf\xbd\xe2\x82\xac"));
  }
}

TEST(Log, DiscardsByDefault) {
  testing::internal::CaptureStderr();
  Log().with({kv("a", "b")}).error("nobody hears this");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Metrics, RendersCounters) {
  Metrics metrics;
  metrics.counter("evacuations_total", "Finished evacuations.", {{"result", "Succeeded"}}).increment();
  metrics.counter("evacuations_total", "Finished evacuations.", {{"result", "Succeeded"}}).increment(2);
  metrics.gauge("slots", "Slots in use.").set(4);
  metrics.histogram("duration_seconds", "How long.", {1, 10}).observe(3);
  const std::string text = metrics.render();
  EXPECT_THAT(text, HasSubstr(R"(evacuations_total{result="Succeeded"} 3)"));
  EXPECT_THAT(text, HasSubstr("slots 4"));
  EXPECT_THAT(text, HasSubstr(R"(duration_seconds_bucket{le="10"} 1)"));
}

TEST(Metrics, ForgetTheSeriesOfALabel) {
  Metrics metrics;
  for (const char* policy : {"gone", "here"}) {
    metrics.counter("cycles_total", "Cycles.", {{"policy", policy}, {"reason", "why"}}).increment();
    metrics.gauge("circuit_open", "1: open.", {{"policy", policy}}).set(1);
    metrics.histogram("cycle_seconds", "How long.", {1, 10}, {{"policy", policy}}).observe(3);
  }
  metrics.forget("policy", "gone");
  metrics.forget("policy", "nobody");
  const std::string text = metrics.render();
  EXPECT_THAT(text, Not(HasSubstr("gone")));
  for (const char* each : {R"(cycles_total{policy="here",reason="why"} 1)", R"(circuit_open{policy="here"} 1)",
                           R"(cycle_seconds_count{policy="here"} 1)"})
    EXPECT_THAT(text, HasSubstr(each));
  metrics.counter("cycles_total", "Cycles.", {{"policy", "gone"}, {"reason", "why"}}).increment();
  EXPECT_THAT(metrics.render(), HasSubstr(R"(cycles_total{policy="gone",reason="why"} 1)"))
      << "made again: from the start";
}

TEST(Name, DoesNotMixKinds) {
  using Node = Name<struct NodeTag>;
  EXPECT_LT(Node{"a"}, Node{"b"});
  EXPECT_EQ(std::hash<Node>{}(Node{"a"}), std::hash<Node>{}(Node{"a"}));
}

}  // namespace base_test
}  // namespace base
