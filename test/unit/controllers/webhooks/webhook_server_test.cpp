#include "controllers/webhooks/webhook_server.hpp"

#include <gmock/gmock.h>

#include <atomic>

#include "kube/http/transport.hpp"

namespace controllers {
namespace webhook_server_test {

using testing::HasSubstr;

class WebhookServerTest : public testing::Test {
 protected:
  WebhookServerTest() {
    EXPECT_TRUE(server.start(clock.now()));
    identity = made();
    EXPECT_TRUE(server.serve(identity));
  }
  http_server::ServerIdentity made() const { return *http_server::make_server_identity({"127.0.0.1"}, clock.now()); }

  base::Result<kube::Response> post(const std::string& path, const std::string& body, const std::string& ca) const {
    kube::Config config;
    config.server = "https://127.0.0.1:" + std::to_string(server.port());
    config.ca_pem = ca;
    config.credentials = kube::static_credentials({});
    kube::HttpTransportOptions options;
    options.engine = kube::HttpEngine::kBeast;
    const auto transport = kube::HttpTransport::create(std::move(config), options);
    kube::Request request;
    request.method = body.empty() ? "GET" : "POST";
    request.path = path;
    request.content_type = body.empty() ? "" : "application/json";
    request.body = body;
    return (*transport)->round_trip(request);
  }
  int status_of(const std::string& path, const std::string& body) const {
    const auto answer = post(path, body, identity.ca);
    return answer ? answer->status : 0;
  }

  base::SystemClock clock;
  std::atomic<int> refused = 0;
  WebhookServer server{
      "127.0.0.1:0",
      {"127.0.0.1"},
      {{"/echo", [](std::string_view body) { return body == "no" ? std::nullopt : std::optional(std::string(body)); }}},
      {},
      [this](int status, const std::string&) { refused += status >= 400; }};
  http_server::ServerIdentity identity;
};

TEST_F(WebhookServerTest, AnswersReviews) {
  const auto answer = post("/echo", "{}", identity.ca);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "{}");
}

TEST_F(WebhookServerTest, RefusesOtherBodiesAndReportsThem) {
  EXPECT_EQ(status_of("/echo", "no"), 400);
  EXPECT_EQ(status_of("/else", "{}"), 404);
  EXPECT_EQ(status_of("/echo", ""), 405);
  EXPECT_EQ(status_of("/echo", std::string(kMaxReviewBytes + 1, ' ')), 413);
  EXPECT_EQ(refused, 4);
}

TEST_F(WebhookServerTest, TakesOverANewCertificateWithoutARestart) {
  const http_server::ServerIdentity next = made();
  EXPECT_TRUE(server.serve(next));
  EXPECT_TRUE(post("/echo", "{}", next.ca));
  EXPECT_FALSE(post("/echo", "{}", identity.ca)) << "it shows the new one";
}

TEST_F(WebhookServerTest, KeepsItsCertificateIfTheNewOneIsInvalid) {
  EXPECT_FALSE(server.serve({"", "nonsense", "nonsense"}));
  EXPECT_TRUE(post("/echo", "{}", identity.ca));
}

TEST(WebhookServerStart, NamesTheFieldOfAWrongAddress) {
  WebhookServer server("localhost", {"localhost"}, {}, {});
  const auto started = server.start(base::SystemClock().now());
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr("webhook.address"));
}

}  // namespace webhook_server_test
}  // namespace controllers
