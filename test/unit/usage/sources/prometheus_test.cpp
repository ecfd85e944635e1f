#include "usage/sources/prometheus.hpp"

#include <gtest/gtest.h>

#include "base/base64.hpp"
#include "test/unit/usage/parse/text_of.hpp"
#include "test/unit/usage/sources/fake_server.hpp"
#include "usage/presets.hpp"

namespace usage_prometheus_test {

using usage_test::joined;
using usage_test::text_of;

const std::string kQuery = "/api/v1/query";
const std::string kRange = "/api/v1/query_range";

std::string one(const std::string& labels, const std::string& value) {
  return R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{)" + labels +
         R"(},"value":[1763726400,")" + value + R"("]}]}})";
}
const std::string kNoData = R"({"status":"success","data":{"resultType":"vector","result":[]}})";
const std::string kBadData = R"({"status":"error","errorType":"bad_data","error":"parse error"})";

api::UsageSource source_of(std::vector<api::UsageQuery> queries) {
  api::UsageSource source;
  source.name = "prom";
  source.type = api::UsageSourceType::kPrometheus;
  source.endpoint.url = "https://prometheus.monitoring:9090/base/";
  source.queries = std::move(queries);
  return source;
}
api::UsageQuery query(const std::string& resource, const std::string& text) {
  api::UsageQuery result;
  result.resource = resource;
  result.query = text;
  return result;
}

class PrometheusSource : public testing::Test {
 protected:
  base::Result<usage::Samples> sample(std::vector<api::UsageQuery> queries) {
    usage::Prometheus source(source_of(std::move(queries)), world_.dependencies());
    return source.sample();
  }
  usage_test::World world_;
};

TEST_F(PrometheusSource, SendsOneQueryPerColumn) {
  api::UsageQuery pods = query("cpu", "p");
  pods.of = api::UsageOf::kPod;
  world_.server.on(kQuery, one(R"("node":"n2")", "1"));
  world_.server.on(kQuery, one(R"("namespace":"shop","pod":"web")", "3"));
  world_.server.on(kQuery, one(R"("node":"n1")", "2"));
  const auto samples = sample({query("cpu", "a{b=\"c\"} + 1"), pods, query("memory", "m")});
  ASSERT_TRUE(samples) << samples.error().message;
  EXPECT_EQ(text_of(*samples), "n1=?/2 n2=1/? shop/web=3");
  ASSERT_EQ(world_.server.requests.size(), 3U);
  EXPECT_EQ(world_.server.requests[0].query, "query=a%7Bb%3D%22c%22%7D%20%2B%201&timeout=10000ms");
  EXPECT_EQ(world_.server.requests[0].timeout, base::seconds(10));
  EXPECT_EQ(world_.configs.size(), 1U);
  EXPECT_EQ(world_.configs[0].server, "https://prometheus.monitoring:9090/base/");
}

TEST_F(PrometheusSource, LongQueriesAreSentInTheBody) {
  world_.server.on(kQuery, one(R"("node":"n1")", "1"));
  ASSERT_TRUE(sample({query("cpu", std::string(4000, 'x'))}));
  EXPECT_EQ(world_.server.requests[0].method, "POST");
  EXPECT_TRUE(world_.server.requests[0].query.empty());
  EXPECT_EQ(world_.server.requests[0].body, "query=" + std::string(4000, 'x') + "&timeout=10000ms");
}

TEST_F(PrometheusSource, OneBadQueryCostsItsColumn) {
  world_.server.on(kQuery, kBadData, 400);
  world_.server.on(kQuery, one(R"("node":"n1")", "1"));
  const auto samples = sample({query("cpu", "a}"), query("memory", "m")});
  ASSERT_TRUE(samples) << samples.error().message;
  EXPECT_EQ(text_of(*samples), "n1=?/1");
  EXPECT_EQ(joined(samples->problems), "query cpu: the server reports bad_data: parse error");
}

TEST_F(PrometheusSource, OneLateQueryCostsItsColumnTwoTheSample) {
  const std::string late = R"({"status":"error","errorType":"timeout","error":"query timed out"})";
  world_.server.on(kQuery, late, 503);
  world_.server.on(kQuery, one(R"("node":"n1")", "1"));
  const auto samples = sample({query("cpu", "a"), query("memory", "m")});
  ASSERT_TRUE(samples) << samples.error().message;
  EXPECT_EQ(text_of(*samples), "n1=?/1");
  world_.server.answers[kQuery].clear();
  world_.server.requests.clear();
  world_.server.on(kQuery, late, 503);
  EXPECT_FALSE(sample({query("cpu", "a"), query("memory", "m"), query("disk", "d")}));
  EXPECT_EQ(world_.server.requests.size(), 2U);
}

TEST_F(PrometheusSource, AllBadQueriesFail) {
  world_.server.on(kQuery, kBadData, 400);
  const auto samples = sample({query("cpu", "a}"), query("memory", "b}")});
  ASSERT_FALSE(samples);
  EXPECT_EQ(samples.error().message, "query memory: the server reports bad_data: parse error");
}

TEST_F(PrometheusSource, NoDataIsAProblem) {
  world_.server.on(kQuery, kNoData);
  const auto samples = sample({query("cpu", "a")});
  ASSERT_TRUE(samples);
  EXPECT_EQ(joined(samples->problems), "query cpu: no data");
}

TEST_F(PrometheusSource, DeadServerIsCalledOncePerSample) {
  world_.server.on(kQuery, "", 0);
  const auto samples = sample({query("cpu", "a"), query("memory", "b")});
  ASSERT_FALSE(samples);
  EXPECT_EQ(samples.error().message, "query cpu: connection refused");
  EXPECT_EQ(world_.server.requests.size(), 1U);
}

struct RefusalCase {
  const char* name;
  int status;
  std::string body;
  base::ErrorCode code;
  std::string want;
};
class Refusal : public testing::TestWithParam<RefusalCase> {};
TEST_P(Refusal, IsReported) {
  usage_test::World world;
  world.server.on(kQuery, GetParam().body, GetParam().status);
  usage::Prometheus source(source_of({query("cpu", "a")}), world.dependencies());
  const auto samples = source.sample();
  ASSERT_FALSE(samples);
  EXPECT_EQ(samples.error().code, GetParam().code);
  EXPECT_EQ(samples.error().message, "query cpu: " + GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(
    Usage, Refusal,
    testing::Values(
        RefusalCase{"Unauthorized", 401, "secret text", base::ErrorCode::kUnauthorized,
                    "HTTP 401: the credentials are missing, wrong or expired: check bearerToken, basicAuth or "
                    "tls.certificate"},
        RefusalCase{"Forbidden", 403, "secret text", base::ErrorCode::kForbidden,
                    "HTTP 403: the credentials do not allow this request: check bearerToken, basicAuth or "
                    "tls.certificate and its permissions on the server"},
        RefusalCase{"NotFound", 404, "404 page", base::ErrorCode::kNotFound,
                    "HTTP 404: the address does not exist: does the URL lack a prefix?"},
        RefusalCase{"Redirect", 302, "", base::ErrorCode::kInvalid,
                    "HTTP 302: it redirects, which is not supported: use the redirect target"},
        RefusalCase{"Broken", 503, "<html>token=x</html>", base::ErrorCode::kUnavailable,
                    "HTTP 503: it, or a server behind it, is unavailable"},
        RefusalCase{"TimedOut", 503, R"({"status":"error","errorType":"timeout","error":"query timed out"})",
                    base::ErrorCode::kOutcomeUnknown, "the server reports timeout: query timed out"},
        RefusalCase{"Html", 200, "<html>token=x</html>", base::ErrorCode::kInvalid,
                    "the response is HTML or XML, not JSON: does the URL lead to a proxy or a login page?"}),
    [](const auto& test) { return test.param.name; });

/// Proxy in debug mode that quotes the request in its answer.
class EchoingPrometheus : public testing::Test {
 protected:
  base::Result<usage::Samples> sample(const std::string& answer, int status) {
    world_.api_server.on("/api/v1/namespaces/evacuator-system/secrets/prom",
                         R"({"metadata":{"labels":{"evacuator.dev/usage-credentials":"true"}},"data":{"token":")" +
                             base::encode_base64(token_) + R"(","for":")" +
                             base::encode_base64("https://prometheus.monitoring:9090") + R"("}})");
    world_.server.on(kQuery, answer, status);
    api::UsageSource settings = source_of({query("cpu", "a")});
    settings.endpoint.bearer_token = api::SecretKey{"prom", "token"};
    source_.emplace(settings, world_.dependencies());
    return source_->sample();
  }
  /// The token as JSON with an escape sequence, so that a byte comparison does not find it.
  std::string escaped() const { return R"(\u0074)" + token_.substr(1); }

