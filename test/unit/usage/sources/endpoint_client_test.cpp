#include "usage/sources/endpoint_client.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/base64.hpp"
#include "test/unit/usage/sources/fake_server.hpp"

namespace usage_endpoint_client_test {

const std::string kSecretPath = "/api/v1/namespaces/evacuator-system/secrets/prom";

std::string secret_of(std::map<std::string, std::string> data, const std::string& label = "true") {
  data.emplace("for", "https://prometheus:9090");
  api::Json secret = {{"metadata", {{"name", "prom"}, {"labels", {{"evacuator.dev/usage-credentials", label}}}}}};
  for (const auto& [key, value] : data) secret["data"][key] = base::encode_base64(value);
  return secret.dump();
}

class EndpointClient : public testing::Test {
 protected:
  EndpointClient() {
    endpoint_.url = "https://prometheus:9090/prom";
    world_.server.on("/x", "{}");
  }
  base::Result<kube::Response> ask() {
    kube::Request request;
    request.path = "/x";
    return client().send(request);
  }
  usage::EndpointClient& client() {
    if (!client_) client_.emplace(endpoint_, world_.dependencies());
    return *client_;
  }
  std::string refused() {
    const auto answer = ask();
    return answer ? "" : answer.error().message;
  }
  std::string authorization() const { return world_.configs.back().credentials->present()->authorization; }
  void use_token() { endpoint_.bearer_token = api::SecretKey{"prom", "token"}; }

