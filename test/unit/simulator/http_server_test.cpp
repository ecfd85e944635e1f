#include "simulator/http_server.hpp"

#include <array>
#include <cstdio>
#include <thread>

#include "api/core/codec.hpp"
#include "kube/client.hpp"
#include "kube/http/transport.hpp"
#include "test/fakes/temp_folder.hpp"
#include "test/unit/simulator/api/fixture.hpp"

namespace simulator {
namespace http_server_test {

using Json = api::Json;

std::string run(const std::string& command) {
  std::string text;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return text;
  std::array<char, 4096> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) text.append(buffer.data(), n);
  pclose(pipe);
  return text;
}

bool has_program(const char* name) { return run(std::string("command -v ") + name).find('/') != std::string::npos; }

/// The server behind HTTPS, called by curl and kubectl if the machine has them.
class HttpServerTest : public ApiFixture {
 protected:
  HttpServer& start(bool tls) {
    HttpServerOptions options;
    options.tokens["op-token"] = {"system:serviceaccount:evacuator-system:evacuator", {}, {}};
    if (tls) {
      auto identity = http_server::make_server_identity({"127.0.0.1", "localhost"}, base::SystemClock().now());
      EXPECT_TRUE(identity);
      options.identity = *identity;
      write("ca.pem", identity->ca);
    }
    http = std::make_unique<HttpServer>(server, std::move(options));
    auto started = http->start();
    EXPECT_TRUE(started) << (started ? "" : started.error().message);
    write("kubeconfig", http->kubeconfig());
    return *http;
  }
  void write(const std::string& name, const std::string& text) { folder.write(name, text); }
  std::string curl(const std::string& arguments, const std::string& path) {
    return run("curl -s -m 20 --cacert " + folder.file("ca.pem") + " " + arguments + " '" + http->url() + path + "'");
  }
  std::string kubectl(const std::string& arguments) {
    return run("HOME=" + folder.path() + " timeout 30 kubectl --kubeconfig " + folder.file("kubeconfig") + " " +
               arguments);
  }

