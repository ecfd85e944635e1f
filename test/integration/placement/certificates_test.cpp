// The webhook's certificates on a simulated API server, in virtual time.

#include "controllers/webhooks/certificates.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/base64.hpp"
#include "kube/client.hpp"
#include "simulator/api/server.hpp"
#include "simulator/cluster.hpp"
#include "simulator/objects.hpp"
#include "test/fakes/mortal_transport.hpp"

namespace integration {
namespace certificates_test {

using api::Json;
using controllers::webhooks::CertificateOptions;
using controllers::webhooks::Certificates;
using std::chrono::hours;

constexpr kube::ResourceType kSecrets{"", "v1", "secrets", "Secret"};
constexpr kube::ResourceType kConfigurations{"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
                                             "MutatingWebhookConfiguration", false};

/// One process, as far as its webhook's certificate goes.
struct Replica {
  Replica(simulator::ApiServer& server, const base::Clock& clock)
      : transport(server, {"operator", {}, "evacuator"}),
        client(transport, nullptr),
        certificates(client, clock, clock,
                     CertificateOptions{.ns = "evacuator-system",
                                        .rules = {.names = {"evacuator-webhook.evacuator-system.svc"}}},
                     [this](const serving::ServerIdentity& identity) { served.push_back(identity.certificate); }, {}) {}

  std::string serves() const { return served.empty() ? "" : served.back(); }

  simulator::SimulatorTransport transport;
  kube::Client client;
  std::vector<std::string> served;
  Certificates certificates;
};

class WebhookCertificates : public testing::Test {
 protected:
  WebhookCertificates() { EXPECT_TRUE(cluster.add(simulator::objects::name_space("evacuator-system"))); }

  void install() {
    const Json configuration = {{"apiVersion", "admissionregistration.k8s.io/v1"},
                                {"kind", "MutatingWebhookConfiguration"},
                                {"metadata", {{"name", "evacuator-placement"}}},
                                {"webhooks", Json::array({{{"name", "placement.evacuator.dev"},
                                                           {"clientConfig", {{"url", "https://127.0.0.1:9443/x"}}}}})}};
    const auto answer = server.handle(kube::create_request(kConfigurations, "", configuration), {});
    ASSERT_EQ(answer.status, 201) << answer.body;
  }
  Json object(const kube::ResourceType& type, const api::ObjectKey& key) {
    const auto found = cluster.store().get(type, key);
    return found ? *found : Json();
  }
  Json secret() { return object(kSecrets, {"evacuator-system", "evacuator-webhook-tls"}); }
  std::string data(const char* name) { return *base::decode_base64(secret()["data"].value(name, "")); }
  std::string ca_bundle() {
    const Json found = object(kConfigurations, {"", "evacuator-placement"});
    return *base::decode_base64(found["webhooks"][0]["clientConfig"].value("caBundle", ""));
  }
  void set_ca_bundle(const std::string& text) {
    const auto done = cluster.store().mutate(kConfigurations, {"", "evacuator-placement"}, simulator::Part::kAll,
                                             [&](Json& found) -> base::Status {
                                               found["webhooks"][0]["clientConfig"]["caBundle"] = text;
                                               return base::Done{};
                                             });
    EXPECT_TRUE(done);
  }
  void set_secret(const std::function<void(Json&)>& change) {
    const auto done = cluster.store().mutate(kSecrets, {"evacuator-system", "evacuator-webhook-tls"},
                                             simulator::Part::kAll, [&](Json& found) -> base::Status {
                                               change(found);
                                               return base::Done{};
                                             });
    EXPECT_TRUE(done);
  }
  /// Both look, the leader first; `time` passes in steps of a minute.
  void pass(base::Duration time) {
    for (const base::TimePoint end = clock.now() + time; clock.now() < end;) {
      clock.advance(base::minutes(1));
      look();
    }
  }
  void look() {
    leader.certificates.refresh(true);
    standby.certificates.refresh(false);
  }