  usage_test::World world_;
  api::UsageEndpoint endpoint_;
  std::optional<usage::EndpointClient> client_;
};

TEST_F(EndpointClient, ReadsNoUnneededSecret) {
  endpoint_.headers = {{"X-Scope-OrgID", "shop"}};
  endpoint_.server_name = "prom.example";
  endpoint_.timeout = base::seconds(7);
  ASSERT_TRUE(ask());
  EXPECT_TRUE(world_.api_server.requests.empty());
  EXPECT_EQ(world_.configs[0].tls_server_name, "prom.example");
  EXPECT_EQ(world_.options[0].headers, endpoint_.headers);
  EXPECT_EQ(world_.options[0].max_body_bytes, usage::kMaxAnswerBytes);
  EXPECT_EQ(world_.server.requests[0].timeout, base::seconds(7));
  EXPECT_EQ(authorization(), "");
}

TEST_F(EndpointClient, SendsTheToken) {
  use_token();
  world_.api_server.on(kSecretPath, secret_of({{"token", "abc\n"}}));
  ASSERT_TRUE(ask());
  ASSERT_TRUE(ask());
  EXPECT_EQ(authorization(), "Bearer abc");
  EXPECT_EQ(world_.api_server.requests.size(), 1U) << "read once, connected once";
  EXPECT_EQ(world_.configs.size(), 1U);
}

TEST_F(EndpointClient, SendsUserAndPassword) {
  endpoint_.basic_username = api::SecretKey{"prom", "user"};
  endpoint_.basic_password = api::SecretKey{"prom", "password"};
  world_.api_server.on(kSecretPath, secret_of({{"user", "me"}, {"password", "pass:word"}}));
  ASSERT_TRUE(ask());
  EXPECT_EQ(authorization(), "Basic " + base::encode_base64("me:pass:word"));
  EXPECT_EQ(world_.api_server.requests.size(), 1U) << "two keys of one Secret";
}

TEST_F(EndpointClient, SendsTheCertificate) {
  endpoint_.ca = api::SecretKey{"prom", "ca.crt"};
  endpoint_.certificate = api::SecretKey{"prom", "tls.crt"};
  endpoint_.certificate_key = api::SecretKey{"prom", "tls.key"};
  world_.api_server.on(kSecretPath, secret_of({{"ca.crt", "CA"}, {"tls.crt", "CRT"}, {"tls.key", "KEY"}}));
  ASSERT_TRUE(ask());
  const auto shown = world_.configs[0].credentials->present();
  EXPECT_EQ(world_.configs[0].ca_pem, "CA");
  EXPECT_EQ(shown->client_certificate_pem, "CRT");
  EXPECT_EQ(shown->client_key_pem, "KEY");
}

TEST_F(EndpointClient, RefusesSecretsThatAreNotForIt) {
  use_token();
  world_.api_server.on(kSecretPath, secret_of({{"token", "abc"}}, "false"));
  EXPECT_EQ(refused(),
            "Secret evacuator-system/prom does not have the label evacuator.dev/usage-credentials=true: it is not "
            "intended for usage sources");
  EXPECT_TRUE(world_.server.requests.empty());
}

TEST_F(EndpointClient, MessagesShowNoSecret) {
  use_token();
  world_.api_server.on(kSecretPath, secret_of({{"token", "hunter two"}}));
  EXPECT_EQ(refused(), "Secret prom: the token contains an invalid character (blank, line break or not ASCII)");
}

TEST_F(EndpointClient, NamesTheMissingKey) {
  use_token();
  world_.api_server.on(kSecretPath, secret_of({{"other", "abc"}}));
  EXPECT_EQ(refused(), "Secret evacuator-system/prom has no key \"token\"");
}

TEST_F(EndpointClient, RefusedTokenIsReadAgainForTheNextCall) {
  use_token();
  world_.api_server.on(kSecretPath, secret_of({{"token", "old"}}));
  world_.api_server.on(kSecretPath, secret_of({{"token", "new"}}));
  world_.server.answers["/x"].insert(world_.server.answers["/x"].begin(), {401, "", {}, ""});
  ASSERT_EQ(ask()->status, 401);
  EXPECT_EQ(world_.server.requests.size(), 1U) << "never retried by itself";
  ASSERT_EQ(ask()->status, 200);
  EXPECT_EQ(authorization(), "Bearer new");
}

TEST_F(EndpointClient, ChangedCertificateIsUsedWithinFiveMinutes) {
  endpoint_.ca = api::SecretKey{"prom", "ca.crt"};
  world_.api_server.on(kSecretPath, secret_of({{"ca.crt", "OLD"}}));
  world_.api_server.on(kSecretPath, secret_of({{"ca.crt", "NEW"}}));
  ASSERT_TRUE(ask());
  world_.clock.advance(base::minutes(4));
  ASSERT_TRUE(ask());
  EXPECT_EQ(world_.configs.size(), 1U);
  world_.clock.advance(base::minutes(2));
  ASSERT_TRUE(ask());
  ASSERT_EQ(world_.configs.size(), 2U);
  EXPECT_EQ(world_.configs[1].ca_pem, "NEW");
}

TEST_F(EndpointClient, FailedConnectionReadsTheCertificateAgain) {
  endpoint_.ca = api::SecretKey{"prom", "ca.crt"};
  world_.api_server.on(kSecretPath, secret_of({{"ca.crt", "OLD"}}));
  world_.api_server.on(kSecretPath, secret_of({{"ca.crt", "NEW"}}));
  world_.server.answers["/x"].insert(world_.server.answers["/x"].begin(), {0, "", {}, ""});
  EXPECT_EQ(refused(), "connection refused");
  ASSERT_TRUE(ask());
  EXPECT_EQ(world_.configs.back().ca_pem, "NEW");
}

TEST_F(EndpointClient, CachedSecretIsUsedWhileTheApiServerIsUnavailable) {
  use_token();
  world_.api_server.on(kSecretPath, secret_of({{"token", "abc"}}));
  world_.api_server.on(kSecretPath, "", 0);
  ASSERT_TRUE(ask());
  world_.clock.advance(base::minutes(10));
  EXPECT_TRUE(ask());
}

TEST_F(EndpointClient, SecretThatIsGoneServesNoMore) {
  use_token();
  world_.api_server.on(kSecretPath, secret_of({{"token", "abc"}}));
  world_.api_server.on(kSecretPath, secret_of({{"token", "abc"}}, "no"));
  ASSERT_TRUE(ask());
  world_.clock.advance(base::minutes(10));
  EXPECT_NE(refused().find("is not intended for usage sources"), std::string::npos);
}

/// Policy authors choose the URLs. Credentials are sent only to the servers that the Secret names.
TEST_F(EndpointClient, SendsNothingToServersThatTheSecretDoesNotName) {
  struct Row {
    const char* url;
    const char* servers;
    bool is_sent;
  };
  const Row rows[] = {
      {"https://evil:9090", "https://prometheus:9090", false},
      {"http://prometheus:9090", "https://prometheus:9090", false},
      {"https://prometheus", "https://prometheus:9090", false},
      {"http://prometheus:9090", "http://prometheus:9090", true},
      {"https://prometheus/a", "https://PROMETHEUS:443/", true},
      {"https://prometheus:9090", "", false},
  };
  for (const Row& row : rows) {
    usage_test::World world;
    world.server.on("/x", "{}");
    world.api_server.on(kSecretPath, secret_of({{"token", "abc"}, {"for", row.servers}}));
    endpoint_.url = row.url;
    use_token();
    usage::EndpointClient client(endpoint_, world.dependencies());
    kube::Request request;
    request.path = "/x";
    EXPECT_EQ(client.send(request).ok(), row.is_sent) << row.url << " " << row.servers;
    EXPECT_EQ(!world.configs.empty(), row.is_sent) << "no connection is opened: " << row.url;
  }
}

TEST_F(EndpointClient, SendsNoCertificateOrPasswordElsewhereEither) {
  endpoint_.url = "https://evil";
  const auto one_of = [&](auto field) {
    endpoint_.*field = api::SecretKey{"prom", "key"};
    endpoint_.basic_password = endpoint_.basic_username;
    usage_test::World world;
    world.api_server.on(kSecretPath, secret_of({{"key", "abc"}}));
    const auto read = usage::read_endpoint_secrets(*world.dependencies().api, "evacuator-system", endpoint_);
    (endpoint_.*field).reset();
    return read ? std::string() : read.error().message;
  };
  for (const auto field : {&api::UsageEndpoint::bearer_token, &api::UsageEndpoint::basic_username,
                           &api::UsageEndpoint::certificate, &api::UsageEndpoint::certificate_key})
    EXPECT_EQ(one_of(field),
              "Secret evacuator-system/prom is not for this server: its key \"for\" does not list https://evil:443");
  EXPECT_EQ(one_of(&api::UsageEndpoint::ca), "") << "roots are public";
}

TEST_F(EndpointClient, StopsWhenTheSecretNamesAnotherServer) {
  use_token();
  world_.api_server.on(kSecretPath, secret_of({{"token", "abc"}}));
  world_.api_server.on(kSecretPath, secret_of({{"token", "abc"}, {"for", "https://new"}}));
  ASSERT_TRUE(ask());
  world_.clock.advance(base::minutes(10));
  EXPECT_NE(refused().find("is not for this server"), std::string::npos);
}

// --- servers that echo credentials

struct EchoCase {
  const char* name;
  std::string text;
  std::string want;
};
const std::string kToken = "eyJhbGciOi.JIUzI1NiJ9";

class Echo : public EndpointClient, public testing::WithParamInterface<EchoCase> {};

TEST_P(Echo, OfTheTokenIsRedacted) {
  use_token();
  world_.api_server.on(kSecretPath, secret_of({{"token", kToken + "\n"}}));
  ASSERT_TRUE(ask());
  EXPECT_EQ(client().redacted(GetParam().text), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Usage, Echo,
    testing::Values(EchoCase{"Whole", "bad header Bearer " + kToken + ", sorry", "bad header Bearer [redacted], sorry"},
                    EchoCase{"Twice", kToken + kToken, "[redacted][redacted]"},
                    EchoCase{"CutAtTheEnd", "you sent " + kToken.substr(0, 9), "you sent [redacted]"},
                    EchoCase{"CutInTheMiddle", "a " + kToken.substr(0, 5) + "…: b " + kToken.substr(0, 4) + "…",
                             "a [redacted]…: b [redacted]…"},
                    EchoCase{"ByChance", "it ends with ey", "it ends with ey"}, EchoCase{"Nothing", "", ""}),
    [](const auto& test) { return test.param.name; });

TEST_F(EndpointClient, RedactsPasswordsInAnyForm) {
  endpoint_.basic_username = api::SecretKey{"prom", "user"};
  endpoint_.basic_password = api::SecretKey{"prom", "password"};
  world_.api_server.on(kSecretPath, secret_of({{"user", "me"}, {"password", "open\tsesame\xff"}}));
  ASSERT_TRUE(ask());
  EXPECT_EQ(client().redacted("no Basic " + base::encode_base64("me:open\tsesame\xff")), "no Basic [redacted]");
  EXPECT_EQ(client().redacted("me:open\tsesame\xff!"), "me:[redacted]!");
  EXPECT_EQ(client().redacted("me:open\tsesame\uFFFD!"), "me:[redacted]!") << "as texts are stored";
  EXPECT_EQ(client().redacted("me:open sesame\uFFFD!"), "me:[redacted]!") << "in one line";
}

TEST_F(EndpointClient, RedactsErrorsOfTheConnection) {
  use_token();
  world_.api_server.on(kSecretPath, secret_of({{"token", kToken}}));
  world_.server.answers["/x"] = {{0, "", {}, ""}};
  world_.server.refusal = "bad status line: HTTP/1.1 " + kToken;
  EXPECT_EQ(refused(), "bad status line: HTTP/1.1 [redacted]");
}

}  // namespace usage_endpoint_client_test
