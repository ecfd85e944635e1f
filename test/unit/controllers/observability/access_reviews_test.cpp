#include "controllers/observability/access_reviews.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "test/unit/kube/fake_transport.hpp"

namespace controllers {
namespace access_reviews_test {

using api::Json;
using base::seconds;
using kube::testing::FakeTransport;
using kube::testing::json_response;
using testing::HasSubstr;

/// Fake API server that accepts tokens "of-<user>" and allows some users to read /metrics.
class AccessReviewsTest : public testing::Test {
 protected:
  AccessReviewsTest() {
    transport.answer = [this](const kube::Request& request) -> base::Result<kube::Response> {
      if (failure) return *failure;
      const Json asked = Json::parse(request.body);
      Json answer = asked;
      if (request.path == "/apis/authentication.k8s.io/v1/tokenreviews") {
        ++token_reviews;
        const std::string token = asked["spec"]["token"];
        const bool known = token.starts_with("of-");
        answer["status"] = {{"authenticated", known}};
        if (known)
          answer["status"]["user"] = {{"username", token.substr(3)}, {"uid", "u-1"}, {"groups", {"monitoring"}}};
      } else {
        EXPECT_EQ(request.path, "/apis/authorization.k8s.io/v1/subjectaccessreviews");
        spec = asked["spec"];
        answer["status"] = {{"allowed", allowed.contains(spec["user"].get<std::string>())}};
      }
      return json_response(201, answer.dump());
    };
  }
  Access ask(const std::string& token) { return reviews.may_get("/metrics", token); }

  base::ManualClock clock{base::TimePoint(seconds(1'000'000))};
  FakeTransport transport;
  kube::Client client{transport, nullptr};
  std::set<std::string> allowed{"prometheus"};
  std::optional<base::Error> failure;
  int token_reviews = 0;
  Json spec;
  AccessReviews reviews{client, clock, base::Log()};
};

TEST_F(AccessReviewsTest, AskTheApiServerForIdentityAndRights) {
  EXPECT_EQ(ask("of-prometheus"), Access::kAllowed);
  EXPECT_EQ(spec, (Json{{"user", "prometheus"},
                        {"uid", "u-1"},
                        {"groups", {"monitoring"}},
                        {"nonResourceAttributes", {{"path", "/metrics"}, {"verb", "get"}}}}));
  EXPECT_EQ(ask("of-mallory"), Access::kForbidden);
  EXPECT_EQ(ask("made-up"), Access::kUnauthenticated);
  EXPECT_EQ(ask(""), Access::kUnauthenticated);
  EXPECT_EQ(token_reviews, 3) << "nobody is asked about no token";
}

TEST_F(AccessReviewsTest, RememberAnAnswerForAShortTime) {
  EXPECT_EQ(ask("of-prometheus"), Access::kAllowed);
  EXPECT_EQ(ask("of-prometheus"), Access::kAllowed);
  EXPECT_EQ(token_reviews, 1);
  allowed.clear();
  clock.advance(seconds(60));
  EXPECT_EQ(ask("of-prometheus"), Access::kForbidden) << "a right that was taken away ends within a minute";
  allowed = {"prometheus"};
  clock.advance(seconds(10));
  EXPECT_EQ(ask("of-prometheus"), Access::kAllowed);
}

TEST_F(AccessReviewsTest, RememberNoFailure) {
  failure = base::unavailable("the API server is down");
  EXPECT_EQ(ask("of-prometheus"), Access::kUnknown);
  failure.reset();
  EXPECT_EQ(ask("of-prometheus"), Access::kAllowed);
}

TEST_F(AccessReviewsTest, RejectMalformedAnswers) {
  for (const char* lie :
       {"{}", "[]", R"({"status":7})", R"({"status":{"authenticated":"yes","user":{}}})",
        R"({"status":{"authenticated":true}})", R"({"status":{"authenticated":true,"user":[]}})", "<html/>"}) {
    transport.answer = [lie](const kube::Request&) -> base::Result<kube::Response> { return json_response(201, lie); };
    EXPECT_NE(ask(std::string("of-") + lie), Access::kAllowed) << lie;
  }
}

/// Attack: thousands of invented tokens, each of which would cost a request to the API server and an entry in memory.
TEST_F(AccessReviewsTest, AFloodOfTokensNeitherFloodsTheApiServerNorTheMemoryNorKeepsPrometheusOut) {
  ASSERT_EQ(ask("of-prometheus"), Access::kAllowed);
  int too_many = 0;
  for (int second = 0; second < 300; ++second) {
    for (int i = 0; i < 50; ++i) {
      too_many += ask("made-up-" + std::to_string(second * 50 + i)) == Access::kRateLimited;
    }
    EXPECT_EQ(ask("of-prometheus"), Access::kAllowed);
    clock.advance(seconds(1));
  }
  EXPECT_GT(too_many, 13'000);
  EXPECT_LT(token_reviews, 20 + 5 * 300 + 10);
  EXPECT_LE(reviews.remembered(), AccessReviews::kMaxRemembered);
}

TEST_F(AccessReviewsTest, AFloodOfUnknownTokensFromOneAddressLeavesRoomForAnother) {
  int of_flood = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string port = std::to_string(40'000 + i);
    of_flood += reviews.may_get("/metrics", "made-up-" + port, "10.0.0.66:" + port) != Access::kRateLimited;
  }
  EXPECT_LT(of_flood, 20);
  EXPECT_EQ(reviews.may_get("/metrics", "of-prometheus", "10.0.0.7:40112"), Access::kAllowed)
      << "its token was rotated: it is as unknown as the others";
  for (int i = 0; i < 1000; ++i) (void)reviews.may_get("/metrics", "m", "10.1." + std::to_string(i) + ".1:1");
  EXPECT_LT(token_reviews, 30) << "many addresses share one rate";
}

TEST(BearerToken, IsReadFromTheHeader) {
  EXPECT_EQ(bearer_token("Bearer abc.def"), "abc.def");
  EXPECT_EQ(bearer_token("bearer abc"), "abc");
  EXPECT_EQ(bearer_token("Basic abc"), "");
  EXPECT_EQ(bearer_token("Bearer "), "");
  EXPECT_EQ(bearer_token(""), "");
}

}  // namespace access_reviews_test
}  // namespace controllers
