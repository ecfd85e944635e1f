#include <gtest/gtest.h>

#include <mutex>
#include <nlohmann/json.hpp>

#include "base/base64.hpp"
#include "http_server/certificates.hpp"
#include "http_server/server.hpp"
#include "test/unit/usage/sources/fake_server.hpp"
#include "usage/sources/make_source.hpp"

/// Sources over real connections: TLS, credentials, headers, base paths.
namespace usage_tls_test {

const std::string kAnswer =
    R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{"node":"n1"},"value":[1763726400,"2"]}]}})";
const std::string kSecretPath = "/api/v1/namespaces/evacuator-system/secrets/prom";

/// Prometheus that requires a password, over TLS, below a path prefix.
class TlsPrometheus {
 public:
  TlsPrometheus()
      : identity_(*http_server::make_server_identity({"localhost", "127.0.0.1"}, base::SystemClock().now())) {
    http_server::ServerOptions options;
    options.certificate = http_server::Certificate{identity_.certificate, identity_.key};
    server_.emplace(options, [this](const http_server::Request& request) { return answer(request); });
    started_ = server_->start().ok();
  }
  bool started() const { return started_; }
  std::string origin(const std::string& scheme_and_host = "https://localhost") const {
    return scheme_and_host + ":" + std::to_string(server_->port());
  }
  std::string url() const { return origin() + "/prom/"; }
  const std::string& ca() const { return identity_.ca; }
  http_server::Request last() const {
    const std::scoped_lock lock(mutex_);
    return last_;
  }

 private:
  http_server::Response answer(const http_server::Request& request) {
    const std::scoped_lock lock(mutex_);
    last_ = request;
    if (request.path != "/prom/api/v1/query") return {404, "text/plain", "no"};
    if (request.header("authorization") != "Basic " + base::encode_base64("me:secret")) return {401, "text/plain", ""};
    return {200, "application/json", kAnswer};
  }

  http_server::ServerIdentity identity_;
  mutable std::mutex mutex_;
  http_server::Request last_;
  std::optional<http_server::Server> server_;
  bool started_ = false;
};

class TlsSource : public testing::Test {
 protected:
  TlsSource() {
    source_.type = api::UsageSourceType::kPrometheus;
    source_.endpoint.url = prometheus_.url();
    source_.endpoint.ca = api::SecretKey{"prom", "ca"};
    source_.endpoint.basic_username = api::SecretKey{"prom", "user"};
    source_.endpoint.basic_password = api::SecretKey{"prom", "password"};
    source_.endpoint.headers = {{"X-Scope-OrgID", "shop a|b"}};
    api::UsageQuery query;
    query.resource = "cpu";
    query.query = "load";
    source_.queries = {query};
  }
  void keep_secret(const std::string& ca, const std::string& password) {
    api::Json secret = {{"metadata", {{"labels", {{"evacuator.dev/usage-credentials", "true"}}}}}};
    secret["data"] = {{"ca", base::encode_base64(ca)},
                      {"user", base::encode_base64("me")},
                      {"for", base::encode_base64(servers_)},
                      {"password", base::encode_base64(password)}};
    world_.api_server.on(kSecretPath, secret.dump());
  }
  std::unique_ptr<usage::Source> make() {
    auto dependencies = world_.dependencies();
    dependencies.connect = usage::connect_http;
    return usage::make_source(source_, dependencies);
  }

  TlsPrometheus prometheus_;
  usage_test::World world_;
  api::UsageSource source_;
  std::string servers_ = prometheus_.origin();  ///< Servers named by the Secret
};

TEST_F(TlsSource, AnswersOverTls) {
  ASSERT_TRUE(prometheus_.started());
  keep_secret(prometheus_.ca(), "secret");
  const auto samples = make()->sample();
  ASSERT_TRUE(samples) << samples.error().message;
  ASSERT_EQ(samples->nodes.size(), 1U);
  EXPECT_EQ(samples->nodes[0].values[0], 2);
  EXPECT_EQ(prometheus_.last().header("x-scope-orgid"), "shop a|b");
  EXPECT_EQ(prometheus_.last().query, "query=load&timeout=10000ms");
}

TEST_F(TlsSource, WrongAuthorityIsRefused) {
  ASSERT_TRUE(prometheus_.started());
  keep_secret(http_server::make_server_identity({"localhost"}, base::SystemClock().now())->ca, "secret");
  const auto samples = make()->sample();
  ASSERT_FALSE(samples);
  EXPECT_EQ(samples.error().code, base::ErrorCode::kUnavailable);
  EXPECT_NE(samples.error().message.find("certificate"), std::string::npos) << samples.error().message;
  EXPECT_TRUE(prometheus_.last().path.empty()) << "nothing was sent";
}

TEST_F(TlsSource, BrokenAuthorityIsReportedWithoutItsText) {
  keep_secret("-----BEGIN CERTIFICATE-----\nhunter2\n", "secret");
  const auto samples = make()->sample();
  ASSERT_FALSE(samples);
  EXPECT_EQ(samples.error().message.find("hunter2"), std::string::npos) << samples.error().message;
}

TEST_F(TlsSource, OtherNameIsRefused) {
  servers_ += " " + prometheus_.origin("https://prometheus.example") + " " + prometheus_.origin("http://localhost");
  keep_secret(prometheus_.ca(), "secret");
  source_.endpoint.server_name = "prometheus.example";
  EXPECT_FALSE(make()->sample());
  source_.endpoint.insecure_skip_verify = true;
  EXPECT_TRUE(make()->sample()) << "nothing is checked";
}

TEST_F(TlsSource, RenewedAuthorityAndPasswordAreReadAgain) {
  keep_secret(prometheus_.ca(), "old");
  keep_secret(http_server::make_server_identity({"localhost"}, base::SystemClock().now())->ca, "secret");
  keep_secret(prometheus_.ca(), "secret");
  const auto source = make();
  EXPECT_EQ(source->sample().error().code, base::ErrorCode::kUnauthorized);
  EXPECT_EQ(source->sample().error().code, base::ErrorCode::kUnavailable) << "the authority is another one now";
  EXPECT_TRUE(source->sample());
}

}  // namespace usage_tls_test
