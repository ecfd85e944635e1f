#include "kube/http/transport.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "kube/client.hpp"
#include "kube/config/process_environment.hpp"
#include "test_server.hpp"

namespace kube {
namespace http_transport_test {

using base::ErrorCode;
using base::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::http_answer;
using ::testing::Not;
using testing::Peer;
using testing::Pem;
using testing::ServerRequest;
using testing::ServerTls;
using testing::TestCa;
using testing::TestProxy;
using testing::TestServer;

constexpr const char* kToken = "very-secret-token";

const TestCa& ca() {
  static const TestCa authority;
  return authority;
}
const ServerTls& good_tls() {
  static const ServerTls tls{ca().issue({"127.0.0.1", "::1", "localhost"}), ""};
  return tls;
}

Config config_for(const std::string& url) {
  Config config;
  config.server = url;
  config.ca_pem = ca().pem();
  config.source = "the test";
  config.credentials = static_credentials({std::string("Bearer ") + kToken, "", ""});
  return config;
}

std::unique_ptr<HttpTransport> connect(Config config, HttpTransportOptions options = {}) {
  prepare_process();
  auto made = HttpTransport::create(std::move(config), std::move(options));
  if (!made) ADD_FAILURE() << made.error().message;
  return made ? *std::move(made) : nullptr;
}

Request get(std::string path, milliseconds timeout = milliseconds(20'000)) {
  Request request;
  request.path = std::move(path);
  request.timeout = timeout;
  return request;
}
Request post(std::string path, std::string body, milliseconds timeout = milliseconds(20'000)) {
  Request request = get(std::move(path), timeout);
  request.method = "POST";
  request.content_type = "application/json";
  request.body = std::move(body);
  request.flow = Flow::kWrite;
  return request;
}

bool answer_ok(Peer& peer, const ServerRequest&) { return peer.send(http_answer(200, R"({"ok":true})")); }

// --- both engines, with and without TLS

struct Way {
  const char* name;
  HttpEngine engine;
  bool tls;
};
class EveryWayTest : public ::testing::TestWithParam<Way> {
 protected:
  std::unique_ptr<TestServer> serve(TestServer::Handler handler) {
    return std::make_unique<TestServer>(std::move(handler), GetParam().tls ? &good_tls() : nullptr);
  }
  std::unique_ptr<HttpTransport> client_of(const TestServer& server, HttpTransportOptions options = {}) {
    options.engine = GetParam().engine;
    return connect(config_for(server.url()), std::move(options));
  }
  /// Returns the error of one GET. The error must not contain our token.
  base::Error error_of_get(const TestServer& server, milliseconds timeout, HttpTransportOptions options = {}) {
    const auto got = client_of(server, std::move(options))->round_trip(get("/api/v1/pods/x", timeout));
    EXPECT_FALSE(got);
    if (got) return base::invalid("no error");
    EXPECT_THAT(got.error().message, Not(HasSubstr(kToken)));
    return got.error();
  }
};
INSTANTIATE_TEST_SUITE_P(Http, EveryWayTest,
                         ::testing::Values(Way{"MixedTls", HttpEngine::kMixed, true},
                                           Way{"BeastTls", HttpEngine::kBeast, true},
                                           Way{"MixedPlain", HttpEngine::kMixed, false},
                                           Way{"BeastPlain", HttpEngine::kBeast, false}),
                         [](const auto& test) { return test.param.name; });

TEST_P(EveryWayTest, GetsAnAnswer) {
  const auto server = serve([](Peer& peer, const ServerRequest&) {
    return peer.send(http_answer(429, R"({"kind":"Status"})", "Retry-After: 7\r\n"));
  });
  const auto got = client_of(*server)->round_trip(get("/api/v1/namespaces/shop/pods/web"));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->status, 429);
  EXPECT_EQ(got->body, R"({"kind":"Status"})");
  EXPECT_EQ(got->content_type, "application/json");
  EXPECT_EQ(got->retry_after, base::seconds(7));
}

TEST_P(EveryWayTest, SendsTheRequestUnchanged) {
  const auto server = serve(answer_ok);
  const auto client = client_of(*server);
  Request patch = post("/api/v1/pods/x%2Fy", R"({"a":1})");
  patch.method = "PATCH";
  patch.query = "fieldManager=evacuator&x=%20";
  patch.content_type = "application/merge-patch+json";
  const std::string context = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01";
  patch.traceparent = context;
  ASSERT_TRUE(client->round_trip(patch));
  ASSERT_TRUE(client->round_trip(get("/version")));
  Request traced = get("/api");
  traced.traceparent = context;
  ASSERT_TRUE(client->round_trip(traced));
  const auto seen = server->requests();
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].headers.at("traceparent"), context);
  EXPECT_FALSE(seen[1].headers.contains("traceparent"));
  EXPECT_EQ(seen[2].headers.at("traceparent"), context);
  EXPECT_EQ(seen[0].method, "PATCH");
  EXPECT_EQ(seen[0].target, "/api/v1/pods/x%2Fy?fieldManager=evacuator&x=%20");
  EXPECT_EQ(seen[0].body, R"({"a":1})");
  EXPECT_EQ(seen[0].headers.at("content-type"), "application/merge-patch+json");
  EXPECT_EQ(seen[1].method, "GET");
  EXPECT_EQ(seen[1].target, "/version");
  for (const ServerRequest& each : seen) {
    EXPECT_EQ(each.headers.at("authorization"), std::string("Bearer ") + kToken);
    EXPECT_EQ(each.headers.at("accept"), "application/json");
    EXPECT_THAT(each.headers.at("user-agent"), HasSubstr("evacuator/"));
    EXPECT_EQ(each.headers.at("host"), "127.0.0.1:" + std::to_string(server->port()));
  }
}

TEST_P(EveryWayTest, KeepsConnectionsAlive) {
  const auto server = serve(answer_ok);
  const auto client = client_of(*server);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(client->round_trip(get("/a")));
  EXPECT_EQ(server->connections(), 1);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(client->round_trip(post("/a", "{}")));
  EXPECT_LE(server->connections(), 2);
}

TEST_P(EveryWayTest, CarriesLargeBodiesBothWays) {
  const std::string large(3 << 20, 'x');
  const auto server = serve([&](Peer& peer, const ServerRequest& request) {
    return peer.send(http_answer(200, request.method == "GET" ? large : std::to_string(request.body.size())));
  });
  const auto client = client_of(*server);
  const auto read = client->round_trip(get("/a"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->body, large);
  const auto written = client->round_trip(post("/a", large));
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->body, std::to_string(large.size()));
}

TEST_P(EveryWayTest, ReadsChunksAndInterimAnswers) {
  const auto server = serve([](Peer& peer, const ServerRequest&) {
    return peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n") &&
           peer.send("2\r\nde\r\n0\r\n\r\n");
  });
  EXPECT_EQ(client_of(*server)->round_trip(get("/a"))->body, "abcde");
  EXPECT_EQ(client_of(*server)->round_trip(post("/a", "{}"))->body, "abcde");
}

TEST_P(EveryWayTest, DoesNotFollowRedirects) {
  std::atomic<int> visits = 0;
  TestServer elsewhere([&](Peer& peer, const ServerRequest& request) {
    ++visits;
    return answer_ok(peer, request);
  });
  const auto server = serve([&](Peer& peer, const ServerRequest&) {
    return peer.send(http_answer(302, "", "Location: " + elsewhere.url() + "/steal\r\n"));
  });
  const auto client = client_of(*server);
  for (const Request& request : {get("/a"), post("/a", "{}")}) {
    const auto got = client->round_trip(request);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->status, 302);
  }
  EXPECT_EQ(visits, 0) << "our token would go to another host";
}

