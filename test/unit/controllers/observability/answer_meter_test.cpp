#include "controllers/observability/answer_meter.hpp"

#include <gmock/gmock.h>

namespace controllers {
namespace answer_meter_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class AnswerMeterTest : public testing::Test {
 protected:
  /// Returns the log lines for answers with these status codes.
  std::string log_of(std::initializer_list<int> statuses) {
    testing::internal::CaptureStderr();
    for (const int each : statuses) meter.count(each, "10.0.0.7:4000" + std::to_string(each % 10));
    return testing::internal::GetCapturedStderr();
  }

  base::ManualClock clock{base::TimePoint(base::seconds(1'000'000))};
  base::Metrics metrics;
  ResponseMeter meter{"metrics", metrics, clock, base::Log::to_stderr(base::LogLevel::kDebug, base::LogFormat::kText)};
};

TEST_F(AnswerMeterTest, CountsByCode) {
  log_of({200, 200, 401, 503, http_server::kNoResponse});
  const std::string told = metrics.render();
  EXPECT_THAT(told, AllOf(HasSubstr(R"(evacuator_server_answers_total{code="200",server="metrics"} 2)"),
                          HasSubstr(R"(evacuator_server_answers_total{code="401",server="metrics"} 1)"),
                          HasSubstr(R"(evacuator_server_answers_total{code="503",server="metrics"} 1)"),
                          HasSubstr(R"(evacuator_server_answers_total{code="none",server="metrics"} 1)")));
}

TEST_F(AnswerMeterTest, LogsRefusedRequestsWithTheClientOnly) {
  EXPECT_EQ(log_of({200, 204, 302, 503}), "");
  EXPECT_THAT(log_of({401}), AllOf(HasSubstr("warning"), HasSubstr("server=metrics"), HasSubstr("code=401"),
                                   HasSubstr("count=1"), HasSubstr("10.0.0.7:40001")));
  EXPECT_THAT(log_of({http_server::kNoResponse}), HasSubstr("code=none"));
}

/// A flood of requests must not flood the log.
TEST_F(AnswerMeterTest, LogsALineAMinuteForEachCode) {
  EXPECT_THAT(log_of({403, 413}), AllOf(HasSubstr("code=403"), HasSubstr("code=413")));
  EXPECT_EQ(log_of({403, 403, 413}), "");
  clock.advance(ResponseMeter::kLogInterval);
  EXPECT_THAT(log_of({403}), AllOf(HasSubstr("code=403"), HasSubstr("count=3"), Not(HasSubstr("code=413"))));
}

}  // namespace answer_meter_test
}  // namespace controllers
