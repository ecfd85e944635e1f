#include "controllers/policy/gates/client.hpp"
#include "controllers/policy/gates/answers.hpp"

#include <gtest/gtest.h>

#include "base/base64.hpp"
#include "test/unit/usage/sources/fake_server.hpp"

namespace controllers {
namespace gate_client_test {

/// A webhook that returns the token it received.
TEST(GateClient, ShowsNoTokenThatTheServerGivesBack) {
  const std::string token = "t0p-secret-token";
  usage_test::World world;
  world.api_server.on("/api/v1/namespaces/evacuator-system/secrets/hook",
                      R"({"metadata":{"labels":{"evacuator.dev/usage-credentials":"true"}},"data":{"token":")" +
                          base::encode_base64(token) + R"(","for":")" + base::encode_base64("https://hook") + R"("}})");
  world.server.on("/", R"({"hold":true,"message":"not for Bearer \u00740p-secret-token"})");
  world.server.on("/", R"({"hold":true,"message":")" + std::string(250, 'x') + token + R"("})");
  api::PolicyGate gate;
  gate.name = "change-freeze";
  gate.type = api::GateType::kWebhook;
  api::UsageEndpoint endpoint;
  endpoint.url = "https://hook";
  endpoint.bearer_token = api::SecretKey{"hook", "token"};
  const auto client = http_gate_clients(world.dependencies())(endpoint, kMaxWebhookBytes);
  const auto whole = ask_gate(*client, "balance", gate, endpoint);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->value, "not for Bearer [redacted]");
  const auto cut = ask_gate(*client, "balance", gate, endpoint);
  ASSERT_TRUE(cut) << cut.error().message;
  EXPECT_EQ(cut->value, std::string(250, 'x') + "[redacted]…");
}

}  // namespace gate_client_test
}  // namespace controllers
