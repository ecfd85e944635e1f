#include <gmock/gmock.h>

#include "controllers/webhooks/webhook_server.hpp"
#include "kube/http/transport.hpp"
#include "test/fakes/temp_folder.hpp"
#include "test/unit/kube/http/test_server.hpp"

/// webhook.clientCAFile: only clients with a certificate of these authorities are accepted.
namespace webhook_client_ca_test {

using kube::testing::Pem;
using kube::testing::TestCa;
using testing::HasSubstr;

class WebhookClientCa : public testing::Test {
 protected:
  controllers::WebhookServer server_with(const std::string& client_ca_file) {
    return {"127.0.0.1:0",
            {"127.0.0.1"},
            {{"/echo", [](std::string_view body) { return std::optional(std::string(body)); }}},
            {},
            {},
            client_ca_file};
  }
  base::Result<kube::Response> ask(const controllers::WebhookServer& server, const Pem& shown) {
    kube::Config config;
    config.server = "https://127.0.0.1:" + std::to_string(server.port());
    config.ca_pem = identity.ca;
    config.credentials = kube::static_credentials({"", shown.certificate, shown.key});
    kube::HttpTransportOptions options;
    options.engine = kube::HttpEngine::kBeast;
    const auto transport = kube::HttpTransport::create(std::move(config), options);
    kube::Request request;
    request.method = "POST";
    request.path = "/echo";
    request.content_type = "application/json";
    request.body = "{}";
    return (*transport)->round_trip(request);
  }

  const base::SystemClock clock;
  const fakes::TempFolder folder;
  const TestCa ours, others;
  const http_server::ServerIdentity identity = *http_server::make_server_identity({"127.0.0.1"}, clock.now());
};

TEST_F(WebhookClientCa, AcceptsItsCertificateOnly) {
  auto server = server_with(folder.write("ca.crt", ours.pem()));
  ASSERT_TRUE(server.start(clock.now()));
  ASSERT_TRUE(server.serve(identity));
  const auto honest = ask(server, ours.issue({"kube-apiserver"}));
  ASSERT_TRUE(honest) << honest.error().message;
  EXPECT_EQ(honest->status, 200);
  EXPECT_FALSE(ask(server, others.issue({"kube-apiserver"})));
  EXPECT_FALSE(ask(server, {}));
}

TEST_F(WebhookClientCa, ReadsTheAuthoritiesAgainWithEachCertificate) {
  auto server = server_with(folder.write("ca.crt", ours.pem()));
  ASSERT_TRUE(server.start(clock.now()));
  folder.write("ca.crt", others.pem());
  ASSERT_TRUE(server.serve(identity));
  EXPECT_TRUE(ask(server, others.issue({"kube-apiserver"})));
  EXPECT_FALSE(ask(server, ours.issue({"kube-apiserver"})));
}

TEST_F(WebhookClientCa, NamesTheFieldOfAFileThatCannotBeUsed) {
  for (const std::string& file : {folder.file("absent"), folder.write("empty", "\n"), folder.write("nonsense", "x")}) {
    auto server = server_with(file);
    const auto started = server.start(clock.now());
    ASSERT_FALSE(started) << file;
    EXPECT_THAT(started.error().message, testing::AnyOf(HasSubstr("webhook.clientCAFile"), HasSubstr("authorities")));
  }
}

}  // namespace webhook_client_ca_test