  const fakes::TempFolder folder;
  std::unique_ptr<HttpServer> http;
};

TEST_F(HttpServerTest, ServesHttpAndHttps) {
  if (!has_program("curl")) GTEST_SKIP() << "curl is not installed";
  for (const bool tls : {false, true}) {
    start(tls);
    EXPECT_EQ(Json::parse(curl("", "/version")).at("gitVersion"), "v1.36.0");
    EXPECT_EQ(curl("-o /dev/null -w '%{http_code}'", "/api/v1/namespaces/shop/pods/none"), "404");
    http->stop();
  }
}

TEST_F(HttpServerTest, KnowsUsersByTheirTokens) {
  if (!has_program("curl")) GTEST_SKIP() << "curl is not installed";
  start(true);
  const auto create = [&](const std::string& name, const std::string& headers) {
    return curl(
        headers + " -o /dev/null -w '%{http_code}' -H 'Content-Type: application/json' -d '{\"metadata\":{\"name\":\"" +
            name + "\"}}'",
        "/api/v1/namespaces/shop/configmaps");
  };
  EXPECT_EQ(create("a", ""), "201");
  EXPECT_EQ(create("b", "-H 'Authorization: Bearer op-token'"), "201");
  EXPECT_EQ(create("c", "-H 'Authorization: Bearer wrong'"), "401");
  EXPECT_EQ(create("d", "-H 'Impersonate-User: alice'"), "201");
  std::string users;
  for (const JournalEntry& entry : server.journal().entries()) users += entry.user + " ";
  EXPECT_NE(users.find("kubernetes-admin system:serviceaccount:evacuator-system:evacuator alice"), std::string::npos)
      << users;
}

TEST_F(HttpServerTest, FaultsReachTheWire) {
  if (!has_program("curl")) GTEST_SKIP() << "curl is not installed";
  start(false);
  server.faults().add({.effect = FaultEffect::kTooManyRequests, .count = 1, .retry_after = base::seconds(2)});
  const std::string throttled = curl("-i", "/api/v1/pods");
  EXPECT_NE(throttled.find("HTTP/1.1 429"), std::string::npos) << throttled;
  EXPECT_NE(throttled.find("Retry-After: 2\r\n"), std::string::npos) << throttled;
  server.faults().add({.effect = FaultEffect::kDropRequest, .count = 1});
  EXPECT_EQ(curl("-o /dev/null -w '%{http_code}'", "/api/v1/pods"), "000");
}

TEST_F(HttpServerTest, StreamsWatchesUntilTheyEnd) {
  if (!has_program("curl")) GTEST_SKIP() << "curl is not installed";
  start(true);
  must("POST", "/api/v1/namespaces/shop/configmaps", {{"metadata", {{"name", "there"}}}});
  std::jthread time([&](std::stop_token stop) {  // Advances the clock so that the watch ends whenever it is opened
    while (!stop.stop_requested()) {
      clock.advance(base::minutes(1));
      std::this_thread::yield();
    }
  });
  for (const char* watch : {"watch=true", "watch=True", "watch"}) {
    const std::string lines =
        curl("", std::string("/api/v1/namespaces/shop/configmaps?resourceVersion=1&timeoutSeconds=60&") + watch);
    const Json event = Json::parse(lines.substr(0, lines.find('\n')), nullptr, false);
    EXPECT_EQ(event.value("type", ""), "ADDED") << lines;
  }
}

/// Sends requests like the operator over a real connection.
class ProtobufOverHttp : public HttpServerTest {
 protected:
  std::unique_ptr<kube::HttpTransport> connect() {
    start(false);
    const auto config = kube::config_from_text(http->kubeconfig(), "kubeconfig", "", clock);
    EXPECT_TRUE(config);
    auto transport = kube::HttpTransport::create(*config);
    EXPECT_TRUE(transport);
    return *std::move(transport);
  }
  static kube::ListOptions options() {
    kube::ListOptions chosen;
    chosen.protobuf = true;
    return chosen;
  }
};

TEST_F(ProtobufOverHttp, ListsAreReadOrDetectedAsTruncated) {
  for (const char* name : {"p", "q", "r"}) run_pod(name);
  const auto transport = connect();
  kube::Client client(*transport, nullptr);
  std::string names;
  const auto collect = [&](std::string_view item) -> base::Status {
    names += api::decode_meta(item)->name;
    return base::Done{};
  };
  ASSERT_TRUE(client.list_cached(kube::kPods, options(), collect));
  EXPECT_EQ(std::exchange(names, ""), "pqr");
  for (int part = 0; part < 20; ++part) {
    server.faults().set({{.effect = FaultEffect::kCutAnswer, .count = 1, .at = part / 20.0}});
    EXPECT_FALSE(client.list_cached(kube::kPods, options(), collect)) << part;
    server.faults().set({{.effect = FaultEffect::kCutAnswer, .count = 1, .at = part / 20.0}});
    EXPECT_FALSE(client.list(kube::kPods, options(), collect)) << part;
    names.clear();
  }
  ASSERT_TRUE(client.list(kube::kPods, options(), collect));
  EXPECT_EQ(names, "pqr");
}

TEST_F(ProtobufOverHttp, WatchesAreSentInFrames) {
  run_pod("p");
  const auto transport = connect();
  kube::Client client(*transport, nullptr);
  kube::ListOptions whole = options();
  whole.send_initial_events = true;
  const auto stream = client.watch(kube::kPods, whole, base::seconds(60));
  ASSERT_TRUE(stream) << stream.error().message;
  const auto next = [&] {
    const auto line = (*stream)->next(base::milliseconds(20'000));
    if (!line || !*line) return std::string("nothing");
    const auto event = api::split_watch_line(**line);
    return event ? event->type + " " + api::decode_meta(event->object)->name : event.error().message;
  };
  EXPECT_EQ(next(), "ADDED p");
  EXPECT_EQ(next(), "BOOKMARK ");
  must("DELETE", path_of("p"));
  EXPECT_EQ(next().substr(0, 5), "MODIF") << "deletionTimestamp";
}

TEST_F(HttpServerTest, StopsWhileAWatchRuns) {
  start(false);
  if (!has_program("curl")) GTEST_SKIP() << "curl is not installed";
  server.faults().add({.effect = FaultEffect::kStallWatch});
  std::jthread watcher([&] { (void)curl("", "/api/v1/pods?watch=true"); });
  while (server.faults().rules().at(0).hits == 0) std::this_thread::yield();  // The watch runs now
  http->stop();
}

TEST_F(HttpServerTest, WorksWithTheStockKubectl) {
  if (!has_program("kubectl")) GTEST_SKIP() << "kubectl is not installed";
  install_crds();
  run_pod("p");
  start(true);
  write("evac.yaml",
        "apiVersion: evacuator.dev/v1alpha1\nkind: Evacuation\nmetadata: {name: e, namespace: shop}\nspec: {podRef: "
        "{name: p}}\n");
  write("bad.yaml",
        "apiVersion: evacuator.dev/v1alpha1\nkind: DeschedulerPolicy\nmetadata: {name: d}\nspec: {mode: Auto}\n");
  EXPECT_NE(kubectl("get pods -n shop -o wide").find("p      0/1     Running"), std::string::npos)
      << kubectl("get pods -n shop -o wide");
  EXPECT_EQ(kubectl("apply -f " + folder.file("evac.yaml")), "evacuation.evacuator.dev/e created\n");
  EXPECT_EQ(kubectl("apply -f " + folder.file("evac.yaml")), "evacuation.evacuator.dev/e unchanged\n");
  EXPECT_EQ(kubectl("annotate evac e -n shop a/b=c"), "evacuation.evacuator.dev/e annotated\n");
  EXPECT_NE(kubectl("apply -f " + folder.file("bad.yaml")).find("spec.mode: Unsupported value: \"Auto\""),
            std::string::npos);
  EXPECT_NE(kubectl("get evac -A").find("shop        e      p"), std::string::npos) << kubectl("get evac -A");
  EXPECT_NE(kubectl("describe pod p -n shop").find("Events:"), std::string::npos);
  EXPECT_EQ(kubectl("delete evac e -n shop"), "evacuation.evacuator.dev \"e\" deleted\n");
}

TEST(Certificates, RefuseInvalidInput) {
  const base::TimePoint now = base::SystemClock().now();
  EXPECT_FALSE(http_server::make_server_identity({}, now));
  EXPECT_FALSE(http_server::make_server_identity({"a,DNS:b"}, now));
  EXPECT_TRUE(http_server::make_server_identity({"::1", "10.0.0.1", "kubernetes.default.svc"}, now));
}

TEST(Kubeconfig, AlwaysHasCredentials) {
  base::SystemClock clock;
  Store store(clock, 1);
  ApiServer server(store);
  HttpServer http(server, {});
  ASSERT_TRUE(http.start());
  EXPECT_NE(http.kubeconfig().find("token: simulator-admin"), std::string::npos);
  EXPECT_NE(http.kubeconfig("x").find("token: x"), std::string::npos);
  EXPECT_NE(http.kubeconfig().find("server: http://127.0.0.1:" + std::to_string(http.port())), std::string::npos);
}

}  // namespace http_server_test
}  // namespace simulator