TEST_P(EveryWayTest, BoundsAHugeAnswer) {
  const auto server = serve([](Peer& peer, const ServerRequest&) {
    const std::string block(1 << 16, 'x');
    bool open = peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    while (open) open = peer.send("10000\r\n" + block + "\r\n");
    return false;
  });
  HttpTransportOptions options;
  options.max_body_bytes = 4 << 20;
  const base::Error error = error_of_get(*server, milliseconds(20'000), options);
  EXPECT_EQ(error.code, ErrorCode::kOutcomeUnknown);
  EXPECT_THAT(error.message, HasSubstr("larger than 4 MiB"));
}

TEST_P(EveryWayTest, LimitsAnAnnouncedHugeAnswer) {
  const auto server = serve([](Peer& peer, const ServerRequest&) {
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nxx");
    peer.await_end();
    return false;
  });
  EXPECT_EQ(error_of_get(*server, milliseconds(5'000)).code, ErrorCode::kOutcomeUnknown);
}

TEST_P(EveryWayTest, TellsACutAnswer) {
  const auto server = serve([](Peer& peer, const ServerRequest&) {
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"half\":");
    return false;
  });
  EXPECT_EQ(error_of_get(*server, milliseconds(20'000)).code, ErrorCode::kOutcomeUnknown);
}

TEST_P(EveryWayTest, ReportsAReset) {
  const auto server = serve([](Peer& peer, const ServerRequest&) {
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"half\":");
    peer.reset();
    return false;
  });
  EXPECT_EQ(error_of_get(*server, milliseconds(20'000)).code, ErrorCode::kOutcomeUnknown);
}

TEST_P(EveryWayTest, ReportsAnAnswerThatIsNotHttp) {
  const auto server = serve([](Peer& peer, const ServerRequest&) {
    peer.send("SSH-2.0-OpenSSH_9.2\r\n\r\n");
    return false;
  });
  const base::Error error = error_of_get(*server, milliseconds(20'000));
  EXPECT_EQ(error.code, ErrorCode::kOutcomeUnknown);
  EXPECT_THAT(error.message, HasSubstr("not valid HTTP"));
}

TEST_P(EveryWayTest, TimesOutWithoutAnAnswer) {
  const auto server = serve([](Peer& peer, const ServerRequest&) {
    peer.await_end();
    return false;
  });
  EXPECT_EQ(error_of_get(*server, milliseconds(150)).code, ErrorCode::kOutcomeUnknown);
}

TEST_P(EveryWayTest, EndsAtItsDeadlineWhenTheAnswerDrips) {
  const auto server = serve([](Peer& peer, const ServerRequest&) {
    bool open = peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    while (open) {
      open = peer.send("x");
      peer.dawdle();
    }
    return false;
  });
  const base::Error error = error_of_get(*server, milliseconds(200));
  EXPECT_EQ(error.code, ErrorCode::kOutcomeUnknown);
  EXPECT_THAT(error.message, HasSubstr("in time"));
}

TEST_P(EveryWayTest, ReportsNotSentIfNoServerListens) {
  std::string url;
  {
    const TestServer gone(answer_ok);
    url = gone.url();
  }
  HttpTransportOptions options;
  options.engine = GetParam().engine;
  const auto got = connect(config_for(url), options)->round_trip(get("/a"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(got.error().message, AllOf(HasSubstr(url), HasSubstr("refused")));
}

TEST_P(EveryWayTest, SendsAGetAgainWhenAKeptConnectionDies) {
  const auto server = serve([](Peer& peer, const ServerRequest& request) {
    if (request.connection == 1 && request.target == "/second") return false;  // Read, but never answered
    return answer_ok(peer, request);
  });
  const auto client = client_of(*server);
  ASSERT_TRUE(client->round_trip(get("/first")));
  const auto got = client->round_trip(get("/second"));
  ASSERT_TRUE(got) << got.error().message;
}

TEST_P(EveryWayTest, NeverSendsAPostTwice) {
  const auto server = serve([](Peer& peer, const ServerRequest& request) {
    if (request.target == "/second") return false;
    return answer_ok(peer, request);
  });
  const auto client = client_of(*server);
  ASSERT_TRUE(client->round_trip(post("/first", "{}")));
  const auto got = client->round_trip(post("/second", "{}"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kOutcomeUnknown);
  int seen = 0;
  for (const ServerRequest& each : server->requests()) seen += each.target == "/second";
  EXPECT_EQ(seen, 1);
}

TEST_P(EveryWayTest, DetectsAConnectionThatTheServerClosed) {
  const auto server = serve([](Peer& peer, const ServerRequest& request) {
    answer_ok(peer, request);
    return false;  // Closes without "Connection: close"
  });
  const auto client = client_of(*server);
  for (int i = 0; i < 20; ++i) {
    const auto got = client->round_trip(post("/a", std::string(200'000, 'x')));
    ASSERT_TRUE(got) << i << ": " << got.error().message;
    server->await_no_connections();
  }
}

TEST_P(EveryWayTest, ShutDownCancelsWaitingRequests) {
  const auto server = serve([](Peer& peer, const ServerRequest&) {
    peer.await_end();
    return false;
  });
  const auto client = client_of(*server);
  std::vector<std::jthread> threads;
  for (const Request& request : {get("/a"), post("/b", "{}")})
    threads.emplace_back(
        [&client, request] { EXPECT_EQ(client->round_trip(request).error().code, ErrorCode::kCancelled); });
  server->await_requests(2);
  client->shut_down();
  threads.clear();
  EXPECT_EQ(client->round_trip(get("/a")).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(client->watch(get("/a")).error().code, ErrorCode::kCancelled);
}

TEST_P(EveryWayTest, ServesManyThreadsAtOnce) {
  const auto server = serve([](Peer& peer, const ServerRequest& request) {
    return peer.send(http_answer(200, request.target + request.body));
  });
  const auto client = client_of(*server);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 25; ++i) {
        const std::string path = "/" + std::to_string(thread) + "/" + std::to_string(i);
        const auto got = client->round_trip(i % 2 == 0 ? get(path) : post(path, "body"));
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_EQ(got->body, i % 2 == 0 ? path : path + "body");
      }
    });
  }
}

TEST_P(EveryWayTest, UsesTheBasePathOfTheUrl) {
  const auto server = serve(answer_ok);
  Config config = config_for(server->url() + "/k8s/clusters/c-1/");
  HttpTransportOptions options;
  options.engine = GetParam().engine;
  const auto client = connect(std::move(config), options);
  ASSERT_TRUE(client->round_trip(get("/version")));
  EXPECT_EQ(server->requests()[0].target, "/k8s/clusters/c-1/version");
}

TEST_P(EveryWayTest, RefusesATargetThatWouldSplitTheRequest) {
  const auto server = serve(answer_ok);
  const auto client = client_of(*server);
  for (const char* path : {"/a b", "/a\r\nX: y", "a", ""}) {
    const auto got = client->round_trip(get(path));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, ErrorCode::kInvalid);
  }
  EXPECT_EQ(server->connections(), 0);
}

// --- TLS

struct TlsCase {
  const char* name;
  Pem (*identity)();
  const char* message;
};
class TlsRefusalTest : public ::testing::TestWithParam<std::tuple<TlsCase, HttpEngine>> {};

TEST_P(TlsRefusalTest, NamesTheReason) {
  const auto& [c, engine] = GetParam();
  const ServerTls tls{c.identity(), ""};
  const TestServer server(answer_ok, &tls);
  HttpTransportOptions options;
  options.engine = engine;
  const auto client = connect(config_for(server.url()), options);
  for (const Request& request : {get("/a"), post("/a", "{}")}) {
    const auto got = client->round_trip(request);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(got.error().message, AllOf(HasSubstr(c.message), HasSubstr(server.url()), Not(HasSubstr(kToken))));
  }
  EXPECT_TRUE(server.requests().empty()) << "nothing may be sent to the wrong server";
}

INSTANTIATE_TEST_SUITE_P(
    Http, TlsRefusalTest,
    ::testing::Combine(::testing::Values(TlsCase{"Expired", [] { return ca().issue({"127.0.0.1"}, -7200, -3600); },
                                                 "certificate has expired (on 20"},
                                         TlsCase{"NotYetValid", [] { return ca().issue({"127.0.0.1"}, 3600, 7200); },
                                                 "not yet valid"},
                                         TlsCase{"WrongAddress",
                                                 [] {
                                                   return ca().issue({"10.1.2.3", "other.example"});
                                                 },
                                                 "the certificate is for 10.1.2.3, other.example"},
                                         TlsCase{"NoName", [] { return ca().issue({}); }, "mismatch"},
                                         TlsCase{"UnknownAuthority", [] { return TestCa().issue({"127.0.0.1"}); },
                                                 "certificate-authority"}),
                       ::testing::Values(HttpEngine::kMixed, HttpEngine::kBeast)),
    [](const auto& test) {
      return std::string(std::get<0>(test.param).name) +
             (std::get<1>(test.param) == HttpEngine::kMixed ? "Mixed" : "Beast");
    });

TEST(HttpTls, AcceptsAnyCertificateIfConfigured) {
  const ServerTls tls{TestCa().issue({"10.1.2.3"}, -7200, -3600), ""};
  const TestServer server(answer_ok, &tls);
  Config config = config_for(server.url());
  config.insecure_skip_tls_verify = true;
  const auto client = connect(std::move(config));
  EXPECT_TRUE(client->round_trip(get("/a")));
  EXPECT_TRUE(client->round_trip(post("/a", "{}")));
}

TEST(HttpTls, HonoursTheServerName) {
  const ServerTls tls{ca().issue({"kubernetes.default.svc"}), ""};
  const TestServer server(answer_ok, &tls);
  Config config = config_for(server.url());
  config.tls_server_name = "kubernetes.default.svc";
  const auto client = connect(std::move(config));
  EXPECT_TRUE(client->round_trip(get("/a")));
  EXPECT_TRUE(client->round_trip(post("/a", "{}")));
}

TEST(HttpTls, SendsTheClientCertificate) {
  const ServerTls tls{ca().issue({"127.0.0.1"}), ca().pem()};
  const TestServer server(answer_ok, &tls);
  const Pem own = ca().issue({"client"});
  for (const HttpEngine engine : {HttpEngine::kMixed, HttpEngine::kBeast}) {
    Config config = config_for(server.url());
    config.credentials = static_credentials({"", own.certificate, own.key});
    HttpTransportOptions options;
    options.engine = engine;
    const auto client = connect(std::move(config), options);
    const auto got = client->round_trip(get("/a"));
    EXPECT_TRUE(got) << got.error().message;
    EXPECT_TRUE(client->round_trip(post("/a", "{}")));
  }
}

TEST(HttpTls, ReportsThatTheClientCertificateWasRefused) {
  const ServerTls tls{ca().issue({"127.0.0.1"}), ca().pem()};
  const TestServer server(answer_ok, &tls);
  const auto got = connect(config_for(server.url()))->round_trip(post("/a", "{}"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(got.error().message, HasSubstr("does not accept the client certificate"));
}

TEST(HttpTls, ReportsThatTheServerSpeaksPlainHttp) {
  const TestServer server(answer_ok);
  Config config = config_for("https://127.0.0.1:" + std::to_string(server.port()));
  const auto got = connect(std::move(config))->round_trip(post("/a", "{}", milliseconds(200)));
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().code, ::testing::AnyOf(ErrorCode::kUnavailable, ErrorCode::kTimeout));
  EXPECT_THAT(got.error().message, HasSubstr("TLS handshake"));
}

TEST(HttpTls, TimesOutASilentHandshake) {
  const TestServer server(
      [](Peer& peer, const ServerRequest&) { return answer_ok(peer, {}); });  // Waits for a request line
  HttpTransportOptions options;
  options.handshake_timeout = milliseconds(100);
  options.engine = HttpEngine::kBeast;
  const auto got =
      connect(config_for("https://127.0.0.1:" + std::to_string(server.port())), options)->round_trip(get("/a"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kTimeout);
  EXPECT_THAT(got.error().message, HasSubstr("TLS handshake took longer than 100 ms"));
}

TEST(HttpTls, RefusesUnreadableCertificates) {
  Config config = config_for("https://127.0.0.1:1");
  config.ca_pem = "-----BEGIN CERTIFICATE-----\nbroken\n-----END CERTIFICATE-----\n";
  const auto made = HttpTransport::create(config);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message,
              AllOf(HasSubstr("the test"), HasSubstr("certificate-authority"), Not(HasSubstr("broken"))));

  Config missing = config_for("https://127.0.0.1:1");
  missing.ca_pem.clear();
  missing.ca_file = "/nonexistent/ca.crt";
  EXPECT_THAT(HttpTransport::create(missing).error().message, HasSubstr("/nonexistent/ca.crt"));
}

TEST(HttpTls, RefusesAKeyThatDoesNotMatch) {
  const TestServer server(answer_ok, &good_tls());
  Config config = config_for(server.url());
  config.credentials = static_credentials({"", ca().issue({"a"}).certificate, ca().issue({"b"}).key});
  const auto got = connect(std::move(config))->round_trip(post("/a", "{}"));
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message, HasSubstr("does not match the client certificate"));
}

TEST(HttpTls, ReconnectsIfTheCertificateWasRotated) {
  class Rotating final : public Credentials {
   public:
    base::Result<Presented> present() override {
      const Pem pem = ca().issue({"client" + std::to_string(++count_)});
      return Presented{"", pem.certificate, pem.key};
    }
    std::atomic<int> count_ = 0;
  };
  const TestServer server(answer_ok, &good_tls());
  Config config = config_for(server.url());
  config.credentials = std::make_shared<Rotating>();
  const auto client = connect(std::move(config), {.engine = HttpEngine::kBeast});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(client->round_trip(post("/a", "{}")));
  EXPECT_EQ(server.connections(), 3);
}

bool answer_and_hang_up(Peer& peer, const ServerRequest&) {
  peer.send(http_answer(200, "{}"));
  return false;
}

TEST(HttpTls, ResumesTheSessionOfAnEarlierConnection) {
  const TestServer server(answer_and_hang_up, &good_tls());
  const auto client = connect(config_for(server.url()), {.engine = HttpEngine::kBeast});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client->round_trip(post("/a", "{}")));
    server.await_no_connections();
  }
  EXPECT_EQ(server.connections(), 3);
  EXPECT_EQ(server.resumed_sessions(), 2);
}

/// The server demands a certificate and sets no session id context, so it hangs up on a client that offers a session.
TEST(HttpTls, FallsBackIfTheServerCannotResumeASession) {
  const ServerTls tls{ca().issue({"127.0.0.1"}), ca().pem()};
  const TestServer server(answer_and_hang_up, &tls);
  const Pem own = ca().issue({"client"});
  Config config = config_for(server.url());
  config.credentials = static_credentials({"", own.certificate, own.key});
  const auto client = connect(std::move(config), {.engine = HttpEngine::kBeast});
  for (int i = 0; i < 3; ++i) {
    const auto got = client->round_trip(post("/a", "{}"));
    ASSERT_TRUE(got) << got.error().message;
    server.await_no_connections();
  }
  EXPECT_EQ(server.connections(), 4);  // The fourth connection is the failed attempt with a session
  EXPECT_EQ(server.requests().size(), 3U);
}

// --- routes to the server

TEST(HttpRoute, ReachesAnIpv6Literal) {
  std::unique_ptr<TestServer> server;
  try {
    server = std::make_unique<TestServer>(answer_ok, &good_tls(), true);
  } catch (const std::exception&) {
    GTEST_SKIP() << "no IPv6 loopback here";
  }
  const auto got = connect(config_for(server->url()))->round_trip(get("/a"));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(server->requests()[0].headers.at("host"), "[::1]:" + std::to_string(server->port()));
}

/// Like in managed clusters whose kubeconfig has the authority that signs the server's certificate, but not its root.
TEST(HttpTls, TrustsAnIntermediateAuthorityThatIsConfiguredAlone) {
  const TestCa intermediate = TestCa::intermediate_of(TestCa());
  const ServerTls tls{intermediate.issue({"localhost", "127.0.0.1"}), ""};
  const TestServer server(answer_ok, &tls);
  for (const HttpEngine engine : {HttpEngine::kMixed, HttpEngine::kBeast}) {
    Config config = config_for("https://localhost:" + std::to_string(server.port()));
    config.ca_pem = intermediate.pem();
    const auto got = connect(std::move(config), {.engine = engine})->round_trip(post("/a", "{}"));
    EXPECT_TRUE(got) << got.error().message;
  }
}

TEST(HttpTls, ReportsThatAKeyIsEncrypted) {
  Config config = config_for("https://127.0.0.1:1");
  CredentialFiles files;
  files.embedded.client_certificate_pem = ca().issue({"somebody"}).certificate;
  files.embedded.client_key_pem = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
  const base::SystemClock clock;
  config.credentials = file_credentials(files, clock);
  const auto got = connect(std::move(config))->round_trip(get("/a"));
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message, AllOf(HasSubstr("client key"), HasSubstr("encrypted"), HasSubstr("openssl pkey")));
}

TEST(HttpRoute, ReachesAHostName) {
  const TestServer server(answer_ok, &good_tls());
  Config config = config_for("https://localhost:" + std::to_string(server.port()));
  const auto client = connect(std::move(config));
  const auto got = client->round_trip(post("/a", "{}"));
  EXPECT_TRUE(got) << got.error().message;
}

TEST(HttpRoute, ReportsThatAHostDoesNotExist) {
  const auto got = connect(config_for("https://no..such.host:6443"))->round_trip(get("/a"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(got.error().message, AllOf(HasSubstr("no..such.host"), HasSubstr("resolving")));
}

TEST(HttpRoute, GoesThroughAProxy) {
  const TestProxy proxy("user:pass word");
  const TestServer server(answer_ok, &good_tls());
  Config config = config_for(server.url());
  config.proxy_url = "http://user:pass%20word@127.0.0.1:" + std::to_string(proxy.port());
  const auto client = connect(std::move(config));
  const auto got = client->round_trip(get("/a"));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_TRUE(client->round_trip(post("/a", "{}")));
  EXPECT_THAT(proxy.targets(), ::testing::ElementsAre("127.0.0.1:" + std::to_string(server.port())));
}

TEST(HttpRoute, ReportsThatTheProxyRefuses) {
  const TestProxy proxy("user:secret-word");
  const TestServer server(answer_ok, &good_tls());
  Config config = config_for(server.url());
  config.proxy_url = "http://user:wrong-word@127.0.0.1:" + std::to_string(proxy.port());
  const auto got = connect(std::move(config))->round_trip(get("/a"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(got.error().message, AllOf(HasSubstr("HTTP 407"), HasSubstr("proxy-url"), Not(HasSubstr("wrong-word"))));
}

// --- credentials and limits

TEST(HttpCredentials, ReadsTheTokenFileAgainAfter401) {
  const std::string path = ::testing::TempDir() + "/token-" + std::to_string(::getpid());
  std::ofstream(path) << "old\n";
  const TestServer server([](Peer& peer, const ServerRequest& request) {
    return peer.send(http_answer(request.headers.at("authorization") == "Bearer new" ? 200 : 401, "{}"));
  });
  const base::SystemClock clock;
  for (const HttpEngine engine : {HttpEngine::kMixed, HttpEngine::kBeast}) {
    std::ofstream(path) << "old\n";
    Config config = config_for(server.url());
    CredentialFiles files;
    files.token_file = path;
    config.credentials = file_credentials(files, clock);
    const auto client = connect(std::move(config), {.engine = engine});
    EXPECT_EQ(client->round_trip(get("/a"))->status, 401);
    std::ofstream(path) << "new\n";
    EXPECT_EQ(client->round_trip(get("/a"))->status, 200);
  }
  std::filesystem::remove(path);
}

TEST(HttpLimits, QueuesBeyondItsConnectionsButNotLeases) {
  std::mutex mutex;
  std::condition_variable released;
  bool open = false;
  const TestServer server([&](Peer& peer, const ServerRequest& request) {
    std::unique_lock lock(mutex);
    if (request.target == "/slow") released.wait(lock, [&] { return open; });
    return answer_ok(peer, request);
  });
  const auto client = connect(config_for(server.url()), {.max_connections = 2});
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back([&] { EXPECT_TRUE(client->round_trip(post("/slow", "{}"))); });
  server.await_requests(2);
  const auto third = client->round_trip(get("/third", milliseconds(50)));
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, ErrorCode::kTimeout) << "it was not sent";
  Request lease = post("/lease", "{}");
  lease.flow = Flow::kLease;
  EXPECT_TRUE(client->round_trip(lease));
  {
    const std::scoped_lock lock(mutex);
    open = true;
    released.notify_all();
  }
  threads.clear();
  EXPECT_TRUE(client->round_trip(get("/third")));
}

/// Callers rely on the timeout: a request that is sent later might reach a server that has another leader.
TEST(HttpTransport, WaitingForAConnectionIsPartOfTheTimeout) {
  const TestServer server([](Peer& peer, const ServerRequest&) {
    peer.await_end();
    return false;
  });
  const auto client = connect(config_for(server.url()), {.max_connections = 1});
  std::jthread first([&] { EXPECT_FALSE(client->round_trip(post("/first", "{}", milliseconds(1000)))); });
  server.await_requests(1);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(client->round_trip(post("/second", "{}", milliseconds(1500))));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(2200)) << "not 1 s for its turn and then 1.5 s";
}

TEST(HttpLimits, ListsMayBeLargerThanTheRest) {
  const std::string large(3 << 20, 'x');
  const TestServer server([&](Peer& peer, const ServerRequest&) { return peer.send(http_answer(200, large)); });
  HttpTransportOptions options;
  options.max_body_bytes = 1 << 20;
  options.max_list_bytes = 4 << 20;
  const auto client = connect(config_for(server.url()), options);
  Request list = get("/list");
  list.flow = Flow::kList;
  EXPECT_TRUE(client->round_trip(list));
  EXPECT_FALSE(client->round_trip(get("/object")));
}

}  // namespace http_transport_test
}  // namespace kube
