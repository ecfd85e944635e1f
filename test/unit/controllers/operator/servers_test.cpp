#include <gmock/gmock.h>

#include <fstream>
#include <future>

#include "controllers/observability/metrics_server.hpp"
#include "controllers/operator/health_server.hpp"
#include "http_server/address.hpp"
#include "http_server/certificates.hpp"
#include "test/fakes/held_connections.hpp"
#include "test/fakes/http_get.hpp"
#include "test/fakes/temp_folder.hpp"
#include "test/fakes/tls_client.hpp"

namespace controllers {
namespace ops_servers_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

HealthChecks healthy() {
  return {.alive = []() -> base::Status { return base::Done{}; },
          .ready = []() -> base::Status { return base::Done{}; }};
}

TEST(HealthServer, ServesTheStateOfTheProcessOnly) {
  bool ready = false;
  HealthChecks checks = healthy();
  checks.ready = [&]() -> base::Status {
    if (ready) return base::Done{};
    return base::unavailable("pods: not listed yet");
  };
  HealthServer server("127.0.0.1:0", checks, {});
  ASSERT_TRUE(server.start().ok());
  EXPECT_THAT(fakes::http_get(server.port(), "/healthz"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(fakes::http_get(server.port(), "/readyz"),
              AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("pods: not listed yet")));
  ready = true;
  EXPECT_THAT(fakes::http_get(server.port(), "/readyz"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(fakes::http_get(server.port(), "/metrics"), StartsWith("HTTP/1.1 404"));
}

TEST(HealthServer, RefusesAnAddressWithoutPort) {
  HealthServer server("localhost", healthy(), {});
  EXPECT_THAT(server.start().error().message, HasSubstr("server.healthAddress"));
}

/// Attack: a pod opens as many connections as the server accepts and sends nothing or half a request on each, so that
/// the kubelet's probes fail and it restarts both replicas.
TEST(HealthServer, AnswersProbesWhileAnAttackerHoldsAllItsConnections) {
  HealthServer server("127.0.0.1:0", healthy(), {});
  ASSERT_TRUE(server.start().ok());
  fakes::HeldConnections silent(server.port(), 64, "");
  EXPECT_THAT(fakes::http_get(server.port(), "/healthz"), StartsWith("HTTP/1.1 200"));
  fakes::HeldConnections dawdling(server.port(), 200, "GET /healthz HTTP/1.1\r\nHost:");
  for (int i = 0; i < 20; ++i) EXPECT_THAT(fakes::http_get(server.port(), "/readyz"), StartsWith("HTTP/1.1 200"));
}

class MetricsServerTest : public testing::Test {
 protected:
  MetricsServerTest() { metrics.gauge("evacuator_leader", "1 while leading.").set(1); }

  MetricsServer& start(MetricsServerOptions options) {
    options.names = {"127.0.0.1"};
    server.emplace(
        std::move(options), metrics,
        [this](const std::string& token, const std::string&) {
          tokens.push_back(token);
          return access;
        },
        clock, base::Log());
    const auto started = server->start();
    EXPECT_TRUE(started) << started.error().message;
    return *server;
  }

  base::Metrics metrics;
  base::SystemClock clock;
  Access access = Access::kAllowed;
  std::vector<std::string> tokens;
  std::optional<MetricsServer> server;
};

TEST_F(MetricsServerTest, ServesHttpsToAuthorizedClients) {
  const auto port = start({.address = "0.0.0.0:0"}).port();
  EXPECT_THAT(fakes::tls_get(port, "/metrics", "Authorization: Bearer of-prometheus\r\n").body,
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("evacuator_leader 1")));
  EXPECT_EQ(tokens, std::vector<std::string>{"of-prometheus"});
  EXPECT_THAT(fakes::http_get(port, "/metrics"), Not(HasSubstr("evacuator_leader"))) << "no plain HTTP";
}

struct Stranger {
  const char* name;
  Access access;
  const char* answer;
};
class MetricsOfStrangers : public MetricsServerTest, public testing::WithParamInterface<Stranger> {};

TEST_P(MetricsOfStrangers, AreRefusedWithTheRuleAndReported) {
  access = GetParam().access;
  std::promise<int> told;
  const auto port =
      start({.address = "0.0.0.0:0", .on_end = [&](int status, const std::string&) { told.set_value(status); }}).port();
  EXPECT_THAT(fakes::tls_get(port, "/metrics").body,
              AllOf(StartsWith(GetParam().answer), Not(HasSubstr("evacuator_leader"))));
  EXPECT_EQ(std::string(GetParam().answer), "HTTP/1.1 " + std::to_string(told.get_future().get()));
}

INSTANTIATE_TEST_SUITE_P(By, MetricsOfStrangers,
                         testing::Values(Stranger{"Nobody", Access::kUnauthenticated, "HTTP/1.1 401"},
                                         Stranger{"Somebody", Access::kForbidden, "HTTP/1.1 403"},
                                         Stranger{"AnApiServerThatIsAway", Access::kUnknown, "HTTP/1.1 503"},
                                         Stranger{"AFlood", Access::kRateLimited, "HTTP/1.1 429"}),
                         [](const auto& test) { return test.param.name; });

TEST_F(MetricsServerTest, IsPlainOnLoopbackOnly) {
  access = Access::kForbidden;
  EXPECT_THAT(fakes::http_get(start({.address = "127.0.0.1:0"}).port(), "/metrics"),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("evacuator_leader 1")));
  for (const char* open : {"0.0.0.0:8443", ":8443", "10.1.2.3:8443", "[::]:8443", "metrics:8443", "128.0.0.1:1"})
    EXPECT_FALSE(http_server::is_loopback(open)) << open;
  for (const char* loopback : {"127.0.0.1:0", "localhost:1", "[::1]:1", "127.9.9.9:1"})
    EXPECT_TRUE(http_server::is_loopback(loopback)) << loopback;
}

struct WantedFigures {
  const char* name;
  const char* accept;
  bool openmetrics;
};
class MetricsFormat : public MetricsServerTest, public testing::WithParamInterface<WantedFigures> {};

TEST_P(MetricsFormat, FollowsTheAcceptHeader) {
  EXPECT_EQ(prefers_openmetrics(GetParam().accept), GetParam().openmetrics);
  const auto port = start({.address = "127.0.0.1:0"}).port();
  const std::string answer = fakes::http_get(port, "/metrics", std::string("Accept: ") + GetParam().accept + "\r\n");
  EXPECT_EQ(answer.find("application/openmetrics-text; version=1.0.0") != std::string::npos, GetParam().openmetrics);
  EXPECT_EQ(answer.find("# EOF\n") != std::string::npos, GetParam().openmetrics);
  EXPECT_THAT(answer, HasSubstr("evacuator_leader 1"));
}

INSTANTIATE_TEST_SUITE_P(
    By, MetricsFormat,
    testing::Values(
        WantedFigures{"Nobody", "*/*", false}, WantedFigures{"Curl", "", false},
        WantedFigures{"Prometheus2",
                      "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
                      "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                      true},
        WantedFigures{
            "Prometheus3",
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
            "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
            "text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
            true},
        WantedFigures{"TextFirst", "text/plain, application/openmetrics-text;q=0.5", false},
        WantedFigures{"AnotherVersion", "application/openmetrics-text; version=0.0.1", false},
        WantedFigures{"NoVersion", "application/openmetrics-text", true},
        WantedFigures{"NotAtAll", "application/openmetrics-text;version=1.0.0;q=0", false},
        WantedFigures{"Nonsense", ";;,,q=,;q=x,application/openmetrics-text;q=nan,=;=", false}),
    [](const auto& test) { return test.param.name; });

TEST_F(MetricsServerTest, AnswersWhileAnAttackerHoldsAllItsConnections) {
  const auto port = start({.address = "0.0.0.0:0"}).port();
  fakes::HeldConnections silent(port, 100, "");
  EXPECT_THAT(fakes::tls_get(port, "/metrics").body, StartsWith("HTTP/1.1 200"));
}

TEST_F(MetricsServerTest, TakesANewCertificateFromItsFiles) {
  const fakes::TempFolder folder;
  const auto write = [&](const http_server::ServerIdentity& identity) {
    std::ofstream(folder.file("tls.crt")) << identity.certificate;
    std::ofstream(folder.file("tls.key")) << identity.key;
  };
  write(*http_server::make_server_identity({"127.0.0.1"}, clock.now()));
  MetricsServer& running =
      start({.address = "0.0.0.0:0", .cert_file = folder.file("tls.crt"), .key_file = folder.file("tls.key")});
  const std::string first = fakes::tls_get(running.port(), "/metrics").serial;
  EXPECT_TRUE(running.reload());
  EXPECT_EQ(fakes::tls_get(running.port(), "/metrics").serial, first);
  write(*http_server::make_server_identity({"127.0.0.1"}, clock.now()));
  EXPECT_TRUE(running.reload());
  EXPECT_NE(fakes::tls_get(running.port(), "/metrics").serial, first);
  std::ofstream(folder.file("tls.key")) << "half a key";
  EXPECT_FALSE(running.reload());
  EXPECT_THAT(fakes::tls_get(running.port(), "/metrics").body, StartsWith("HTTP/1.1 200")) << "with the one before";
}

TEST_F(MetricsServerTest, NamesTheFileThatItCannotRead) {
  MetricsServer broken(
      {.address = "0.0.0.0:0", .cert_file = "/no/such.crt", .key_file = "/no/such.key"}, metrics,
      [](const std::string&, const std::string&) { return Access::kAllowed; }, clock, base::Log());
  EXPECT_THAT(broken.start().error().message, AllOf(HasSubstr("server.metricsCertFile"), HasSubstr("/no/such.crt")));
}

}  // namespace ops_servers_test
}  // namespace controllers