  base::ManualClock clock{*base::parse_time("2026-11-21T12:00:00Z")};
  simulator::Cluster cluster{clock};
  simulator::ApiServer server{cluster.store()};
  Replica leader{server, clock};
  Replica standby{server, clock};
};

TEST_F(WebhookCertificates, TheLeaderMakesThemAndTheStandbyServesTheSame) {
  install();
  standby.certificates.refresh(false);
  EXPECT_EQ(standby.serves(), "") << "only the leader makes one";
  EXPECT_NE(standby.certificates.problem(), "");
  leader.certificates.refresh(true);
  EXPECT_EQ(leader.certificates.problem(), "");
  EXPECT_TRUE(leader.certificates.in_force());
  clock.advance(Certificates::kRetryEvery);
  standby.certificates.refresh(false);
  EXPECT_EQ(standby.serves(), leader.serves());
  EXPECT_EQ(data("tls.crt"), leader.serves());
  EXPECT_EQ(ca_bundle(), data("ca.crt"));
}

TEST_F(WebhookCertificates, NothingIsInForceWithoutAConfiguration) {
  look();
  EXPECT_FALSE(leader.certificates.in_force());
  EXPECT_EQ(leader.certificates.problem(),
            "MutatingWebhookConfiguration evacuator-placement is not installed: nobody calls the webhook");
  install();
  clock.advance(Certificates::kRetryEvery);
  look();
  EXPECT_TRUE(leader.certificates.in_force());
  EXPECT_EQ(leader.certificates.problem(), "");
}

TEST_F(WebhookCertificates, RotateWithoutAMomentInWhichWhatIsServedIsNotTrusted) {
  install();
  look();
  const std::string first = leader.serves();
  const auto is_trusted = [&](const Replica& replica) {
    for (const char* name : {"ca.crt", "next-ca.crt", "previous-ca.crt"}) {
      const std::string ca = data(name);
      if (ca.empty() || ca_bundle().find(ca) == std::string::npos) continue;
      for (const auto& [certificate, key] : {std::pair("tls.crt", "tls.key"), std::pair("next.crt", "next.key")}) {
        if (replica.serves() == data(certificate) &&
            serving::check_identity({ca, data(certificate), data(key)}, {}).ok())
          return true;
      }
    }
    return replica.serves() == first && ca_bundle().find(data("previous-ca.crt")) != std::string::npos;
  };
  clock.advance(hours(24 * 60) - base::minutes(5));
  look();
  EXPECT_EQ(leader.serves(), first);
  for (int minute = 0; minute < 60; ++minute) {
    pass(base::minutes(1));
    EXPECT_TRUE(is_trusted(leader)) << "minute " << minute;
    EXPECT_TRUE(is_trusted(standby)) << "minute " << minute;
  }
  EXPECT_NE(leader.serves(), first);
  EXPECT_EQ(standby.serves(), leader.serves());
  EXPECT_EQ(leader.served.size(), 2U);
}

TEST_F(WebhookCertificates, ABrokenSecretIsMadeAgain) {
  install();
  look();
  const std::string first = leader.serves();
  set_secret([](Json& found) { found["data"]["tls.key"] = "bm9uZQ=="; });
  clock.advance(Certificates::kLookEvery);
  standby.certificates.refresh(false);
  EXPECT_EQ(standby.serves(), first) << "it goes on with what it has";
  EXPECT_NE(standby.certificates.problem(), "");
  leader.certificates.refresh(true);
  EXPECT_NE(leader.serves(), first);
  EXPECT_EQ(leader.certificates.problem(), "");
  EXPECT_EQ(ca_bundle(), data("ca.crt") + data("previous-ca.crt"));
  set_secret([](Json& found) { found["data"] = "none"; });
  clock.advance(Certificates::kLookEvery);
  leader.certificates.refresh(true);
  EXPECT_EQ(data("tls.crt"), leader.serves());
}

TEST_F(WebhookCertificates, ADeletedSecretIsMadeAgain) {
  install();
  look();
  ASSERT_TRUE(cluster.store().remove(kSecrets, {"evacuator-system", "evacuator-webhook-tls"}));
  clock.advance(Certificates::kLookEvery);
  look();
  EXPECT_EQ(data("tls.crt"), leader.serves());
  EXPECT_EQ(ca_bundle(), data("ca.crt"));
}

TEST_F(WebhookCertificates, OfTwoThatThinkTheyLeadOneIsFirst) {
  install();
  leader.certificates.refresh(true);
  Replica other(server, clock);
  other.certificates.refresh(true);
  EXPECT_EQ(other.serves(), leader.serves());
  EXPECT_EQ(ca_bundle(), data("ca.crt"));
}

TEST_F(WebhookCertificates, ACaBundleThatOthersChangedIsPutRight) {
  install();
  look();
  set_ca_bundle("b3RoZXI=");
  clock.advance(Certificates::kLookEvery);
  standby.certificates.refresh(false);
  EXPECT_FALSE(standby.certificates.in_force());
  leader.certificates.refresh(true);
  EXPECT_EQ(ca_bundle(), data("ca.crt"));
  EXPECT_TRUE(leader.certificates.in_force());
}

}  // namespace certificates_test
}  // namespace integration