  usage_test::World world_;
  std::optional<usage::Prometheus> source_;
  const std::string token_ = "t0p-secret-token";
};

TEST_F(EchoingPrometheus, ShowsNoTokenInErrors) {
  const auto samples =
      sample(R"({"status":"error","errorType":"bad_data","error":"Bearer )" + escaped() + R"( is bad"})", 400);
  ASSERT_FALSE(samples);
  EXPECT_EQ(samples.error().message, "query cpu: the server reports bad_data: Bearer [redacted] is bad");
}

TEST_F(EchoingPrometheus, ShowsNoPartOfATokenInTruncatedText) {
  const std::string filler(190, 'x');
  const auto samples = sample(R"({"status":"error","errorType":")" + filler + escaped() + R"(","error":"why"})", 400);
  ASSERT_FALSE(samples);
  EXPECT_EQ(samples.error().message, "query cpu: the server reports " + filler + "[redacted]…: why");
}

TEST_F(EchoingPrometheus, ShowsNoTokenInWarnings) {
  const auto samples = sample(
      R"({"status":"success","warnings":["asked by )" + escaped() + R"("],"data":{"resultType":"vector","result":[]}})",
      200);
  ASSERT_TRUE(samples);
  EXPECT_EQ(joined(samples->problems), "query cpu: the server warns: asked by [redacted]; query cpu: no data");
}

TEST_F(EchoingPrometheus, ShowsNoTokenInErrorsOfHistoryQueries) {
  ASSERT_TRUE(sample(one(R"("node":"n1")", "1"), 200));
  world_.server.answers[kQuery] = {
      {400, R"({"status":"error","errorType":"bad_data","error":")" + token_ + R"("})", {}, ""}};
  const auto past = source_->history(usage_test::kNoon - base::minutes(5), usage_test::kNoon, base::minutes(1));
  ASSERT_FALSE(past);
  EXPECT_EQ(past.error().message, "query cpu: history: the server reports bad_data: [redacted]");
}

}  // namespace usage_prometheus_test
