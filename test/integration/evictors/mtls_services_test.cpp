#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "controllers/operator/http_services.hpp"
#include "kube/config/process_environment.hpp"
#include "test/fakes/temp_folder.hpp"
#include "test/fakes/webhook_service.hpp"
#include "test/integration/rig/rig.hpp"
#include "test/unit/kube/http/test_server.hpp"

/// `services:` with client certificates, from the Evacuation to a real TLS server that requires them: the operator's
/// HttpServices, its certificate files, OpenSSL on both ends. Only the time between calls is virtual.
namespace mtls_services_test {

using api::Json;
using base::minutes;
using base::seconds;
using integration::Rig;
using kube::testing::Pem;
using kube::testing::TestCa;
using testing::AnyOf;
using testing::HasSubstr;
using Phase = api::EvacuationPhase;

class MtlsService : public Rig {
 protected:
  MtlsService() {
    kube::prepare_process();
    const kube::testing::ServerTls tls{server_ca.issue({"127.0.0.1"}), client_ca.pem()};
    tls_server = std::make_unique<kube::testing::TestServer>(
        [this](kube::testing::Peer& peer, const kube::testing::ServerRequest& request) {
          const auto answer = mover.answer({request.method, request.target, "", {}, request.body, "127.0.0.1:1"});
          return peer.send(kube::testing::http_answer(answer.status, answer.body, {}, answer.content_type));
        },
        &tls);
    folder_.write("for", "https://127.0.0.1:" + std::to_string(tls_server->port()));
    config = {"mover",
              "https://127.0.0.1:" + std::to_string(tls_server->port()),
              folder_.write("ca.crt", server_ca.pem()),
              "",
              folder_.file("tls.crt"),
              folder_.file("tls.key"),
              seconds(10),
              {"shop"},
              {"webhook"}};
  }
  ~MtlsService() override { tls_server.reset(); }

  void show(const Pem& identity) const {
    folder_.write("tls.crt", identity.certificate);
    folder_.write("tls.key", identity.key);
  }

  /// Creates an Evacuation that the service moves, with one attempt.
  std::string begin() {
    auto made = controllers::HttpServices::create({config}, clock);
    EXPECT_TRUE(made) << made.error().message;
    http = *std::move(made);
    services = http.get();
    stage(2);
    start_operator();
    return evacuate(pods().front(), [](Json& spec) {
      spec["evictors"] = {{{"name", "webhook"}, {"parameters", {{"service", "mover"}}}}};
      spec["retry"] = {{"maxAttempts", 1}};
      spec["timeouts"] = {{"blockedSeconds", 240}};  // each blocked call is a real handshake
    });
  }
  void expect_success(const std::string& name) {
    ASSERT_TRUE(run_to_end(name)) << get(name).status.message;
    EXPECT_EQ(phase(name), Phase::kSucceeded) << get(name).status.message;
    EXPECT_EQ(mover.starts(), 1U);
  }
  /// Expects an end within the timeout that names the certificate, an untouched pod, and no request at the service.
  void expect_refusal(const std::string& name, const std::string& words) {
    ASSERT_TRUE(run_to_end(name)) << get(name).status.message;
    EXPECT_EQ(phase(name), Phase::kFailed);
    EXPECT_EQ(reason(name), "BlockedTimeout");
    EXPECT_TRUE(pod_exists(get(name).spec.pod_ref.name));
    EXPECT_EQ(granted(), 0U);
    EXPECT_TRUE(tls_server->requests().empty());
    const auto& last = get(name).status.last_response;
    ASSERT_TRUE(last);
    EXPECT_THAT(last->message + get(name).status.message, HasSubstr(words));
  }

  TestCa server_ca, client_ca, another_ca;
  fakes::WebhookService mover{clock, {}};
  std::unique_ptr<kube::testing::TestServer> tls_server;
  controllers::ServiceConfig config;
  std::unique_ptr<controllers::HttpServices> http;
  const fakes::TempFolder folder_;
};

TEST_F(MtlsService, MovesThePodWithAValidCertificate) {
  show(client_ca.issue({"evacuator"}));
  expect_success(begin());
  EXPECT_FALSE(tls_server->requests().empty());
}

TEST_F(MtlsService, IsNotCalledIfAnotherAuthoritySignedIt) {
  show(client_ca.issue({"evacuator"}));
  config.ca_file = folder_.write("ca.crt", another_ca.pem());
  expect_refusal(begin(), "not issued by the configured certificate-authority");
}

TEST_F(MtlsService, ReceivesNothingWithoutACertificate) {
  config.cert_file.clear();
  config.key_file.clear();
  expect_refusal(begin(), "does not accept the client certificate");
}

TEST_F(MtlsService, ReceivesNothingWithACertificateOfAnotherAuthority) {
  show(another_ca.issue({"evacuator"}));
  expect_refusal(begin(), "does not accept the client certificate");
}

TEST_F(MtlsService, HearsNothingFromWhoseCertificateHasExpired) {
  show(client_ca.issue({"evacuator"}, -3600, -60));
  expect_refusal(begin(), "does not accept the client certificate");
}

TEST_F(MtlsService, ReceivesNothingUntilTheSecretNamesIt) {
  show(client_ca.issue({"evacuator"}));
  folder_.write("for", "https://another.example");
  const std::string name = begin();
  run_for(minutes(2));
  ASSERT_FALSE(api::is_terminal(phase(name))) << get(name).status.message;
  EXPECT_TRUE(tls_server->requests().empty());
  const auto last = get(name).status.last_response;
  ASSERT_TRUE(last);
  EXPECT_THAT(last->message, HasSubstr("is not for this server: its key \"for\" does not list https://127.0.0.1:"));
  folder_.write("for", config.url);
  expect_success(name);
}

TEST_F(MtlsService, IsReachedOnceTheFilesAreRotated) {
  show(another_ca.issue({"evacuator"}));
  const std::string name = begin();
  run_for(minutes(2));
  ASSERT_FALSE(api::is_terminal(phase(name))) << get(name).status.message;
  ASSERT_EQ(mover.starts(), 0U);
  show(client_ca.issue({"evacuator"}));
  expect_success(name);
}

TEST_F(MtlsService, IsReachedAgainAfterARotationThatWasCaughtHalfWay) {
  fakes::WebhookBehaviour slow;
  slow.takes = minutes(3);
  mover.become(slow);
  show(client_ca.issue({"evacuator"}));
  const std::string name = begin();
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kInProgress; }, seconds(30)));
  const int before = tls_server->connections();
  const Pem next = client_ca.issue({"evacuator"});
  folder_.write("tls.crt", next.certificate);  // the key follows later
  run_for(seconds(40));
  folder_.write("tls.key", next.key);
  expect_success(name);
  EXPECT_GT(tls_server->connections(), before) << "connections under the old certificate are not used any more";
}

TEST_F(MtlsService, MissingFilesAreNamed) {
  const std::string name = begin();
  ASSERT_TRUE(run_to_end(name));
  EXPECT_EQ(phase(name), Phase::kFailed) << reason(name);
  EXPECT_THAT(get(name).status.last_response ? get(name).status.last_response->message : get(name).status.message,
              HasSubstr("tls.crt"));
}

}  // namespace mtls_services_test
